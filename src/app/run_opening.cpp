#include "app/run_opening.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "app/command.h"
#include "app/idle_memory.h"
#include "app/measurement.h"
#include "app/user_folders.h"
#include "app/version.h"
#include "sense/host/cpu_identity_reader.h"
#include "sense/host/machine_kind_reader.h"

namespace joulery {

std::optional<int> parse_before_command(CLI::App& options, std::string_view name, std::vector<std::string> arguments,
                                        std::vector<std::string>& command) {
  options.prefix_command();
  const auto dashes = std::ranges::find(arguments, "--");
  if (const auto code = parse(options, {arguments.begin(), dashes})) return code;
  const std::vector<std::string> rest = options.remaining();
  if (dashes != arguments.end() && !rest.empty())
    return complain(
        name, {ErrorCode::usage, fmt::format("not an option: '{}'", rest.front()), "", "options stand before --, the command after it"},
        exit_usage);
  command = dashes != arguments.end() ? std::vector<std::string>(dashes + 1, arguments.end()) : rest;
  if (command.empty())
    return complain(name, {ErrorCode::usage, "no command to run", "", fmt::format("joulery {} [options] -- CMD", name)}, exit_usage);
  return std::nullopt;
}

Result<RunOpening> open_run(const RunWords& words) {
  const auto interval = parse_interval(words.interval);
  if (!interval) return std::unexpected(interval.error());
  if (const auto there = check_sysroot(words.sysroot); !there) return std::unexpected(there.error());
  const auto style = style_for(words.form, STDERR_FILENO);
  if (!style) return std::unexpected(style.error());
  auto settings = settings_with(words.factors, words.sets);
  if (!settings) return std::unexpected(settings.error());
  auto choices = choices_from(*settings, words.factors.estimate);
  if (!choices) return std::unexpected(choices.error());
  return RunOpening{*interval, *style, *std::move(settings), *std::move(choices)};
}

RunFacts facts_beforehand(std::vector<std::string> command, Duration interval, const Machine& machine, const Discovery& discovery,
                          const ReportChoices& choices) {
  RunFacts facts;
  facts.version = version;
  facts.command = std::move(command);
  facts.interval = interval;
  facts.machine = read_cpu_identity(machine);
  facts.kind = read_machine_kind(machine);
  facts.missing = missing_parts(discovery);
  facts.factors = choices.factors;
  facts.fill = choices.fill.value_or(Fill::automatic);
  facts.idle = recall_idle(discovery);
  return facts;
}

Result<std::string> new_recording(std::string_view what) {
  const std::filesystem::path folder = user_data_folder();
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    return fail(ErrorCode::permission, "cannot make the folder for recordings: " + failed.message(), folder,
                "give a file with -o, or --no-save");
  // The process id keeps runs apart that start in the same second; the number, repeats of one run.
  const std::string name = fmt::format("{:%Y-%m-%dT%H%M%S}-{}-{}", fmt::localtime(std::time(nullptr)), what, ::getpid());
  for (int n = 1; n < 10000; ++n) {
    const std::string path = folder / fmt::format("{}{}.joulery", name, n == 1 ? "" : fmt::format("-{}", n));
    if (!std::filesystem::exists(path)) return path;
  }
  return fail(ErrorCode::io, "no free name for a recording", folder.string(), "give a file with -o");
}

Result<std::string> passing_recording() {
  auto folder = make_passing_folder();
  if (!folder) return folder;
  return *folder + "/passing.joulery";
}

void forget_passing(const std::string& recording) {
  std::error_code ignored;
  std::filesystem::remove_all(std::filesystem::path(recording).parent_path(), ignored);
}

}  // namespace joulery
