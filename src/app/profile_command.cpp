// `joulery profile TRACE`: what a profiler saw, with the energy that a recording knows of it.
#include <unistd.h>

#include <fstream>

#include "app/command.h"
#include "app/command_line.h"
#include "app/profile_output.h"
#include "app/profiled_run.h"
#include "judge/efficiency.h"
#include "judge/profile_flame.h"
#include "publish/efficiency.h"
#include "publish/flame.h"
#include "publish/flame_picture.h"
#include "publish/profile/profile_text.h"

namespace joulery {
namespace {

// The flame graph in the form that the file's name asks for: .svg, .html, .json; folded stacks otherwise.
Result<void> write_flame(const ProfiledRun& run, const std::string& path) {
  const Flame flame = profile_flame(run.profile(), run.account(), run.trace());
  const auto form = path.ends_with(".svg")    ? flame_svg
                    : path.ends_with(".html") ? flame_html
                    : path.ends_with(".json") ? flame_json
                                              : flame_folded;
  std::ofstream file(path, std::ios::trunc);
  if (!(file << form(flame)).flush()) return fail(ErrorCode::io, "cannot write the flame graph", path);
  return {};
}

std::string efficiency_told(const ProfiledRun& run, const FormChoice& form, double samples, const TextStyle& style) {
  const Efficiency report = make_efficiency(run.profile(), run.account(), samples);
  return form.json ? efficiency_json(report) : form.html ? efficiency_html(report, run.trace()) : efficiency_text(report, style);
}

}  // namespace

int profile_command(std::vector<std::string> arguments) {
  CLI::App app(
      "Tells a profiler's trace by step, phase, operator, kernel and layer: its time, and its joules where a recording of\n"
      "the same run is named. Reads PyTorch's and Chrome's JSON, TensorFlow's and JAX's xplane.pb and trace.json.gz,\n"
      "nsys export --type sqlite, and Perfetto.",
      "joulery profile");
  ProfileRequest request;
  FormChoice form;
  std::string copy, report, flame;
  double samples = 0;
  std::size_t rows = 15;
  app.add_option("TRACE", request.trace, "the profiler's file, or its folder")->required();
  app.add_option("--recording", request.recording, "a recording of the same run, made by joulery run")->type_name("FILE");
  app.add_option("--clock", request.clock, "how the clocks of the two are joined: auto, marks, wall or load")->type_name("HOW");
  app.add_flag("--json", form.json, "as JSON, schema joulery.profile/1");
  app.add_option("-o,--output", copy,
                 "writes a copy of the trace with joules beside each event and counters of power: Chrome's\nJSON (.json, .json.gz), or of "
                 "an xplane.pb an xplane.pb (.pb)")
      ->type_name("OUT");
  app.add_option("--report", report, "another report in place of the tables: efficiency (text, --json or --html)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"efficiency"}));
  app.add_flag("--html", form.html, "the efficiency report as one page");
  app.add_option("--samples", samples, "samples in a step, for joules per sample")->type_name("N")->check(CLI::PositiveNumber);
  app.add_option("--flame", flame, "writes a flame graph of the host's stacks: .svg, .html, .json, else folded stacks")->type_name("FILE");
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
  if (form.html && report.empty())
    return complain("profile", {ErrorCode::usage, "only a report is told as a page", "--html", "add --report efficiency"}, exit_usage);
  if (!flame.empty())
    if (const auto written = write_flame(*profiled, flame); !written) return complain("profile", written.error(), 1);
  if (report == "efficiency") {
    if (!put(stdout, efficiency_told(*profiled, form, samples, *style)))
      return complain("profile", error_from_errno(errno, "cannot write", "standard output"), 1);
    return 0;
  }
  const ToldProfile told = profiled->told();
  if (!put(stdout, form.json ? profile_json(told) : profile_text(told, rows, *style)))
    return complain("profile", error_from_errno(errno, "cannot write", "standard output"), 1);
  return 0;
}

}  // namespace joulery
