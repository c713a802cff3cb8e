// How the hosts and ranks of a job are told: words for people, objects for programs.
#pragma once

#include <string>

#include "judge/report.h"
#include "publish/json_writer.h"

namespace joulery {

// "measured; its clock 1.2 ms ahead (90 % 1.1 to 1.3 ms) by 120 common steps; 12.3 g CO2e at Germany (DE)".
std::string host_words(const ReportHost& host, bool first);
// "rank 1, pid 4711, node-a".
std::string rank_name(const ReportRank& rank);
// "120 steps, median 20 ms; waited 1.2 s; last in 80, the others waited 2.3 s for it".
std::string rank_words(const ReportRank& rank);
// Who held the others up; "" where nobody waited for as much as a hundredth of the steps' time.
std::string straggler_words(const Report& report);

// The keys "rounds", "ranks" and "hosts".
void write_hosts(JsonWriter& json, const Report& report);

}  // namespace joulery
