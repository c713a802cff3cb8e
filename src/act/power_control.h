// Sets power limits so that they can be put back: what was there goes into an undo journal first, what the hardware took is read
// back, and undoing restores the value from before, not the hardware's greatest.
//
// Invariant: nothing is written that the journal does not hold; what somebody else changed meanwhile is left alone and told.
#pragma once

#include <string>
#include <vector>

#include "act/power_knob.h"
#include "act/undo_journal.h"
#include "sense/agent/power_limit.h"

namespace joulery {

class PowerControl {
 public:
  // `folder`: where the journals of all holders are kept that must know of each other.
  // `root`: of the tree that the knobs are in, "" for this machine: journals of another are not touched.
  PowerControl(PowerKnobs knobs, std::string folder, std::string root)
      : knobs_(std::move(knobs)), folder_(std::move(folder)), root_(std::move(root)) {}

  // Every limit of the machine, as it is now.
  std::vector<PowerLimit> list();
  // Whether set() could do this now, as far as that can be known without trying. Errors: as set().
  Result<void> check(const LimitRequest& request) const;
  Result<UndoJournal> open_journal(const std::string& holder) const { return UndoJournal::make(folder_, holder, root_); }
  // Sets one limit for the holder of the journal; what it cannot keep it undoes at once. Errors: not_found; permission; usage
  // where it is out of range; busy where somebody else holds it; io and no_space of the journal.
  Result<LimitTaken> set(const LimitRequest& request, UndoJournal& journal);
  // Puts back everything in a journal, last first, each by itself; removes the journal where all is settled.
  std::vector<Undone> undo(UndoJournal& journal);
  // Undoes what holders left who live no more.
  std::vector<Undone> recover();
  // True where there is something for recover() to look at.
  static bool anything_left(const std::string& folder) { return !undo_journals(folder).empty(); }

 private:
  Result<PowerKnob*> find(const LimitRequest& request) const;
  PowerKnob* by_id(const std::string& id) const;
  Undone undo_entry(const UndoEntry& entry, const std::string& boot) const;
  std::string holder_of(const std::string& knob, const std::string& except) const;
  Result<LimitTaken> write(PowerKnob& knob, const LimitRequest& request, UndoJournal& journal);

  PowerKnobs knobs_;
  std::string folder_, root_;
};

// What may be asked for: from the least to the most that the hardware names, and up to what is in force. Errors: usage.
Result<void> check_range(const KnobFacts& facts, std::int64_t now_uw, std::int64_t asked_uw);
// "250 W", "87.5 W".
std::string watts_text(std::int64_t microwatts);

}  // namespace joulery
