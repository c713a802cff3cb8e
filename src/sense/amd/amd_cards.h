// AMD GPUs, whichever library shows them: which of their readings count, and once.
//
// The energy of a card is its accumulator times the resolution that the library tells with each read (15.3 µJ). Known
// faults, each of which is looked for once at the start, against the card's own power over a fifth of a second: the
// accumulator stands still inside one process (MI100, MI210), runs backward, or counts at another rate than it says.
// A card whose accumulator fails is integrated from its power. Later faults are the counter rules' business (meter/).
//
// On cards with two dies (MI250, MI250X) the even die tells the power of both and the odd one nothing: its energy is
// "covered by its sibling", and it is no zero that anything may be divided by.
#pragma once

#include <string>
#include <vector>

#include "sense/function_meter.h"
#include "sense/machine.h"

namespace joulery {

struct AmdEnergy {
  std::uint64_t count = 0;
  double unit = 0;  // joules a count
};

struct AmdCard {
  std::string address, name;  // "0000:c1:00.0", "AMD Instinct MI250X"
  std::function<std::expected<AmdEnergy, MissingReason>()> energy;
  ReadFunction power;
  double power_unit = 1;      // watts a count of `power`
  ReadFunction utilisation;   // per cent
  ReadFunction memory_used, memory_total;  // bytes
  Power cap;                  // 0: not told
};

// Joules a count, from a resolution in microjoules as the libraries tell it: a float that stands for a short decimal.
double amd_resolution(float microjoules);

// One device with the channels of all cards ("amd-0 energy", ...): neither library may be called from two threads.
// `cards` in any order. Takes 0.2 s where there are cards with both energy and power, no time where there are none.
Discovery amd_discovery(const Machine& machine, std::string_view kind, std::vector<AmdCard> cards);

}  // namespace joulery
