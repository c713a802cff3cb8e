// Which powers can be told apart, given how they were solved; and which must be told together.
//
// The mean power of a group is a weighted mean of its members' powers, and its variance follows from their covariance: two kinds that
// always run together have powers known badly (one higher, the other lower), but a mean known well. No equation is solved again, so merging
// adds no error of its own.
//
// Invariant: every column that ran belongs to exactly one group.
#pragma once

#include <span>
#include <vector>

#include "ledger/operators/regression.h"

namespace joulery {

// What a power must be known to: half the width of its 90 % interval, as joules, against either.
inline constexpr double told_within = 0.07;  // of its own energy
inline constexpr double told_within_whole = 0.002;  // of the energy of all

// `seconds`: of each column over the whole. `half_width`: of a 90 % interval, in standard deviations.
std::vector<std::vector<std::size_t>> tell_apart(const Regression& solved, std::span<const double> seconds, double half_width);

// The weights that make a group's mean power from the columns' powers, one per column.
std::vector<double> group_weights(std::span<const std::size_t> members, std::span<const double> seconds);

// a' C b.
double covariance_of(std::span<const double> a, const std::vector<double>& covariance, std::span<const double> b);
double mean_of(std::span<const double> weights, std::span<const double> values);

}  // namespace joulery
