// Why a figure of a report is unknown, in words: the reason the report carries, or, where it carries none, the one
// that its place implies. Every output that shows "missing" or null takes its reason from here.
#pragma once

#include <string>

#include "judge/report.h"

namespace joulery {

// "" where nothing in the value is unknown.
std::string reason_of(const ReportEnergy& energy);
std::string reason_of(const ReportComponent& component);
std::string reason_of(const ReportPhase& phase);
std::string reason_of(const ReportSteps& steps);
std::string reason_of(const ReportWork& work);
std::string reason_of(const ReportKpi& kpi);
std::string gain_reason_of(const ReportKpi& kpi);
std::string reason_of(const ReportProcess& process);
std::string reason_of(const ReportCarbon& carbon);
std::string reason_of(const ReportBaseline& baseline);
std::string exit_reason(const Report& report);
std::string power_reason(const Report& report);
std::string carbon_reason(const Report& report);
std::string cost_reason(const Report& report);
std::string baseline_reason(const Report& report);

}  // namespace joulery
