// `joulery export FILE --csv | --json | --perfetto`: a recording for other programs.
#include <fmt/format.h>

#include "app/command.h"
#include "app/command_line.h"
#include "app/export_samples.h"
#include "publish/perfetto.h"

namespace joulery {
namespace {

constexpr int most_trace_slots = 100'000, most_trace_bands = 100'000;  // what a trace viewer still opens at once

bool put(std::string_view text) { return std::fwrite(text.data(), 1, text.size(), stdout) == text.size(); }

bool export_csv(const LoadedRun& run) {
  bool written = put(sample_csv_header());
  for_each_sample(run, [&](const SampleRow& row) { return written = put(sample_csv(row)); });
  return written;
}

bool export_json(const LoadedRun& run) {
  SampleJson json;
  bool written = put(json.head());
  for_each_sample(run, [&](const SampleRow& row) { return written = put(json.row(row)); });
  return written && put(json.tail());
}

bool export_perfetto(const LoadedRun& run) { return write_perfetto(run.report(), run.chart(most_trace_slots, most_trace_bands), put); }

}  // namespace

int export_command(std::vector<std::string> arguments) {
  CLI::App app("Writes a recording's samples or a trace to stdout.", "joulery export");
  std::string file;
  bool csv = false, json = false, perfetto = false;
  FactorWords words;
  app.add_option("FILE", file, "a recording made by joulery run")->required();
  CLI::Option_group* forms = app.add_option_group("Form");
  forms->add_flag("--csv", csv, "a row for each component and sampling interval");
  forms->add_flag("--json", json, "the same as JSON, schema joulery.samples/1");
  forms->add_flag("--perfetto", perfetto, "a trace with power counters and steps, for ui.perfetto.dev");
  forms->require_option(1);
  app.add_option("--estimate", words.estimate, "auto, all or none: which parts without a sensor to estimate")->type_name("WHICH");
  if (const auto code = parse(app, std::move(arguments))) return *code;
  const auto settings = settings_with(words, {});
  if (!settings) return complain("export", settings.error(), exit_usage);
  const auto choices = choices_from(*settings, words.estimate);
  if (!choices) return complain("export", choices.error(), exit_usage);
  const auto run = LoadedRun::load(file, *choices);
  if (!run) return complain("export", run.error(), 1);
  const bool written = csv ? export_csv(*run) : json ? export_json(*run) : export_perfetto(*run);
  if (!written || std::fflush(stdout) != 0) return complain("export", error_from_errno(errno, "cannot write", "standard output"), 1);
  return 0;
}

}  // namespace joulery
