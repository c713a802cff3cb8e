// `joulery calibrate`: teaches the estimate what a wall meter shows of this machine at rest and at work (--idle, --max), or
// learns from a recording what the wall delivers for what the measured parts take (--wall).
#include <fmt/format.h>

#include <filesystem>

#include "app/command.h"
#include "app/command_line.h"
#include "app/sensor_gains.h"
#include "app/user_folders.h"
#include "core/units.h"
#include "factors/calibration.h"
#include "factors/wall_model.h"

namespace joulery {
namespace {

struct CalibrateOptions {
  std::string idle, most, half, source, wall;
};

// "65", "65W", "1.2kW": watts where no unit is written.
Result<Power> watts_of(const std::string& text, const char* option) {
  auto power = parse_power(text);
  if (!power) power = parse_power(text + "W");
  if (!power) return fail(ErrorCode::usage, power.error().what, option, power.error().hint);
  return power;
}

std::string delay_line(const DelayEstimate& delay) {
  if (!delay.delay) return fmt::format("  Delay of the wall meter not known, taken as none: {}\n", delay.reason);
  const auto ms = [](Duration d) { return to_seconds(d) * 1e3; };
  return fmt::format("  The wall meter tells {:.0f} ms late ({:.0f} to {:.0f} ms, correlation {:.3f})\n", ms(delay.delay->value),
                     ms(delay.delay->low), ms(delay.delay->high), delay.correlation.value_or(0));
}

void tell(const WallFit& learnt) {
  const WallModel& m = learnt.model;
  const auto term = [&](std::size_t i) { return fmt::format("{:.4g} ± {:.2g}", m.coefficients[i], learnt.fit.standard_error(i)); };
  std::string text = fmt::format("wall = {} W + {} × parts", term(0), term(1));
  if (learnt.fit.count > 2) text += fmt::format(" + {} /W × parts²", term(2));
  text = fmt::format("{}   (± one standard error)\n{}", text, delay_line(learnt.delay));
  if (learnt.fit.count == 2) text += fmt::format("  Of each watt more at the wall the parts get {:.1f} %\n", 100 / m.coefficients[1]);
  text += fmt::format(
      "  Learnt from {} means over {}, parts between {} and {}\n"
      "  Error on stretches held out: {:.2f} % of the power, {:.2f} % of a stretch's energy; the wall meter's own: {:.1f} %\n",
      m.values, to_text(m.window), to_text(m.least), to_text(m.most), m.mean_error * 100, m.stretch_error * 100, m.meter_error * 100);
  fmt::print("{}  It holds for machines of this kind: {}, {}\nKept in {}\n", text, m.kind.cpu.empty() ? "processor not told" : m.kind.cpu,
             m.kind.board.empty() ? "board not told" : m.kind.board, wall_model_file());
}

int learn_wall(const std::string& file) {
  const auto run = LoadedRun::load(file, {});
  if (!run) return complain("calibrate", run.error(), 1);
  const auto learnt = run->wall_fit(std::filesystem::path(file).filename().string());
  if (!learnt) return complain("calibrate", learnt.error(), 1);
  if (const auto written = write_wall_model(wall_model_file(), learnt->model); !written) return complain("calibrate", written.error(), 1);
  tell(*learnt);
  return 0;
}

Result<Calibration> calibration_from(const CalibrateOptions& o) {
  if (o.idle.empty() || o.most.empty())
    return fail(ErrorCode::usage, fmt::format("{} is required", o.idle.empty() ? "--idle" : "--max"), "",
                "--idle W --max W [--half W], or --wall FILE");
  const auto at_rest = watts_of(o.idle, "--idle"), busy = watts_of(o.most, "--max");
  for (const auto* power : {&at_rest, &busy})
    if (!*power) return std::unexpected(power->error());
  Calibration wanted{*at_rest, *busy, std::nullopt, o.source};
  if (!o.half.empty()) {
    const auto between = watts_of(o.half, "--half");
    if (!between) return std::unexpected(between.error());
    wanted.half = *between;
  }
  return checked(wanted);
}

}  // namespace

int calibrate_command(std::vector<std::string> arguments) {
  if (asks_for_sensor(arguments)) return calibrate_sensor(std::move(arguments));
  CLI::App app(
      "Teaches the estimate what a wall meter shows of this machine: at rest, with all CPUs busy\nand, better still, with half "
      "of them busy. Or learns from a recording with a wall meter what\nthe wall delivers for what the measured parts take.",
      "joulery calibrate");
  CalibrateOptions o;
  CLI::Option* idle = app.add_option("--idle", o.idle, "watts at rest")->type_name("W");
  CLI::Option* most = app.add_option("--max", o.most, "watts with all CPUs busy")->type_name("W");
  CLI::Option* half = app.add_option("--half", o.half, "watts with half of the CPUs busy")->type_name("W");
  CLI::Option* source = app.add_option("--source", o.source, "which meter, for the reports")->type_name("TEXT");
  app.add_option("--wall", o.wall, "learn the wall from this recording")->type_name("FILE")->excludes(idle, most, half, source);
  if (const auto code = parse(app, std::move(arguments))) return *code;
  if (!o.wall.empty()) return learn_wall(o.wall);
  const auto calibration = calibration_from(o);
  if (!calibration) return complain("calibrate", calibration.error(), exit_usage);
  if (const auto written = write_calibration(calibration_file(), *calibration); !written) return complain("calibrate", written.error(), 1);
  fmt::print("Estimates on this machine now start from {} at rest and {} at full load.\nKept in {}\n", to_text(calibration->idle),
             to_text(calibration->max), calibration_file());
  return 0;
}

}  // namespace joulery
