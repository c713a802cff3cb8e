// From what a machine knows of itself to its watts at eleven load levels, by the learnt numbers. The same rules in Python
// (scripts/power_model) write the golden file that the tests compare with.
//
// Invariant: a curve never falls with utilisation; Fractions are 0 at idle and 1 at full load.
#pragma once

#include "factors/cpu_table.h"
#include "factors/power_table.h"

namespace joulery {

// What the model sees of a whole machine; all above 0.
struct MachineShape {
  std::string family;   // "" where not known
  double year = 0, market_class = 0;
  double tdp = 0;       // watts per chip
  double chips = 0, cores = 0, threads = 0, memory_gb = 0;
};

struct Ends {
  double idle = 0, full = 0;
};  // watts

// Idle and full load of a machine that was never measured.
Ends predict_ends(const PowerTable& table, const MachineShape& machine);

// Where between idle (0) and full load (1) each level lies, for ends that a meter showed.
Levels predict_fractions(const PowerTable& table, const MachineShape& machine, Ends ends);

// The same for a machine that was never measured, whose ends are themselves predicted.
Levels predict_fractions_unseen(const PowerTable& table, const MachineShape& machine, Ends ends);

// Fractions moved so that they pass through `half` (0..1) at 50 %.
Levels bend_through(const PowerTable& table, const Levels& fractions, double half);

// The value between two levels; utilisation outside 0..1, or not a number, is brought inside.
double at_utilisation(const Levels& levels, double utilisation);

}  // namespace joulery
