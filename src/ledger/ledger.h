// Whose joules by component: which source counts for which part of the node, what is an overlap, what is missing, and
// the energy of any interval.
//
// Rules. A component's source is the one with the least lost time, then the first in order of preference. A component
// inside another that has a source is an overlap, as is a source with the scope of a platform; overlaps are shown and
// never added. Where the whole node has a source, what its parts leave is the derived part "node/rest". Parts without
// a source are missing, with a reason, or filled by the power model where the caller asks for it.
//
// Where two sources of one component differ by more than their intervals allow, the ledger says so and keeps its choice.
//
// Invariant: total(i) is the sum of the energies of the counted rows over i, to the microjoule, for every interval, and
// total(a,b) + total(b,c) == total(a,c).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "factors/power_model.h"
#include "ledger/timeline.h"

namespace joulery {

// Which parts without a sensor the power model may fill in.
enum class Fill {
  automatic,  // all of them, but only where no part of the node has a sensor
  all,        // every part that has none
  none,
};

// A part that burns and has no source, and why.
struct MissingPart {
  Component component;
  std::string reason;
};

// One line of the ledger.
struct Row {
  Component component;
  std::string meter;                 // "rapl.powercap", "model"; "" where missing
  Quality quality = Quality::missing;
  std::string reason;                // why it is missing, estimated or derived; "" where measured
  bool overlap = false;
  const Track* track = nullptr;      // null where missing
  std::vector<const Track*> minus;   // of a derived row: what is taken from `track`
};

// The sum over the counted rows.
struct Total {
  std::optional<Estimate> energy;    // empty where no counted row knows anything
  Quality quality = Quality::missing;
  bool partial = false;
};

// The greatest power of the counted rows together, and of each row (in the order of rows()); empty where nothing is known.
struct Peaks {
  std::optional<Power> total;
  std::vector<std::optional<Power>> rows;
};

class Ledger {
 public:
  // `timeline` outlives the ledger. `model` fills as `fill` says; `missing` names the parts known to lack a source.
  Ledger(const Timeline& timeline, const std::optional<PowerModel>& model, Fill fill, std::vector<MissingPart> missing);

  std::span<const Row> rows() const { return rows_; }
  Span energy(const Row& row, Interval when) const;
  Total total(Interval when) const;
  // Sum of the counted rows' known energy alone: what total() counts, without its bounds. Fast.
  Energy counted(Interval when) const;
  // The greatest mean power over any window of `window` in `when`, on a grid of half windows.
  Peaks peaks(Interval when, Duration window) const;
  const std::vector<std::string>& flags() const { return flags_; }

 private:
  std::vector<const EnergySource*> chosen_sources(const Timeline& timeline) const;
  void note_disagreements(const Timeline& timeline, const std::vector<const EnergySource*>& chosen);
  void add_measured(const std::vector<const EnergySource*>& chosen);
  void add_rest(const EnergySource& node);
  void add_missing(std::vector<MissingPart> missing);
  void add_estimates(const Timeline& timeline, const PowerModel& model);
  void add_accelerators(const Timeline& timeline, bool estimate);
  bool has(const std::string& path) const;
  bool within_counted(const Component& component) const;

  Interval run_;
  std::vector<Row> rows_;
  std::vector<std::unique_ptr<Track>> estimates_;
  std::vector<std::string> flags_;
};

}  // namespace joulery
