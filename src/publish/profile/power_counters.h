// The measured power of each component as counters of a trace, on the trace's own clock.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ledger/profile/profile_account.h"
#include "watch/profile/profile.h"

namespace joulery {

// Puts the process of the counters stands under, apart from any of the trace's.
inline constexpr std::int64_t power_pid = 0x7fffffff;

// Microseconds with three decimals from nanoseconds.
std::string microseconds_text(std::int64_t ns);

// Calls `put(json)` with each counter event of Chrome's format: one for each reading of each counted component within the
// profile, with the mean power until the next, and one "unknown" stretch for each gap. Times are those of the profile less
// `base_ns`. False as soon as `put` is.
bool put_power_counters(const Profile& profile, const ProfileEnergySource& source, std::int64_t base_ns,
                        const std::function<bool(const std::string&)>& put);

}  // namespace joulery
