// `joulery ledger FILE`: whose joules by layer, from the wall to the workloads.
#include <unistd.h>

#include "app/command.h"
#include "app/command_line.h"
#include "publish/layers.h"
#include "publish/layers_text.h"

namespace joulery {

int ledger_command(std::vector<std::string> arguments) {
  CLI::App app(
      "Tells a recorded run layer by layer: wall, node, components, workloads, what each layer's parts\nleave of it, and how late each "
      "meter tells.",
      "joulery ledger");
  std::string file;
  FormChoice form;
  app.add_option("FILE", file, "a recording made by joulery run")->required();
  app.add_flag("--json", form.json, "as JSON, schema joulery.ledger/1");
  app.add_option("--color", form.color, "auto (a terminal only; NO_COLOR is obeyed), always or never")->type_name("WHEN");
  if (const auto code = parse(app, std::move(arguments))) return *code;
  const auto style = style_for(form, STDOUT_FILENO);
  if (!style) return complain("ledger", style.error(), exit_usage);
  const auto run = LoadedRun::load(file, {});
  if (!run) return complain("ledger", run.error(), 1);
  const Report report = run->report();
  if (!put(stdout, form.json ? ledger_json(report) : ledger_text(report, *style)))
    return complain("ledger", error_from_errno(errno, "cannot write", "standard output"), 1);
  return 0;
}

}  // namespace joulery
