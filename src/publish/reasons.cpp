#include "publish/reasons.h"

#include <fmt/ranges.h>

#include <cmath>

namespace joulery {
namespace {

// The report's own words win; `otherwise` says what the place implies; nothing where all is known.
std::string choose(bool unknown, const std::string& own, std::string_view otherwise) {
  if (!unknown) return {};
  return own.empty() ? std::string(otherwise) : own;
}

}  // namespace

std::string reason_of(const ReportEnergy& energy) {
  return choose(!energy.joules, fmt::format("{}", fmt::join(energy.missing, "; ")), "no meter gave a value");
}

std::string reason_of(const ReportComponent& component) {
  if (!component.reason.empty()) return component.reason;
  return choose(!component.joules || component.quality == Quality::missing, "", "the meter gave no value");
}

std::string reason_of(const ReportPhase& phase) {
  return choose(!phase.joules, phase.reason, phase.seconds > 0 ? "no meter covers this phase" : "the phase took no time");
}

std::string reason_of(const ReportSteps& steps) {
  const bool unknown = !steps.joules_median || !steps.joules_p95 || !steps.seconds_median;
  return choose(unknown, steps.reason, steps.count == 0 ? "the program marked no steps" : "no meter covers the steps");
}

std::string reason_of(const ReportWork& work) {
  const bool unknown =
      !work.joules_per_unit || !work.units_per_joule || !work.kwh_per_1000 || !work.units_per_second || !work.units_per_second_per_watt;
  return choose(unknown, work.reason, work.count > 0 ? "the energy or the time of this work is unknown" : "no work was done");
}

std::string gain_reason_of(const ReportKpi& kpi) {
  const bool unknown =
      kpi.better.empty() || !kpi.first || !kpi.best || !kpi.joules_at_best || !kpi.gained || !kpi.point || !kpi.joules_per_point;
  return choose(unknown, kpi.gain_reason, "not worked out");
}

std::string reason_of(const ReportKpi& kpi) {
  if (!std::isfinite(kpi.last)) return "the program reported a value that is no number";
  return choose(!kpi.joules_at_last, kpi.reason, "the energy up to this value is unknown");
}

std::string reason_of(const ReportProcess& process) {
  return choose(!process.joules || !process.share, process.reason, "no energy could be shared out to processes");
}

std::string reason_of(const ReportCarbon& carbon) {
  return choose(!carbon.grams || !carbon.low || !carbon.high, carbon.reason, "the energy is unknown");
}

std::string reason_of(const ReportBaseline& baseline) {
  return choose(!baseline.watts || !baseline.joules, baseline.reason, "the idle power of this machine is unknown");
}

std::string exit_reason(const Report& report) { return choose(!report.exit_code, "", "the recording ends before the command did"); }

std::string power_reason(const Report& report) {
  const std::string energy = reason_of(report.energy);
  return choose(!report.mean_watts || !report.peak_watts, energy, report.duration_s > 0 ? "too few readings" : "the run took no time");
}

std::string carbon_reason(const Report& report) { return choose(!report.carbon, report.carbon_reason, "no carbon intensity was applied"); }

std::string cost_reason(const Report& report) { return choose(!report.cost, report.cost_reason, "no tariff was given"); }

std::string baseline_reason(const Report& report) {
  return choose(!report.baseline, report.baseline_reason, "the idle power of this machine is unknown");
}

}  // namespace joulery
