// `joulery import FILE -o REC`: another tool's log as a recording that every other command takes.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "app/command.h"
#include "app/command_line.h"
#include "app/import_steps.h"
#include "app/version.h"
#include "core/units.h"
#include "record/import/import_log.h"
#include "record/import/nvidia_gpu.h"
#include "record/import/wall_clock.h"
#include "record/import/write_log.h"

namespace joulery {
namespace {

struct Words {
  std::string file, output, format, offset, gpu, driver, interval, component, job, steps, begin, end;
};

constexpr std::size_t longest_log = std::size_t{1} << 30;

Result<std::string> whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::unexpected(error_from_errno(errno, "cannot open the log", path, "give a log file"));
  std::string text;
  std::vector<char> block(1 << 20);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > longest_log) return fail(ErrorCode::unsupported, "the log is longer than 1 GiB", path, "import it in parts");
  }
  if (file.bad() || (text.empty() && !file.eof())) return fail(ErrorCode::io, "cannot read the log", path, "give a log file");
  if (text.empty()) return fail(ErrorCode::format, "the log is empty", path, "");
  return text;
}

Result<ImportOptions> options_from(const Words& words) {
  ImportOptions options;
  if (!words.offset.empty()) {
    const auto offset = parse_utc_offset(words.offset);
    if (!offset) return std::unexpected(offset.error());
    options.utc_offset = *offset;
  }
  if (!words.interval.empty()) {
    const auto interval = parse_interval(words.interval);
    if (!interval) return std::unexpected(interval.error());
    options.interval = *interval;
  }
  if (!words.driver.empty()) {
    options.driver = driver_major(words.driver);
    if (options.driver == 0) return fail(ErrorCode::usage, "no version of a driver", words.driver, "such as 535 or 535.104.05");
  }
  options.gpu = words.gpu;
  options.component = words.component;
  options.job = words.job;
  return options;
}

// --begin and --end where they are given, else what the log says, else all of it.
Result<LoggedInterval> run_of(const Words& words, const ImportedLog& log, const LogClock& clock, Duration utc_offset) {
  LoggedInterval run = log.run.value_or(LoggedInterval{clock.first(), clock.last()});
  for (const auto& [text, option, at] : {std::tuple{&words.begin, "--begin", &run.begin}, std::tuple{&words.end, "--end", &run.end}}) {
    if (text->empty()) continue;
    const auto time = parse_wall_time(*text, utc_offset);
    if (!time) return fail(ErrorCode::usage, "not a time", fmt::format("{} {}", option, *text), "such as 2026-03-01T10:00:00+01:00");
    *at = *time;
  }
  if (run.end <= run.begin) return fail(ErrorCode::usage, "the run ends before it begins", words.file, "see --begin and --end");
  if (run.end < clock.first() || clock.last() < run.begin)
    return fail(ErrorCode::usage, "the run lies outside the log", words.file, "see --begin, --end and --utc-offset");
  return run;
}

RunFacts facts_of(const Words& words, const ImportedLog& log, const LogClock& clock, LoggedInterval run, Duration utc_offset) {
  RunFacts facts;
  facts.version = version;
  facts.command = log.command.empty() ? std::vector<std::string>{"import", words.file} : log.command;
  facts.run = Interval{clock.at(run.begin), clock.at(run.end)};
  facts.run_ended = true;
  facts.fill = Fill::none;  // the machine of the log is not known
  facts.notes.push_back(fmt::format("imported: {}, {}", log.format, words.file));
  facts.notes.push_back(log.has_wall_clock
                            ? fmt::format("clock-of-the-log: times of day, taken as {} where they have no zone", offset_text(utc_offset))
                            : "no-wall-clock: the log holds no time of day");
  facts.notes.insert(facts.notes.end(), log.notes.begin(), log.notes.end());
  return facts;
}

Metadata metadata_of(const RunFacts& facts, const Words& words, const ImportedLog& log, Duration utc_offset) {
  Metadata metadata = to_metadata(facts);
  const nlohmann::ordered_json imported{{"format", log.format},
                                        {"file", words.file},
                                        {"clock", log.has_wall_clock ? "wall" : "none"},
                                        {"utc_offset", offset_text(utc_offset)}};
  metadata["imported"] = imported.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return metadata;
}

struct Made {
  std::size_t devices = 0, lines = 0;
  std::string format;
};

Result<Made> import_file(const Words& words) {
  const auto options = options_from(words);
  if (!options) return std::unexpected(options.error());
  const auto text = whole_file(words.file);
  if (!text) return std::unexpected(text.error());
  const auto log = import_log(*text, words.format, *options);
  if (!log) {
    const std::string& where = log.error().where;
    return fail(log.error().code, log.error().what, words.file + (where.empty() ? "" : ": " + where), log.error().hint);
  }
  const LogClock clock(*log);
  const auto run = run_of(words, *log, clock, options->utc_offset);
  if (!run) return std::unexpected(run.error());
  std::vector<Mark> marks;
  if (!words.steps.empty()) {
    const auto steps = whole_file(words.steps);
    if (!steps) return std::unexpected(steps.error());
    auto read = marks_of_steps(*steps, clock, options->utc_offset);
    if (!read) return fail(read.error().code, read.error().what, words.steps + ": " + read.error().where, read.error().hint);
    marks = std::move(*read);
  }
  const RunFacts facts = facts_of(words, *log, clock, *run, options->utc_offset);
  auto writer =
      RecordingWriter::create(words.output, recorded_devices(*log), metadata_of(facts, words, *log, options->utc_offset), clock.crossing());
  if (!writer) return std::unexpected(writer.error());
  Result<void> flushed;
  write_rounds(*log, clock, **writer, [&] {
    if (flushed) flushed = (*writer)->flush();
  });
  for (const Mark& mark : marks) (*writer)->add(mark);
  if (flushed) flushed = (*writer)->close();
  if (!flushed) return std::unexpected(flushed.error());
  Made made{log->devices.size(), 0, log->format};
  for (const LoggedDevice& device : log->devices) made.lines += device.lines.size();
  return made;
}

std::string format_names() {
  std::string text = "what the log is, where it is not recognised:";
  for (const LogFormat& format : log_formats()) text += " " + std::string(format.name);
  return text;
}

}  // namespace

int import_command(std::vector<std::string> arguments) {
  CLI::App app("Makes a recording of another tool's log, for every command that takes one.", "joulery import");
  Words words;
  app.add_option("FILE", words.file, "the log")->required();
  app.add_option("-o,--output", words.output, "the recording to make")->required()->type_name("REC");
  app.add_option("--format", words.format, format_names())->type_name("NAME");
  app.add_option("--utc-offset", words.offset, "of times without a zone, such as +01:00")->type_name("OFFSET");
  app.add_option("--begin", words.begin, "when the run began, where the log began earlier")->type_name("TIME");
  app.add_option("--end", words.end, "when it ended")->type_name("TIME");
  app.add_option("--steps", words.steps, "a file of times, one a line: each begins a step that the next one ends")->type_name("FILE");
  app.add_option("--gpu", words.gpu, "the card, where the log does not name it")->type_name("NAME");
  app.add_option("--driver", words.driver, "its driver, where the log does not tell")->type_name("VERSION");
  app.add_option("--interval", words.interval, "time between snapshots, where the log has no times")->type_name("TIME");
  app.add_option("--component", words.component, "what the meter of the log measures, such as wall or node")->type_name("PATH");
  app.add_option("--job", words.job, "which job, where the log holds several")->type_name("ID");
  if (const auto code = parse(app, std::move(arguments))) return *code;
  const auto made = import_file(words);
  if (!made) return complain("import", made.error(), made.error().code == ErrorCode::usage ? exit_usage : 1);
  const std::string said =
      fmt::format("{}: {} {}, {} {}\nRecording  {}\n", made->format, made->devices, made->devices == 1 ? "device" : "devices", made->lines,
                  made->lines == 1 ? "reading" : "readings", words.output);
  if (!put(stdout, said)) return complain("import", error_from_errno(errno, "cannot write", "standard output"), 1);
  return 0;
}

}  // namespace joulery
