// By how much one meter tells later than another what both of them see: from the correlation of their power. Pure.
//
// A meter that smooths or travels over a network shows at t what burnt at t - delay. For every lag the meter's power is
// regressed on the reference's; the best lag is the one that leaves least, which is the greatest cross-correlation
// (Knapp and Carter, "The generalized correlation method for estimation of time delay", IEEE ASSP 24, 1976). What lies
// between two lags is found by a parabola. The interval holds every lag whose likelihood ratio to the best one is within
// the 90 % point of chi-squared with one degree of freedom (profile likelihood; Venzon and Moolgavkar, Applied
// Statistics 37, 1988), with as many independent values as the residuals' own memory leaves (Bayley and Hammersley,
// "The effective number of independent observations", JRSS Supplement 8, 1946). So a load that repeats itself, which
// fits at several lags alike, gives no delay rather than one of them.
//
// Invariant: a power that hardly changes gives no delay and a reason; never 0.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/quantity.h"

namespace joulery {

struct DelayInterval {
  Duration value, low, high;            // positive: the meter tells later than the reference
};

struct DelayEstimate {
  std::optional<DelayInterval> delay;
  std::optional<double> correlation;    // at the best lag, -1..1; empty where nothing could be compared
  std::string reason;                   // why there is no delay; "" where there is one
};

// `reference` and `meter`: mean watts in the slots of one grid of `step`, NaN where not known. Lags from -most to most are
// tried. `resolution`: how far apart readings lie; the interval is at least half of it to either side.
DelayEstimate find_delay(std::span<const double> reference, std::span<const double> meter, Duration step, Duration most,
                         Duration resolution);

}  // namespace joulery
