// Clocks that do not mix. Durations come from the monotonic clock alone; the wall clock only labels
// a recording for people; the boot clock differs from the monotonic one by the time spent suspended.
// Energy belongs to a half-open Interval [begin, end), never to an instant.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <ctime>

#include "core/quantity.h"

namespace joulery {

// An instant of one clock, in nanoseconds since that clock's own origin.
template <class Clock>
struct Instant {
  std::int64_t ns = 0;
  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Duration operator-(Instant a, Instant b) { return nanoseconds(a.ns - b.ns); }
  friend constexpr Instant operator+(Instant t, Duration d) { return {t.ns + d.base_units()}; }
  friend constexpr Instant operator-(Instant t, Duration d) { return {t.ns - d.base_units()}; }
};

struct MonotonicClock;
struct BootClock;
struct RealtimeClock;
using MonoTime = Instant<MonotonicClock>;  // CLOCK_MONOTONIC: never steps, stops while suspended
using BootTime = Instant<BootClock>;       // CLOCK_BOOTTIME: the same, goes on while suspended
using WallTime = Instant<RealtimeClock>;   // CLOCK_REALTIME: since 1970 UTC, may step either way

inline std::int64_t clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}
inline MonoTime mono_now() { return {clock_ns(CLOCK_MONOTONIC)}; }
inline BootTime boot_now() { return {clock_ns(CLOCK_BOOTTIME)}; }
inline WallTime wall_now() { return {clock_ns(CLOCK_REALTIME)}; }

struct Interval {
  MonoTime begin, end;
  constexpr Duration length() const { return end - begin; }
  constexpr bool empty() const { return end <= begin; }
  constexpr bool contains(MonoTime t) const { return begin <= t && t < end; }
  friend constexpr bool operator==(Interval, Interval) = default;
};

constexpr Interval intersect(Interval a, Interval b) {
  return {std::max(a.begin, b.begin), std::max(std::max(a.begin, b.begin), std::min(a.end, b.end))};
}

// The one crossing between the clocks, taken at one moment of a recording.
struct ClockMap {
  MonoTime mono;
  BootTime boot;
  WallTime wall;
  static ClockMap now() { return {mono_now(), boot_now(), wall_now()}; }
  constexpr WallTime to_wall(MonoTime t) const { return wall + (t - mono); }
  // Time spent suspended up to this crossing; a difference of two crossings is one suspension.
  constexpr Duration suspended() const { return nanoseconds(boot.ns - mono.ns); }
};

}  // namespace joulery
