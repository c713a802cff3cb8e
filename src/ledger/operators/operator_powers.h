// The power of each kind of operator, solved from many readings that each saw another mix of them, and the energy of each kind.
//
// Assumed: a kind burns the same power whenever it runs (or a power that has nothing to do with the mix); where nothing overlaps, a
// kind's power is all that the device burns while it runs, and the gaps between have a power of their own; where kinds overlap (streams,
// threads on cores) powers add up, on top of a static power that burns always. The clocks agree, but for a delay that is searched for, and
// a reading is the mean of a window up to its time, as long as it is said to be or as sensors are known to have (meter_timing.h).
//
// What cannot be told apart is not guessed: kinds whose powers are known worse than ±7 %, and worse than ±0.2 % of the whole, are
// merged with what they are mistaken for, until the power of the group is known well enough. The group is named by its members; each of
// them still has its likeliest power (likely_powers.h), and an interval as wide as what is not known of it.
//
// Invariant: the energies of all kinds, with that of the gaps or the static power, sum to the whole to the microjoule, and those of a
// group's members to the group's; low <= power <= high, and none is negative.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/quality.h"
#include "ledger/operators/mixes.h"

namespace joulery {

struct OperatorQuestion {
  std::vector<std::string> kinds;
  std::vector<Activity> activities;     // sorted by begin
  std::vector<PowerReading> readings;   // sorted by end of window
  Interval when;                        // what `whole` is the energy of
  Estimate whole;
  bool on_static_power = false;         // threads on cores: the rest is a static power, even if nothing overlaps
  Duration most_delay;                  // how far the clocks may be apart; 0: they agree
  bool averaged = false;                // readings are a sensor's averages, over a window that may be another than it is said to be
};

// Kinds that are told together: one, where it can be told apart.
struct OperatorGroup {
  std::vector<std::size_t> members;     // indices of kinds; the gaps or the static power are kinds.size()
  double seconds = 0;                   // amount times time of all members
  Power power, low, high;               // mean over `seconds`; 90 % interval
  Estimate energy;                      // with the meter's own error
};

// A kind by itself, or the gaps: where it stands in a group of several, the interval is wide. One that never ran has none of anything.
struct OperatorPart {
  double seconds = 0;                   // amount times time
  Power power, low, high;               // 90 % interval: it holds for each kind, however unusual
  Estimate energy;                      // with the meter's own error
};

struct OperatorPowers {
  bool solved = false;                  // false: too few readings, energies follow time alone
  bool on_static_power = false;         // the last part is a static power, not the power of the gaps
  std::vector<OperatorGroup> groups;    // by energy, greatest first
  std::vector<std::size_t> group_of;    // of each kind, and of the gaps or static power at the end
  std::vector<OperatorPart> parts;      // likewise
  double gap_seconds = 0, busy_seconds = 0;
  double noise_watts = 0;               // of one reading
  double explained = 0;                 // share of the readings' variance that the mixes explain
  double scale = 1;                     // whole over what the solved powers sum to
  Duration delay;                       // the meter's time less the activities', found and corrected
  Duration window;                      // of the readings, where another fits them than they are said to have; else 0
  std::vector<Duration> doubted;        // other windows that fit the readings as well; 0: the one that they are said to have
  std::size_t readings = 0;
  std::vector<std::string> notes;       // "3 kinds cannot be told apart ...", "the powers changed ..."
};

OperatorPowers solve_operators(const OperatorQuestion& question);

// The same where clocks and windows are settled and the mixes of the question's readings known: its activities and readings are not looked at.
OperatorPowers solve_mixes(const OperatorQuestion& question, const Mixes& mixes);

}  // namespace joulery
