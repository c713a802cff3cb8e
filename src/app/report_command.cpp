// `joulery report FILE`: the summary of a recording.
#include <fmt/format.h>
#include <unistd.h>

#include "app/command.h"
#include "app/command_line.h"

namespace joulery {

int report_command(std::vector<std::string> arguments) {
  CLI::App app("Tells what a recorded run used.", "joulery report");
  std::string file;
  FormChoice form;
  FactorWords factors;
  app.add_option("FILE", file, "a recording made by joulery run")->required();
  add_forms(app, form, true);
  add_factor_options(app, factors);
  if (const auto code = parse(app, std::move(arguments))) return *code;
  const auto style = style_for(form, STDOUT_FILENO);
  if (!style) return complain("report", style.error(), exit_usage);
  const auto settings = settings_with(factors, {});
  if (!settings) return complain("report", settings.error(), exit_usage);
  const auto choices = choices_from(*settings, factors.estimate);
  if (!choices) return complain("report", choices.error(), exit_usage);
  const auto run = LoadedRun::load(file, *choices);
  if (!run) return complain("report", run.error(), 1);
  if (!put(stdout, told(*run, form, *style))) return complain("report", error_from_errno(errno, "cannot write", "standard output"), 1);
  return 0;
}

}  // namespace joulery
