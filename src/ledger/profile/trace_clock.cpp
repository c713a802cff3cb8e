#include "ledger/profile/trace_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/units.h"
#include "ledger/profile/load_fit.h"
#include "ledger/profile/step_fit.h"

namespace joulery {
namespace {

// What a profiler's own clock may be out against the system's: it converts counters of the processor or the device.
constexpr Duration profiler_clock_error = nanoseconds(100'000);

struct Known {                           // an offset that the clocks themselves tell
  std::int64_t offset_ns;
  Duration error;
};

std::string wall_text(std::int64_t ns) {
  const auto seconds = static_cast<std::time_t>(ns / 1'000'000'000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32] = "";
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

// By the crossing of the recording's clocks nearest to the run's begin; how far the crossings differ is how far the wall
// clock was moved meanwhile.
Known by_wall(const ClockEvidence& evidence) {
  const auto offset_of = [](const ClockMap& map) { return map.mono.ns - map.wall.ns; };
  const auto distance = [&](const ClockMap& map) { return std::abs(map.mono.ns - evidence.run.begin.ns); };
  const ClockMap* nearest = &evidence.maps.front();
  std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = std::numeric_limits<std::int64_t>::min();
  for (const ClockMap& map : evidence.maps) {
    if (distance(map) < distance(*nearest)) nearest = &map;
    low = std::min(low, offset_of(map));
    high = std::max(high, offset_of(map));
  }
  return {offset_of(*nearest), profiler_clock_error + nanoseconds(high - low)};
}

std::optional<Known> by_clock(const Profile& profile, const ClockEvidence& evidence) {
  if (profile.clock == ProfileClock::monotonic) return Known{0, profiler_clock_error};
  if (profile.clock == ProfileClock::wall && !evidence.maps.empty()) return by_wall(evidence);
  return std::nullopt;
}

bool overlaps(const Profile& profile, const Known& known, Interval run) {
  return profile.begin + known.offset_ns < run.end.ns && profile.end + known.offset_ns > run.begin.ns;
}

std::unexpected<Error> other_time(const Profile& profile, const Known& known, const ClockEvidence& evidence) {
  const std::int64_t to_wall = profile.clock == ProfileClock::wall ? 0 : -known.offset_ns;
  return fail(
      ErrorCode::usage, "the trace and the recording are not of the same time",
      fmt::format("trace from {}, run from {}", wall_text(profile.begin + to_wall), wall_text(evidence.run.begin.ns - known.offset_ns)),
      "name the recording of this run; or, where a clock was wrong, say --clock load");
}

std::optional<TraceClock> by_marks(const Profile& profile, const ClockEvidence& evidence, const std::optional<Known>& known) {
  const auto fit = fit_steps(profile.steps, evidence.steps, known ? std::optional(known->offset_ns) : std::nullopt);
  if (!fit) return std::nullopt;
  std::string words = fmt::format("{} steps that trace and recording both know", fit->pairs);
  if (known)
    words += fmt::format("; the clocks by themselves say {} {}", to_text(nanoseconds(std::abs(fit->offset_ns - known->offset_ns))),
                         fit->offset_ns < known->offset_ns ? "later" : "earlier");
  return TraceClock{fit->offset_ns, ClockMethod::marks, fit->error, std::move(words)};
}

std::optional<TraceClock> by_known(const Profile& profile, const Known& known) {
  const bool wall = profile.clock == ProfileClock::wall;
  return TraceClock{known.offset_ns, wall ? ClockMethod::wall : ClockMethod::monotonic, known.error,
                    wall ? "both tell the time of day" : "both count on the system's monotonic clock"};
}

Result<TraceClock> by_load(const Profile& profile, const ClockEvidence& evidence) {
  if (!evidence.ledger) return fail(ErrorCode::not_found, "the recording has no power to compare with");
  const auto fit = fit_load(profile, *evidence.ledger, evidence.run);
  if (!fit) return std::unexpected(fit.error());
  std::string words = fmt::format("load against power, correlation {:.2f}", fit->correlation);
  if (fit->rival > 0) words += fmt::format("; another place fits with {:.2f}", fit->rival);
  return TraceClock{fit->offset_ns, ClockMethod::load, fit->error, std::move(words)};
}

}  // namespace

std::string_view name_of(ClockMethod method) {
  switch (method) {
    case ClockMethod::marks: return "marks";
    case ClockMethod::wall: return "wall";
    case ClockMethod::monotonic: return "monotonic";
    case ClockMethod::load: return "load";
  }
  return "";
}

Result<TraceClock> align(const Profile& profile, const ClockEvidence& evidence, std::optional<ClockMethod> only) {
  const auto known = by_clock(profile, evidence);
  const bool use_known = known && overlaps(profile, *known, evidence.run);
  if (known && !use_known && !only) return other_time(profile, *known, evidence);
  if (!only || only == ClockMethod::marks)
    if (auto clock = by_marks(profile, evidence, use_known ? known : std::nullopt)) return *clock;
  if (only == ClockMethod::marks)
    return fail(ErrorCode::not_found, "no steps that trace and recording both know", "--clock marks",
                "mark the steps with joulery's hooks, and profile with steps (torch.profiler's schedule, tf.profiler.experimental.Trace)");
  if (!only || only == ClockMethod::wall || only == ClockMethod::monotonic) {
    if (use_known) return *by_known(profile, *known);
    if (only && known) return other_time(profile, *known, evidence);
    if (only) return fail(ErrorCode::not_found, "the trace does not say when it was made", "--clock wall");
  }
  return by_load(profile, evidence);
}

}  // namespace joulery
