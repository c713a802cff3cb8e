// What a token costs a server that answers many requests at a time: the power that it draws idle, and the joules of a prompt's
// token and of an answer's token, fitted to its energy over many intervals. Pure.
//
//   joules = idle * seconds + step * steps + prefill * prompt tokens + decode * answer tokens, no coefficient below 0
//
// `step` is what a step costs however many requests are in it (the weights are read once for all): it is fitted only where the
// intervals speak for it (Bayesian information criterion, Schwarz 1978, better by 6: strong evidence after Kass and Raftery
// 1995). Idle power is the mean over quiet intervals where there are enough of them, else what the line through the others
// leaves at no tokens. Non-negative least squares by trying every set of columns, which for four is exact and quick.
//
// How far the coefficients may be off: block bootstrap (Künsch 1989), for neighbouring intervals are not independent.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace joulery {

// An interval: what was in work within, and what it took. Where steps are not known: seconds with anything in work.
struct ServingPoint {
  double seconds = 0, steps = 0, prefill_tokens = 0, decode_tokens = 0, joules = 0;
};

struct ServingCoefficients {
  double idle_watts = 0, step_joules = 0, prefill_joules = 0, decode_joules = 0;
};

struct ServingCosts {
  ServingCoefficients best;
  std::vector<ServingCoefficients> replicates;  // of the bootstrap; empty where nothing was fitted
  bool weights_fitted = false;      // false: every token weighs the same
  std::string idle_source;          // "given", "quiet intervals", "fitted"; "" where it is not known and taken for 0
  std::string note;                 // why something was not fitted; "" where all was
};

// At least so many intervals, else nothing but idle power is told apart.
inline constexpr std::size_t least_serving_points = 8;

// The coefficients alone, all columns free, without a word on how far off they may be.
ServingCoefficients fit_nonnegative(std::span<const ServingPoint> points);

// Adjacent intervals by time. `idle_watts`: where it is known already.
ServingCosts fit_serving_costs(std::span<const ServingPoint> points, std::optional<double> idle_watts);

}  // namespace joulery
