// What the costs of a server miss in each stretch of time: measured energy less what they tell. How far a request's share may be off
// follows from it. Pure.
//
// It is no white noise. Most of it comes from prompts that were read a little earlier or later than they are taken to be: so it is
// larger where much of a prompt was read, and what one stretch has too much its neighbour has too little, which over a long answer
// nearly cancels.
#pragma once

#include <span>
#include <vector>

namespace joulery {

struct SlotMiss {
  bool known = true;  // false: nothing was in work, or it is not known what; its other fields mean nothing
  double missed = 0;  // joules
  double prompt_joules = 0;  // of the prompts that were read in it, as the costs tell
};

struct MissModel {
  std::vector<double> deviation;  // standard deviation in each slot, joules; 0 where it is not known
  double next = 0, after = 0;  // correlation of neighbours, and of next neighbours
};

MissModel model_misses(std::span<const SlotMiss> slots);

// A part of a slot: that fraction of what is missed in it falls to somebody.
struct SlotFraction {
  std::size_t slot = 0;
  double fraction = 0;
};
// The variance of all that falls to them, joules². `fractions`: by slot, each slot at most once.
double missed_variance(const MissModel& model, std::span<const SlotFraction> fractions);

}  // namespace joulery
