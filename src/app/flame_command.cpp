// `joulery flame -- CMD`: runs a command as `joulery run` does, samples its stacks meanwhile, and tells which functions burnt its CPU energy.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "app/command.h"
#include "app/command_line.h"
#include "app/measurement.h"
#include "app/run_opening.h"
#include "core/units.h"
#include "judge/flame.h"
#include "ledger/sample_energy.h"
#include "publish/flame.h"
#include "publish/flame_picture.h"
#include "sense/meters.h"
#include "watch/program.h"
#include "watch/stacks/name_stacks.h"

namespace joulery {
namespace {

struct FlameOptions : RunWords {
  std::string recording, svg, html, folded, json, summary;
  int rate = 199, top = 25;
  bool quiet = false;
};

void declare(CLI::App& app, FlameOptions& o) {
  app.add_option("--svg", o.svg, "write the flame graph as a picture")->type_name("FILE");
  app.add_option("--html", o.html, "write it as a page, with a search field and a table")->type_name("FILE");
  app.add_option("--folded", o.folded, "write folded stacks, for other tools")->type_name("FILE");
  app.add_option("--json", o.json, "write the tree and the functions as JSON")->type_name("FILE");
  app.add_option("--rate", o.rate, "samples per second of CPU time, 1 to 5000 (199)")->type_name("N")->check(CLI::Range(1, 5000));
  app.add_option("--top", o.top, "how many functions the summary lists (25)")->type_name("N")->check(CLI::Range(1, 100000));
  app.add_option("-o,--output", o.recording, "keep the recording in this file")->type_name("FILE");
  app.add_option("--interval", o.interval, "time between readings, 1ms to 1h (100ms)")->type_name("TIME");
  app.add_option("--summary", o.summary, "write the summary to this file instead of stderr")->type_name("FILE");
  app.add_flag("--quiet", o.quiet, "print no summary");
  app.add_option("--sysroot", o.sysroot, "read meters from a tree with sys/ and proc/ in it")->type_name("DIR");
  app.add_option("--color", o.form.color, "auto, always or never")->type_name("WHEN");
  add_factor_options(app, o.factors);
  add_set_option(app, o.sets);
}

std::optional<int> parse_flame(std::vector<std::string> arguments, FlameOptions& o) {
  CLI::App app("Runs a command and tells which of its functions burnt its CPU energy, by sampling stacks.", "joulery flame");
  app.footer(
      "Usage: joulery flame [options] -- CMD...\nCMD keeps its input, output, terminal, signals and exit code; the summary goes to "
      "stderr.");
  declare(app, o);
  return parse_before_command(app, "flame", std::move(arguments), o.command);
}

FrameKind kind_of(StackFrameKind kind) {
  constexpr FrameKind kinds[] = {FrameKind::other, FrameKind::native, FrameKind::kernel, FrameKind::python};
  return kinds[static_cast<unsigned>(kind)];
}

std::string words_of(const std::vector<std::string>& command) {
  std::string words;
  for (const std::string& word : command) words += (words.empty() ? "" : " ") + word;
  return words;
}

// The energy of the command's CPU time, and all that is not it, by name: from the report's lines of processes.
struct CommandEnergy {
  std::optional<Energy> energy;
  Power idle;
  std::vector<std::string> rest;
};

CommandEnergy command_energy(const Report& report) {
  CommandEnergy result;
  std::string unknown;
  for (const ReportProcess& line : report.processes) {
    const bool idle = line.pid == 0 && line.name == "idle";
    const bool other = line.pid == 0 && (idle || line.name == "other processes" || line.name.starts_with("accelerators"));
    if (!line.joules) {
      if (!other) unknown = line.reason;
      continue;
    }
    if (!other)
      result.energy = result.energy.value_or(Energy{}) + *line.joules;
    else
      result.rest.push_back(fmt::format("{} {}", line.name, to_text(*line.joules)));
    if (idle && report.duration_s > 0) result.idle = watts(to_joules(*line.joules) / report.duration_s);
  }
  if (!result.energy)
    result.rest = {"samples alone, no joules: " + (unknown.empty() ? std::string("no energy of the CPUs is known") : unknown)};
  return result;
}

class FlameRunner {
 public:
  FlameRunner(FlameOptions options, SignalGate gate) : o_(std::move(options)), gate_(std::move(gate)), machine_(o_.sysroot) {}

  int run() {
    if (const auto wrong = prepare()) return *wrong;
    const auto path = recording_path();
    if (!path) return complain("flame", path.error(), exit_own_failure);
    plan_.recording = *path;
    MeasurementEnd end = measure(plan_, discovery_.devices, gate_, {});
    if (!end.started) {
      forget(*path);
      return end.interrupted ? end.exit_code : complain("flame", *end.error, end.exit_code);
    }
    if (end.error) end.exit_code = complain("flame", *end.error, end.exit_code == 0 ? exit_own_failure : end.exit_code);
    const auto told = tell(end.recording);
    forget(*path);
    if (!told) return complain("flame", told.error(), end.exit_code == 0 ? exit_own_failure : end.exit_code);
    return end.exit_code;
  }

 private:
  std::optional<int> prepare() {
    auto opening = open_run(o_);
    if (!opening) return complain("flame", opening.error(), exit_usage);
    auto sampler = StackSampler::start(o_.rate);
    if (!sampler) return complain("flame", sampler.error(), exit_own_failure);
    sampler_ = *std::move(sampler);
    style_ = opening->style;
    discovery_ = discover(machine_, opening->settings, Look::quick);
    plan_.command = o_.command;
    plan_.interval = opening->interval;
    plan_.facts = facts_beforehand(o_.command, opening->interval, machine_, discovery_, opening->choices);
    plan_.environment = {{"PYTHONPERFSUPPORT", "1"}};
    return std::nullopt;
  }

  Result<std::string> recording_path() const { return o_.recording.empty() ? passing_recording() : Result<std::string>(o_.recording); }

  Result<void> tell(const std::string& recording) {
    const SampledRun run = sampler_->finish();
    const auto loaded = LoadedRun::load(recording, {});
    if (!loaded) return std::unexpected(loaded.error());
    const Flame flame = flame_of(run, *loaded);
    if (const auto written = write(flame); !written) return written;
    if (o_.quiet) return {};
    const std::string text = summary(flame, run, loaded->report());
    if (o_.summary.empty())
      put(stderr, text);
    else
      return write_file(o_.summary, text);
    return {};
  }

  Flame flame_of(const SampledRun& run, const LoadedRun& loaded) {
    const NamedStacks named = name_stacks(run);
    const CommandEnergy energy = command_energy(loaded.report());
    Flame flame;
    flame.title = words_of(o_.command);
    flame.unit = "samples";
    flame.has_energy = energy.energy.has_value() && !run.samples.empty();
    const std::vector<Energy> shares =
        share_by_sample(run, flame.has_energy ? *energy.energy : Energy{}, loaded.timeline(), loaded.ledger(), energy.idle);
    std::vector<double> counts(run.stacks.size());
    for (const StackSample& sample : run.samples) ++counts[sample.stack];
    for (std::size_t i = 0; i < run.stacks.size(); ++i) {
      std::vector<FlamePart> parts;
      for (const StackFrame& frame : named.stacks[i]) parts.push_back({frame.name, kind_of(frame.kind)});
      flame.add(parts, shares[i], counts[i]);
    }
    std::string beside;
    for (const std::string& rest : energy.rest) beside += (beside.empty() ? "" : ", ") + rest;
    if (!energy.energy)
      flame.notes.push_back(beside);
    else if (!beside.empty())
      flame.notes.push_back("not the command's CPU time, and not in the graph: " + beside);
    if (run.lost > 0) flame.notes.push_back(fmt::format("{} samples were lost: a lower --rate loses fewer", run.lost));
    if (run.samples.empty()) flame.notes.push_back("no sample: the command used too little CPU time, try a higher --rate");
    for (const std::string& note : named.notes) flame.notes.push_back(note);
    return flame;
  }

  std::string summary(const Flame& flame, const SampledRun& run, const Report& report) const {
    std::string head = "\n";
    if (flame.has_energy) head += fmt::format("{} of CPU energy ({}), ", to_text(flame.root.energy), name_of(report.energy.quality));
    return head + fmt::format("{} samples, one per {} of CPU time\n\n", run.samples.size(), to_text(run.period)) +
           flame_text(flame, style_, static_cast<std::size_t>(o_.top));
  }

  static Result<void> write_file(const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::trunc);
    if (!(file << text).flush()) return fail(ErrorCode::io, "cannot write the file", path, "the command has run: only its telling is lost");
    return {};
  }

  Result<void> write(const Flame& flame) const {
    const std::pair<const std::string&, std::string (*)(const Flame&)> forms[] = {
        {o_.svg, flame_svg}, {o_.html, flame_html}, {o_.folded, flame_folded}, {o_.json, flame_json}};
    for (const auto& [path, form] : forms) {
      if (path.empty()) continue;
      if (const auto written = write_file(path, form(flame)); !written) return written;
    }
    return {};
  }

  void forget(const std::string& path) const {
    if (o_.recording.empty()) forget_passing(path);
  }

  FlameOptions o_;
  SignalGate gate_;
  Machine machine_;
  Discovery discovery_;
  MeasurementPlan plan_;
  TextStyle style_;
  std::unique_ptr<StackSampler> sampler_;
};

}  // namespace

int flame_command(std::vector<std::string> arguments) {
  FlameOptions options;
  if (const auto code = parse_flame(std::move(arguments), options)) return *code;
  auto gate = SignalGate::open();
  if (!gate) return complain("flame", gate.error(), exit_own_failure);
  return FlameRunner(std::move(options), std::move(*gate)).run();
}

}  // namespace joulery
