// Whose joules by component: which source counts for which part of the node, what is an overlap, what is missing, and
// the energy of any interval.
//
// Rules. A component's source is the one with the least lost time, then the first in order of preference. A component
// inside another that has a source is an overlap, as is a source with the scope of a platform; overlaps are shown and
// never added. Where the whole node has a source, what its parts leave is the derived part "node/rest". Parts without
// a source are missing, with a reason, or filled by the power model where the caller asks for it.
//
// What is counted is the node: its boundary is told by boundary(). The wall contains the node and is shown apart, never
// added; only where nothing of the node has a source is the wall itself what is counted.
//
// Where two sources of one component differ by more than their intervals allow, the ledger says so and keeps its choice.
//
// Invariant: total(i) is the sum of the energies of the counted rows over i, to the microjoule, for every interval, and
// total(a,b) + total(b,c) == total(a,c).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/host_clock.h"
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
  std::vector<const Track*> plus;    // of the sum of several feeds: what comes to `track`
  std::vector<const Track*> minus;   // of a derived row: what is taken from `track`
};

// What a row that has a track has burnt, by positions alone.
Energy risen(const Row& row, Interval when);

class Ledger;

// One host of a job: its ledger, told by its own clock.
struct HostLedger {
  std::string name;
  const Ledger* ledger = nullptr;
  Interval run;        // while it took part
  HostClock clock;
};

// How far out the counted energy reaches.
enum class Boundary { node, wall };

constexpr std::string_view name_of(Boundary boundary) { return boundary == Boundary::node ? "node" : "wall"; }

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

  // A job of several hosts: the rows of them all below host/NAME/, on the job's clock; `run` holds all of their runs. What is
  // counted is what each host counts, to the microjoule; neither a whole node nor a wall is told.
  Ledger(Interval run, std::span<const HostLedger> hosts);

  std::span<const Row> rows() const { return rows_; }
  Boundary boundary() const { return boundary_; }
  // The node as a meter of the whole tells it; nothing where there is no such meter. Its row `track` is null, with the
  // reason, where that meter said nothing.
  const std::optional<Row>& whole_node() const { return whole_node_; }
  // The wall, all feeds together, likewise.
  const std::optional<Row>& wall() const { return wall_; }
  // Takes the wall as a model derives it (ledger/derived_wall.h) into a ledger without a meter of the wall: as a row that
  // is shown apart. `times` are those that the track points to.
  void add_derived_wall(std::unique_ptr<const std::vector<MonoTime>> times, Track track, std::string reason);
  Span energy(const Row& row, Interval when) const;
  Total total(Interval when) const;
  // Sum of the counted rows' known energy alone: what total() counts, without its bounds. Fast.
  Energy counted(Interval when) const;
  // The same of one of a job's hosts alone: over all hosts they sum to counted().
  Energy counted_of_host(const std::string& host, Interval when) const;
  // The greatest mean power over any window of `window` in `when`, on a grid of half windows.
  Peaks peaks(Interval when, Duration window) const;
  const std::vector<std::string>& flags() const { return flags_; }

 private:
  std::vector<const EnergySource*> chosen_sources(const Timeline& timeline) const;
  void note_disagreements(const Timeline& timeline, const std::vector<const EnergySource*>& chosen);
  void add_measured(const std::vector<const EnergySource*>& chosen);
  void add_rest(const EnergySource& node);
  void add_wall(const std::vector<const EnergySource*>& chosen, bool counted);
  void add_missing(std::vector<MissingPart> missing);
  void add_estimates(const Timeline& timeline, const PowerModel& model);
  void add_accelerators(const Timeline& timeline, bool estimate);
  bool has(const std::string& path) const;
  bool within_counted(const Component& component) const;

  Interval run_;
  Boundary boundary_ = Boundary::node;
  std::optional<Row> whole_node_, wall_;
  std::vector<Row> rows_;
  std::vector<std::unique_ptr<Track>> estimates_;
  std::unique_ptr<const std::vector<MonoTime>> derived_times_;
  std::vector<std::string> flags_;
};

}  // namespace joulery
