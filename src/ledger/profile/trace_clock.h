// Where a trace's clock stands against a recording's: which moment of the recording an event belongs to, how that is
// known, and how far out it may be.
//
// In this order, each only where it says something: steps that both know (the marks of the program and the steps in the
// trace); the wall clock, where the trace has one and the two overlap; the load in the trace against the measured power,
// moved until they fit best.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "ledger/ledger.h"
#include "ledger/steps.h"
#include "watch/profile/profile.h"

namespace joulery {

enum class ClockMethod { marks, wall, monotonic, load };
std::string_view name_of(ClockMethod method);

struct TraceClock {
  std::int64_t offset_ns = 0;          // a time of the profile + this is a time of the recording's monotonic clock
  ClockMethod method = ClockMethod::wall;
  Duration error;                      // 90 %: how far out the offset may be
  std::string words;                   // "12 steps that both know; the wall clocks agree to 0.2 ms"

  MonoTime at(std::int64_t profile_ns) const { return {profile_ns + offset_ns}; }
};

struct ClockEvidence {
  std::span<const Step> steps;         // of the recording
  std::span<const ClockMap> maps;      // at least one
  const Ledger* ledger = nullptr;
  Interval run;
};

// `only`: the one method to use; nothing: the first that works. Errors: not_found where none works, with what each lacked;
// usage where the wall clocks do not overlap, so the two are not of the same time.
Result<TraceClock> align(const Profile& profile, const ClockEvidence& evidence, std::optional<ClockMethod> only = {});

}  // namespace joulery
