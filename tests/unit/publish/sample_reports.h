// Reports built by hand, whose figures can be checked with paper and pencil; every output has a golden file for each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "judge/report.h"

namespace joulery::samples {

Report gpu_run();         // 25,000 J in 125 s: GPU 60 %, package 25 %, DRAM 5.002 %, rest of the node estimated
Report vm_estimate();     // 600 J in 60 s, all of it estimated
Report partial();         // DRAM missing, gaps of both kinds, missed rounds, lost marks, recording cut off
Report zero_length();     // a command that took no time: nothing but reasons
Report failed();          // killed by a signal
Report weird_names();     // quotes, newlines, <, &, UTF-8, bytes that are no UTF-8, terminal escapes, formulas
Report layered();         // wall, node, package and processes; a meter that tells late, one that disagrees

Chart gpu_chart();        // the pictures of gpu_run: 125 slots of 1 s
Chart vm_chart();         // two estimated tracks
Chart partial_chart();    // with slots where nothing is known
Chart many_steps_chart(); // 10,000 steps

std::vector<Report> three_runs();  // 90 J, 100 J and 110 J

Report job();             // 1,000 J on two hosts, 600 and 400, each with a rank; the second one is slower

// All of the above reports but job() with the names of their golden files.
std::vector<std::pair<std::string, Report>> all();

}  // namespace joulery::samples
