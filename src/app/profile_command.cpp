// `joulery profile TRACE`: what a profiler saw, with the energy that a recording knows of it.
#include <unistd.h>

#include "app/command.h"
#include "app/command_line.h"
#include "app/profile_output.h"
#include "app/profiled_run.h"
#include "publish/profile/profile_text.h"

namespace joulery {

int profile_command(std::vector<std::string> arguments) {
  CLI::App app(
      "Tells a profiler's trace by step, phase, operator, kernel and layer: its time, and its joules where a recording of\n"
      "the same run is named. Reads PyTorch's and Chrome's JSON, TensorFlow's and JAX's xplane.pb and trace.json.gz,\n"
      "nsys export --type sqlite, and Perfetto.",
      "joulery profile");
  ProfileRequest request;
  FormChoice form;
  std::string copy;
  std::size_t rows = 15;
  app.add_option("TRACE", request.trace, "the profiler's file, or its folder")->required();
  app.add_option("--recording", request.recording, "a recording of the same run, made by joulery run")->type_name("FILE");
  app.add_option("--clock", request.clock, "how the clocks of the two are joined: auto, marks, wall or load")->type_name("HOW");
  app.add_flag("--json", form.json, "as JSON, schema joulery.profile/1");
  app.add_option("-o,--output", copy,
                 "writes a copy of the trace with joules beside each event and counters of power: Chrome's\nJSON (.json, .json.gz), or of "
                 "an xplane.pb an xplane.pb (.pb)")
      ->type_name("OUT");
  app.add_option("--rows", rows, "lines of each table; 0: all")->type_name("N");
  app.add_option("--color", form.color, "auto (a terminal only; NO_COLOR is obeyed), always or never")->type_name("WHEN");
  if (const auto code = parse(app, std::move(arguments))) return *code;
  const auto style = style_for(form, STDOUT_FILENO);
  if (!style) return complain("profile", style.error(), exit_usage);
  const auto profiled = ProfiledRun::load(request);
  if (!profiled) return complain("profile", profiled.error(), profiled.error().code == ErrorCode::usage ? exit_usage : 1);
  if (!copy.empty())
    if (const auto written = write_profile_copy(*profiled, copy); !written)
      return complain("profile", written.error(), written.error().code == ErrorCode::usage ? exit_usage : 1);
  const ToldProfile told = profiled->told();
  if (!put(stdout, form.json ? profile_json(told) : profile_text(told, rows, *style)))
    return complain("profile", error_from_errno(errno, "cannot write", "standard output"), 1);
  return 0;
}

}  // namespace joulery
