// `joulery power`: which power limits this machine has, what may be asked for, and what was left to be put back.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "act/guardian.h"
#include "act/power_control.h"
#include "act/power_knobs.h"
#include "app/command.h"
#include "app/command_line.h"
#include "app/held_limits.h"
#include "app/user_folders.h"
#include "publish/power_limits.h"

namespace joulery {
namespace {

struct PowerOptions {
  bool json = false, restore = false;
  std::string sysroot, guard;
  FormChoice form;
  std::vector<std::string> sets;
};

std::optional<int> parse_power_options(std::vector<std::string> arguments, PowerOptions& o) {
  CLI::App app(
      "Shows the power limits of this machine: what is in force, what may be asked for, who holds it, and why one cannot be set.\n"
      "joulery run --power-limit sets one for as long as a command runs.",
      "joulery power");
  app.add_flag("--json", o.json, "as JSON, schema joulery.power/1");
  app.add_flag("--restore", o.restore, "only put back what a run that was killed has left");
  app.add_option("--sysroot", o.sysroot, "look at a tree with sys/ in it")->type_name("DIR");
  app.add_option("--color", o.form.color, "auto, always or never")->type_name("WHEN");
  app.add_option("--guard", o.guard)->group("");  // what joulery run starts beside itself
  add_set_option(app, o.sets);
  return parse(app, std::move(arguments));
}

// 0 where everything is as it was.
int tell_restored(const std::vector<Undone>& restored, bool asked) {
  for (const Undone& one : restored) complain("power", {ErrorCode::io, one.text, "", ""}, 0);
  if (asked && restored.empty()) fmt::print("nothing was left to be put back\n");
  return std::ranges::all_of(restored, &Undone::settled) ? 0 : 1;
}

}  // namespace

int power_command(std::vector<std::string> arguments) {
  PowerOptions o;
  if (const auto code = parse_power_options(std::move(arguments), o)) return *code;
  if (const auto there = check_sysroot(o.sysroot); !there) return complain("power", there.error(), exit_usage);
  const Machine machine(o.sysroot);
  if (!o.guard.empty()) {
    PowerControl control = own_power_control(o.sysroot);
    return Guardian::stand_guard(o.guard, control);
  }
  const auto style = style_for(o.form, STDOUT_FILENO);
  if (!style) return complain("power", style.error(), exit_usage);
  const auto settings = settings_with({}, o.sets);
  if (!settings) return complain("power", settings.error(), exit_usage);
  const int restored = tell_restored(restore_left_limits(o.sysroot), o.restore);
  if (o.restore) return restored;
  const std::vector<PowerLimit> limits = all_power_limits(o.sysroot, *settings);
  const Error none = limits.empty() ? why_no_limits(machine) : Error{};
  const std::string text = o.json ? power_limits_json(limits, none) : power_limits_text(limits, none, *style);
  return put(stdout, text) ? restored : 1;
}

}  // namespace joulery
