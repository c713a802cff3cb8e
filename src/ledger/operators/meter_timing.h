// When a meter looked: how much later its clock is than the activities', and how long its readings really average.
//
// Both are seen in the readings themselves: with the right ones the mixes explain them best. Sensors of GPUs are known to average over less
// or more than they refresh, by model and driver, and a wrong window makes powers wrong without being noticed: too long a one draws
// them together. Where the readings cannot decide, the other windows stay as doubts, and powers are as unsure as they differ.
//
// Invariant: nothing is changed that is not more likely than what was said of the meter; weights of doubts are below 1 in sum.
#pragma once

#include <span>
#include <vector>

#include "ledger/operators/mixes.h"
#include "ledger/operators/operator_powers.h"
#include "ledger/operators/regression.h"

namespace joulery {

struct TimingDoubt {
  Duration delay, window;
  double weight = 0;  // how likely it is what the meter does
};

struct MeterTiming {
  Duration delay;  // 0 where none is clearly better
  Duration window;  // 0 where that of the readings is not less likely than another
  std::vector<TimingDoubt> doubts;
};

MeterTiming find_timing(const OperatorQuestion& question);

// Readings as means of `window` up to the same ends; 0 leaves them as they are.
void set_window(std::vector<PowerReading>& readings, Duration window);

// The question's activities in `readings`, which are its own or those with another window.
Mixes mixes_at(const OperatorQuestion& question, std::span<const PowerReading> readings, Duration delay);

// The powers by `mixes`, which are those of `readings` at that delay; with the delay's column last where a delay was searched for.
Regression regress_at(const OperatorQuestion& question, std::span<const PowerReading> readings, const Mixes& mixes, Duration delay);

}  // namespace joulery
