// `joulery calibrate --idle W --max W [--half W]`: teaches the estimate what a wall meter shows.
#include <fmt/format.h>

#include "app/command.h"
#include "app/command_line.h"
#include "app/sensor_gains.h"
#include "app/user_folders.h"
#include "core/units.h"
#include "factors/calibration.h"

namespace joulery {
namespace {

// "65", "65W", "1.2kW": watts where no unit is written.
Result<Power> watts_of(const std::string& text, const char* option) {
  auto power = parse_power(text);
  if (!power) power = parse_power(text + "W");
  if (!power) return fail(ErrorCode::usage, power.error().what, option, power.error().hint);
  return power;
}

}  // namespace

int calibrate_command(std::vector<std::string> arguments) {
  if (asks_for_sensor(arguments)) return calibrate_sensor(std::move(arguments));
  CLI::App app(
      "Teaches the estimate what a wall meter shows of this machine: at rest, with all CPUs busy\nand, better still, with half "
      "of them busy.",
      "joulery calibrate");
  std::string idle, most, half, source;
  app.add_option("--idle", idle, "watts at rest")->required()->type_name("W");
  app.add_option("--max", most, "watts with all CPUs busy")->required()->type_name("W");
  app.add_option("--half", half, "watts with half of the CPUs busy")->type_name("W");
  app.add_option("--source", source, "which meter, for the reports")->type_name("TEXT");
  if (const auto code = parse(app, std::move(arguments))) return *code;
  const auto at_rest = watts_of(idle, "--idle"), busy = watts_of(most, "--max");
  for (const auto* power : {&at_rest, &busy})
    if (!*power) return complain("calibrate", power->error(), exit_usage);
  Calibration wanted{*at_rest, *busy, std::nullopt, source};
  if (!half.empty()) {
    const auto between = watts_of(half, "--half");
    if (!between) return complain("calibrate", between.error(), exit_usage);
    wanted.half = *between;
  }
  const auto calibration = checked(wanted);
  if (!calibration) return complain("calibrate", calibration.error(), exit_usage);
  if (const auto written = write_calibration(calibration_file(), *calibration); !written) return complain("calibrate", written.error(), 1);
  fmt::print("Estimates on this machine now start from {} at rest and {} at full load.\nKept in {}\n", to_text(calibration->idle),
             to_text(calibration->max), calibration_file());
  return 0;
}

}  // namespace joulery
