// Power over time on an even grid, as correlation and regression need it.
// Invariant: a slot that touches time without known energy is NaN, never a number.
#pragma once

#include <span>
#include <vector>

#include "ledger/ledger.h"

namespace joulery {

// An even grid: `count` slots of `step` from `begin` on.
struct Grid {
  MonoTime begin;
  Duration step;
  std::size_t count = 0;
  MonoTime edge(std::size_t i) const { return {begin.ns + static_cast<std::int64_t>(i) * step.base_units()}; }
};

// `when` cut into equal steps of at least `step`, at most `most` of them; no step where `when` is shorter than one.
Grid grid_over(Interval when, Duration step, std::size_t most);

// The mean power of the sum of `rows` in each slot of the grid moved by `shift`, watts.
std::vector<double> power_series(std::span<const Row* const> rows, const Grid& grid, Duration shift);

// The longest typical distance between readings of these rows: what limits how fine a grid may tell anything new.
Duration reading_interval(std::span<const Row* const> rows);

}  // namespace joulery
