// What a folder of /proc says of processes and of their CPU time. The root folder of a recorded tree is part of the paths.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.h"

namespace joulery {

// Names in `folder` that are whole numbers (pids, tids), ascending. Empty where it cannot be read.
std::vector<std::int32_t> numbers_in(const std::string& folder);

Duration duration_of_ticks(std::int64_t ticks);  // of sysconf(_SC_CLK_TCK)

// CPU time of a process in a recorded tree (on this machine it has a clock: watch/cpu_clock.h): the first fields of
// task/*/schedstat summed; of a thread that has ended the last value seen, kept in `threads`. Never less than `ticks` of
// user and system time in stat, which count ended threads too.
Duration recorded_cpu_time(const std::string& process_folder, std::int64_t ticks, std::map<std::int32_t, Duration>& threads);

// The real user id in the text of /proc/PID/status.
std::optional<std::uint32_t> user_of_status(std::string_view text);

}  // namespace joulery
