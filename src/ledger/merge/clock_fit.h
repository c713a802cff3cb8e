// How far the monotonic clocks of two hosts lie apart, from events that happen on both at the same moment.
//
// The steps of a distributed training are such events: no rank leaves the collective before the last has come, so the k-th steps
// end (or the next ones begin) together, but for some jitter. The difference of the two clocks over the events is a straight
// line: its slope from the medians of the first and the last third (Tukey's resistant line), its height the median of what the
// slope leaves. Medians, because a single step may be late by any time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/time.h"

namespace joulery {

// One moment as two clocks told it.
struct CommonMoment {
  MonoTime job, host;
};

// job = host + shift + drift * (host - at). 90 % intervals.
struct ClockFit {
  MonoTime at;                              // on the host's clock, in the middle of the events
  Duration shift, shift_low, shift_high;
  double drift = 0, drift_low = 0, drift_high = 0;  // the drift is 0 where its interval holds 0
  Duration scatter;                         // median distance of the events from the line
  double smoothness = 2;                    // von Neumann's ratio: 2 for jitter, near 0 where the two wander apart
  std::size_t moments = 0;
};

// The fewest moments that tell a clock; with 8, the median's interval still holds 90 %.
inline constexpr std::size_t fewest_moments = 8;

// Empty where there are too few moments, or they do not go forward on the host's clock. `moments` by time.
std::optional<ClockFit> fit_clock(std::span<const CommonMoment> moments);

// The median of `values`, and the order statistics around it that hold the true one with 90 %: of m values the j-th from either
// end, j = floor((m - 1.645 sqrt(m)) / 2), counted from 0 (normal approximation to the binomial).
struct MedianOf {
  double value = 0, low = 0, high = 0;
};
MedianOf median_of(std::vector<double> values);

}  // namespace joulery
