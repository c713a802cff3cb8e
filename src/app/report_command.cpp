// `joulery report FILE`: the summary of a recording. Without a file: what the energy of some time was used for, from the
// agent's store.
#include <fmt/format.h>
#include <unistd.h>

#include "app/command.h"
#include "app/command_line.h"
#include "app/store_report.h"
#include "app/time_words.h"
#include "app/user_folders.h"

namespace joulery {
namespace {

struct StoreWords {
  std::string from, to = "now", store, kind;
  std::vector<std::string> by;
  bool asked() const { return !from.empty() || !by.empty() || !store.empty(); }
};

int print(const std::string& text) {
  return put(stdout, text) ? 0 : complain("report", error_from_errno(errno, "cannot write", "standard output"), 1);
}

int fail_with(const Error& error) { return complain("report", error, error.code == ErrorCode::usage ? exit_usage : 1); }

int report_store(const StoreWords& words, const FormChoice& form, const Settings& settings) {
  if (form.markdown || form.html) return fail_with({ErrorCode::usage, "a store is reported as text, --json or --csv", "", ""});
  const WallTime now = wall_now();
  const auto from = parse_time(words.from.empty() ? "-1d" : words.from, "--from", now), to = parse_time(words.to, "--to", now);
  if (!from) return fail_with(from.error());
  if (!to) return fail_with(to.error());
  if (*to <= *from) return fail_with({ErrorCode::usage, "--to is not after --from", words.from + " to " + words.to, ""});
  const auto factors = factor_config(settings);
  if (!factors) return fail_with(factors.error());
  const auto reader = StoreReader::open(words.store.empty() ? default_store_folder() : words.store);
  if (!reader) return fail_with(reader.error());
  const auto bill = bill_from_store(*reader, *from, *to, words.by, words.kind, *factors);
  if (!bill) return fail_with(bill.error());
  return print(form.json ? bill_json(*bill) : form.csv ? bill_csv(*bill) : bill_text(*bill));
}

}  // namespace

int report_command(std::vector<std::string> arguments) {
  CLI::App app("Tells what a recorded run used; with --from, what a node's energy was used for, from the store of joulery agent.",
               "joulery report");
  std::string file;
  FormChoice form;
  FactorWords factors;
  StoreWords words;
  auto* recording = app.add_option("FILE", file, "a recording made by joulery run");
  app.add_option("--from", words.from, "report the agent's store from when on: -1d, 2026-03-01, 2026-03-01T12:00:00Z")->excludes(recording);
  app.add_option("--to", words.to, "up to when")->capture_default_str();
  app.add_option("--by", words.by, "labels of consumers, by which energy is added up: team,job; or kind")
      ->delimiter(',')
      ->excludes(recording);
  app.add_option("--kind", words.kind, "whose consumers: process, cgroup, container, pod, unit, job, step, user")->excludes(recording);
  app.add_option("--store", words.store, "the folder of the store")->excludes(recording);
  add_forms(app, form, true);
  add_factor_options(app, factors);
  if (const auto code = parse(app, std::move(arguments))) return *code;
  const auto style = style_for(form, STDOUT_FILENO);
  if (!style) return complain("report", style.error(), exit_usage);
  const auto settings = settings_with(factors, {});
  if (!settings) return complain("report", settings.error(), exit_usage);
  const auto choices = choices_from(*settings, factors.estimate);
  if (!choices) return complain("report", choices.error(), exit_usage);
  if (file.empty() && words.asked()) return report_store(words, form, *settings);
  if (file.empty()) return fail_with({ErrorCode::usage, "FILE is required", "", "or --from for the agent's store"});
  const auto run = LoadedRun::load(file, *choices);
  if (!run) return complain("report", run.error(), 1);
  return print(told(*run, form, *style));
}

}  // namespace joulery
