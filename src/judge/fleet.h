// What a whole fleet has burnt between two moments, from the counters that its nodes pushed to an engine for time series.
//
// Exactness. A counter is known at the moments when it was sent. Its value at a time t is that of the last sample up to t, so the
// energy of (from, to] is the difference of two values that were really sent, plus, where the counter began anew in between (its
// agent was restarted), what it had before: no rate, no extrapolation, and neighbouring times add up exactly. What falls between
// a moment and the next belongs to the time in which the next one lies: a window is sharp to a push interval.
//
// "(other)" is no counter of its own: it takes over what lines that have gone had used (publish/node_metrics). Its energy is what
// the named lines, idle and unattributed leave of the component; so the lines of a kind sum to the fleet to the microjoule.
//
// Invariant: rows of one report sum to its total, but for those of `by kind`, where each kind by itself does with idle and
// unattributed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/quality.h"
#include "core/time.h"
#include "judge/report.h"

namespace joulery {

using SeriesLabels = std::map<std::string, std::string>;  // without __name__

struct CounterSample {
  std::int64_t ms = 0;  // since 1970
  double value = 0;
};

// What a counter rose by: from `before`, its last value up to the beginning (nothing: it did not exist, and began at 0), over
// `samples`, in their order. A fall is a new beginning at 0. In millionths of the counter's unit.
std::int64_t rise_of(std::optional<double> before, std::span<const CounterSample> samples);

// A series and what it rose by: microjoules, or microseconds of missing readings.
struct SeriesRise {
  SeriesLabels labels;
  std::int64_t micro = 0;
};

struct NodeGap {
  std::string node;
  Duration silent;         // without a sample, at least so long; all the time of a node that is missing
  bool missing = false;    // it sent before, and nothing in this time
  bool at_end = false;     // it has fallen silent
};

struct FleetFacts {
  WallTime from, to;
  std::string source;                                     // the engine's address
  std::vector<SeriesRise> components;                     // joulery_component_joules_total
  std::map<std::string, std::vector<SeriesRise>> kinds;   // joulery_consumer_joules_total by kind: "idle", "unattributed", "job" ...
  std::vector<SeriesRise> missing_readings;               // joulery_missing_seconds_total, in microseconds
  std::vector<NodeGap> gaps;
};

struct FleetChoice {
  std::string node_label = "instance";
  std::string kind;                       // whose joules: "" the components alone
  std::vector<std::string> by;            // labels; "kind" for all kinds at once
};

struct FleetRow {
  std::vector<std::string> names;         // beside FleetChoice::by; "" where the series has no such label
  std::map<Quality, Energy> by_quality;   // of components only
  Energy energy;
  std::size_t nodes = 0;
  bool idle = false, unattributed = false;
  std::optional<double> grams, cost;
};

struct FleetReport {
  FleetFacts facts;                       // its series emptied
  FleetChoice choice;
  std::vector<FleetRow> rows;             // the greatest first, then idle and unattributed
  FleetRow total;
  std::optional<Energy> idle, unattributed;  // of the whole fleet; empty where nobody sends them
  std::size_t inconsistent = 0;           // node's components whose consumers are above the whole: the engine lacks samples
  bool too_much = false;                  // more than an Energy holds, 9.2e12 J: no figure of this report is right
  std::vector<SeriesRise> missing_readings;
  std::optional<ReportCarbon> carbon;     // of the total
  std::optional<ReportCost> cost;
  std::string cost_reason;
};

FleetReport make_fleet_report(FleetFacts facts, FleetChoice choice);

}  // namespace joulery
