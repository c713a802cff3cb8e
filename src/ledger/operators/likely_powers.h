// The likeliest power of each kind where the readings alone leave it open: kinds of one device are of one family.
//
// The readings tell sums of powers well and single powers badly where kinds always run together: one comes out too high and the other too
// low. That powers of kinds on one device lie around a common mean, with a spread that the readings tell too, says which of the
// possible answers is likely: each power is drawn towards the mean by as much as is not known of it (empirical Bayes, a normal
// family; the spread is integrated over, with a flat prior). What the readings tell well does not move.
//
// It is a best estimate and no interval: drawn powers of an unusual kind are off to a known side, so an interval around them does not hold
// for that kind. Intervals stay those of the unbiased powers.
//
// Source of the formulas: C. Morris, Parametric empirical Bayes inference, JASA 78 (1983); restricted likelihood of a random effect.
//
// Invariant: with each group's weights the powers of its members have the mean that was solved.
#pragma once

#include <span>
#include <vector>

#include "ledger/operators/regression.h"

namespace joulery {

// `family`: the columns that are of one family; the others (gaps, a delay) follow what the readings say of them beside these. `typical`: W,
// the size of a power, by which spreads are tried: from a thousandth of it to twice as much. `widened`: by how much errors are larger than
// the covariance says. One power per column; they may be negative.
std::vector<double> likely_powers(const Regression& solved, std::span<const std::size_t> family, double typical, double widened,
                                  std::span<const std::vector<double>> group_weights);

}  // namespace joulery
