#include "ledger/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/parallel.h"
#include "core/units.h"
#include "ledger/estimate.h"
#include "meter/track_grid.h"

namespace joulery {
namespace {

const Component node{"node"}, whole_wall{"wall"};

Duration lost_time(const Track& track, Interval when) {
  if (track.empty()) return when.length() + seconds(1);
  Duration lost = when.length() - intersect(track.covered(), when).length();
  for (const Gap& gap : track.gaps())
    if (gap.energy_lost) lost += intersect(gap.when, intersect(track.covered(), when)).length();
  return lost;
}

// "nvml energy", "nvml power": two channels of one device may disagree too.
std::string name_of(const EnergySource& source) { return source.meter + " " + source.channel.name; }

bool is_whole_node(const EnergySource& source) { return source.channel.component == node && source.channel.scope == Scope::component; }

bool is_wall(const EnergySource& source) { return source.channel.component.at_wall() && source.channel.scope == Scope::component; }

std::string first_gap_reason(const Track& track) { return track.gaps().empty() ? "no reading" : track.gaps().front().reason; }

Row row_of(const EnergySource& source, bool overlap) {
  const Component& component = source.channel.component;
  if (source.track.empty()) return {component, source.meter, Quality::missing, first_gap_reason(source.track), overlap, nullptr, {}, {}};
  return {component, source.meter, source.track.quality(), "", overlap, &source.track, {}, {}};
}

// Feeds have meters of one make, whose errors add. A feed that is not known leaves a sum that is partial.
void add_feed(const Span& feed, Span& sum) {
  if (!feed.energy || !sum.energy) {
    if (feed.energy) sum = feed;
    sum.partial = true;
    return;
  }
  sum.partial = sum.partial || feed.partial;
  sum.energy->value += feed.energy->value;
  sum.energy->low += feed.energy->low;
  sum.energy->high += feed.energy->high;
}

// All feeds of the wall together; missing where one of them is, for the others are not the whole.
Row sum_of(const std::vector<Row>& feeds) {
  Row sum = feeds.front();
  sum.component = whole_wall;
  if (feeds.size() > 1) sum.reason = fmt::format("the sum of {} feeds", feeds.size());
  for (const Row& feed : feeds) {
    if (!feed.track)
      return {whole_wall, feed.meter, Quality::missing, fmt::format("feed {}: {}", feed.component.leaf(), feed.reason), true, nullptr,
              {},         {}};
    if (&feed == &feeds.front()) continue;
    sum.plus.push_back(feed.track);
    sum.quality = worst(sum.quality, feed.quality);
  }
  return sum;
}

}  // namespace

Energy risen(const Row& row, Interval when) {
  Energy sum = row.track->position(when.end) - row.track->position(when.begin);
  for (const Track* feed : row.plus) sum += feed->position(when.end) - feed->position(when.begin);
  for (const Track* part : row.minus) sum -= part->position(when.end) - part->position(when.begin);
  return sum;
}

Ledger::Ledger(const Timeline& timeline, const std::optional<PowerModel>& model, Fill fill, std::vector<MissingPart> missing)
    : run_(timeline.run) {
  const auto chosen = chosen_sources(timeline);
  note_disagreements(timeline, chosen);
  add_measured(chosen);
  for (const EnergySource* source : chosen)
    if (is_whole_node(*source)) add_rest(*source);
  const auto counts = [](const Row& row) { return row.track && !row.overlap; };
  const bool whole = has("node/rest");
  add_wall(chosen, fill != Fill::all && std::ranges::none_of(rows_, counts));
  const bool measured = std::ranges::any_of(rows_, counts);
  if (model && timeline.cpu && !whole && (fill == Fill::all || (fill == Fill::automatic && !measured))) add_estimates(timeline, *model);
  add_accelerators(timeline, fill == Fill::all || (fill == Fill::automatic && !measured));
  add_missing(std::move(missing));
  std::ranges::stable_sort(rows_, {}, [](const Row& row) { return row.overlap; });
}

std::vector<const EnergySource*> Ledger::chosen_sources(const Timeline& timeline) const {
  std::map<std::pair<std::string, Scope>, const EnergySource*> best;
  std::vector<const EnergySource*> chosen;
  for (const EnergySource& source : timeline.sources) {
    const EnergySource*& slot = best[{source.channel.component.path(), source.channel.scope}];
    if (!slot || lost_time(source.track, run_) < lost_time(slot->track, run_)) slot = &source;
  }
  for (const EnergySource& source : timeline.sources)
    if (best[{source.channel.component.path(), source.channel.scope}] == &source) chosen.push_back(&source);
  return chosen;
}

void Ledger::note_disagreements(const Timeline& timeline, const std::vector<const EnergySource*>& chosen) {
  for (const EnergySource* source : chosen)
    for (const EnergySource& other : timeline.sources) {
      if (&other == source || other.channel.component != source->channel.component || other.channel.scope != source->channel.scope)
        continue;
      const Span a = source->track.energy(run_), b = other.track.energy(run_);
      if (!a.energy || !b.energy || a.partial || b.partial) continue;
      if (a.energy->high < b.energy->low || b.energy->high < a.energy->low)
        flags_.push_back(fmt::format("sources-disagree: {}: {} says {}, {} says {}", source->channel.component.path(), name_of(*source),
                                     to_text(a.energy->value), name_of(other), to_text(b.energy->value)));
    }
}

void Ledger::add_measured(const std::vector<const EnergySource*>& chosen) {
  for (const EnergySource* source : chosen) {
    const Component& component = source->channel.component;
    if (is_whole_node(*source) || is_wall(*source)) continue;  // see add_rest, add_wall
    const bool inside = std::ranges::any_of(chosen, [&](const EnergySource* other) {
      return other->channel.scope == Scope::component && !is_whole_node(*other) && !is_wall(*other) &&
             component.inside(other->channel.component);
    });
    rows_.push_back(row_of(*source, inside || source->channel.scope == Scope::platform));
  }
}

// One meter of the whole wall goes before its feeds; feeds are a sum, of which none may be missing.
void Ledger::add_wall(const std::vector<const EnergySource*>& chosen, bool counted) {
  std::vector<Row> feeds;
  for (const EnergySource* source : chosen) {
    if (!is_wall(*source)) continue;
    if (source->channel.component == whole_wall)
      wall_ = row_of(*source, true);
    else
      feeds.push_back(row_of(*source, true));
  }
  if (!wall_ && !feeds.empty()) wall_ = sum_of(feeds);
  if (!wall_) return;
  const bool known = wall_->track && energy(*wall_, run_).energy;
  if (counted && known) {
    boundary_ = Boundary::wall;
    wall_->overlap = false;
  }
  rows_.push_back(*wall_);
  for (Row& feed : feeds) rows_.push_back(std::move(feed));
}

void Ledger::add_derived_wall(std::unique_ptr<const std::vector<MonoTime>> times, Track track, std::string reason) {
  if (wall_) return;
  derived_times_ = std::move(times);
  estimates_.push_back(std::make_unique<Track>(std::move(track)));
  wall_ = Row{whole_wall, "wall-model", Quality::derived, std::move(reason), true, estimates_.back().get(), {}, {}};
  rows_.push_back(*wall_);
}

void Ledger::add_rest(const EnergySource& whole) {
  whole_node_ = row_of(whole, true);
  if (!whole_node_->track) return;
  Row rest{Component("node/rest"), whole.meter, Quality::derived, "the node as a whole less its parts", false, &whole.track, {}, {}};
  for (const Row& row : rows_)
    if (!row.overlap && row.track) rest.minus.push_back(row.track);
  const Span left = energy(rest, run_);
  if (!left.energy) {  // else its parts would be taken from nothing
    whole_node_ = Row{node, whole.meter, Quality::missing, "no reading of the whole node during the run", true, nullptr, {}, {}};
    rows_.push_back({rest.component, whole.meter, Quality::missing, whole_node_->reason, false, nullptr, {}, {}});
    return;
  }
  if (left.energy->value < Energy{}) {
    flags_.push_back("parts-exceed-whole");
    whole_node_->reason = "reads less than its parts together";
    rows_.push_back(*whole_node_);
    return;
  }
  rows_.push_back(std::move(rest));
}

void Ledger::add_estimates(const Timeline& timeline, const PowerModel& model) {
  NodeEstimate estimate = estimate_node(*timeline.cpu, model);
  const auto add = [&](const char* path, Track& track) {
    estimates_.push_back(std::make_unique<Track>(std::move(track)));
    rows_.push_back({Component(path), "model", Quality::estimated, model.source(), false, estimates_.back().get(), {}, {}});
  };
  if (!has("node/cpu")) add("node/cpu", estimate.package);
  if (!has("node/dram")) add("node/dram", estimate.memory);
  if (!has("node/rest")) add("node/rest", estimate.rest);
  for (const std::string& flag : model.flags()) flags_.push_back(flag);
}

// Accelerators that tell how busy they are and no power. Where a meter of the whole node leaves a rest, they are in it.
void Ledger::add_accelerators(const Timeline& timeline, bool estimate) {
  const bool in_rest = std::ranges::any_of(rows_, [](const Row& row) { return row.component.path() == "node/rest" && !row.minus.empty(); });
  for (const AcceleratorLoad& load : timeline.accelerators) {
    if (has(load.component.path()) || within_counted(load.component)) continue;
    const AcceleratorPower* power = accelerator_power(load.device);
    Row row;
    row.component = load.component;
    row.overlap = in_rest;
    row.reason = power ? "tells no power; it can be estimated from how busy it is" : "tells no power, and its maker publishes none";
    if (power && estimate) {
      estimates_.push_back(std::make_unique<Track>(estimate_accelerator(load, *power)));
      row.meter = "model";
      row.quality = Quality::estimated;
      row.reason = power->source;
      row.track = estimates_.back().get();
    }
    rows_.push_back(std::move(row));
  }
}

// True where a counted row with energy is this component or lies inside it.
bool Ledger::has(const std::string& path) const {
  const Component component(path);
  return std::ranges::any_of(
      rows_, [&](const Row& row) { return row.track && !row.overlap && (row.component == component || row.component.inside(component)); });
}

void Ledger::add_missing(std::vector<MissingPart> missing) {
  const bool whole = has("node/rest");  // then what no meter tells apart is in the rest, and the sum lacks nothing
  for (MissingPart& part : missing) {
    // A source that never answered has its row already: the part's reason says more than the readings' does.
    const auto same = std::ranges::find_if(rows_, [&](const Row& row) { return !row.track && row.component == part.component; });
    if (same != rows_.end())
      same->reason = std::move(part.reason);
    else if (!has(part.component.path()) && !within_counted(part.component))
      rows_.push_back({std::move(part.component), "", Quality::missing, std::move(part.reason), whole, nullptr, {}, {}});
  }
}

bool Ledger::within_counted(const Component& component) const {
  return std::ranges::any_of(rows_, [&](const Row& row) { return row.track && !row.overlap && component.inside(row.component); });
}

Span Ledger::energy(const Row& row, Interval when) const {
  if (!row.track) return {};
  Span span = row.track->energy(when);
  for (const Track* feed : row.plus) add_feed(feed->energy(when), span);
  if (!span.energy) return span;
  span.quality = row.quality;
  double below = to_joules(span.energy->value - span.energy->low), above = to_joules(span.energy->high - span.energy->value);
  for (const Track* part : row.minus) {
    const Span taken = part->energy(when);
    span.partial = span.partial || taken.partial;
    if (!taken.energy) continue;
    span.energy->value -= taken.energy->value;
    below = std::hypot(below, to_joules(taken.energy->high - taken.energy->value));
    above = std::hypot(above, to_joules(taken.energy->value - taken.energy->low));
  }
  if (!row.minus.empty()) {
    span.energy->low = std::min(span.energy->value, std::max(Energy{}, span.energy->value - joules(below)));
    span.energy->high = span.energy->value + joules(above);
  }
  return span;
}

Energy Ledger::counted(Interval when) const {
  Energy sum;
  for (const Row& row : rows_)
    if (!row.overlap && row.track) sum += risen(row, when);
  return sum;
}

// Errors of one kind of meter go the same way and add, on several hosts too; errors of different meters are independent. A
// model's rows are independent of each other by construction, and wrong in the same way on every host.
Total Ledger::total(Interval when) const {
  Total total;
  std::map<std::string, std::pair<double, double>> by_meter;
  Energy value;
  bool any = false;
  total.quality = Quality::measured;
  for (const Row& row : rows_) {
    if (row.overlap) continue;
    const Span span = energy(row, when);
    total.partial = total.partial || span.partial || !span.energy;
    if (!span.energy) continue;
    any = true;
    total.quality = worst(total.quality, span.quality);
    value += span.energy->value;
    auto& [below, above] = by_meter[row.quality == Quality::estimated ? std::string(row.component.local()) : row.meter];
    below += to_joules(span.energy->value - span.energy->low);
    above += to_joules(span.energy->high - span.energy->value);
  }
  if (!any) return {std::nullopt, Quality::missing, true};
  double below = 0, above = 0;
  for (const auto& [meter, error] : by_meter) {
    below = std::hypot(below, error.first);
    above = std::hypot(above, error.second);
  }
  total.energy = Estimate{value, std::max(std::min(value, Energy{}), value - joules(below)), value + joules(above)};
  return total;
}

namespace {

// The greatest rise over two steps of a sum that is told step by step; nothing where there are fewer.
std::optional<double> greatest_rise(std::span<const double> joules) {
  if (joules.size() < 3) return std::nullopt;
  double best = joules[2] - joules[0];
  for (std::size_t i = 3; i < joules.size(); ++i) best = std::max(best, joules[i] - joules[i - 2]);
  return best;
}

// The greatest rises of some rows, each by itself, and of the sum of those that count.
struct Rises {
  std::vector<std::optional<double>> each;
  std::optional<double> total;
};

// Rows told at the instants of one grid; what is needed to place it among a meter's times is found once a meter.
class RowsOnGrid {
 public:
  RowsOnGrid(MonoTime begin, Duration step, std::size_t instants) : begin_(begin), step_(step), joules_(instants) {}

  // The row's energy so far at each instant.
  std::span<const double> joules(const Row& row) {
    std::ranges::fill(joules_, 0.0);
    add(*row.track, 1);
    for (const Track* feed : row.plus) add(*feed, 1);
    for (const Track* part : row.minus) add(*part, -1);
    return joules_;
  }

 private:
  void add(const Track& track, double sign) {
    if (track.empty()) return;
    auto grid = std::ranges::find_if(grids_, [&](const TrackGrid& known) { return known.is_of(track); });
    if (grid == grids_.end()) grid = grids_.emplace(grids_.end(), *track.times(), begin_, step_, joules_.size());
    grid->add_joules(track, sign, joules_);
  }

  MonoTime begin_;
  Duration step_;
  std::vector<double> joules_;
  std::vector<TrackGrid> grids_;
};

Rises rises_between(const std::vector<const Row*>& rows, MonoTime begin, Duration step, std::int64_t steps) {
  Rises rises{std::vector<std::optional<double>>(rows.size()), {}};
  const auto instants = static_cast<std::size_t>(steps + 1);
  RowsOnGrid grid(begin, step, instants);
  std::vector<double> sums(instants);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::span<const double> joules = grid.joules(*rows[r]);
    rises.each[r] = greatest_rise(joules);
    if (rows[r]->overlap) continue;
    for (std::size_t i = 0; i < instants; ++i) sums[i] += joules[i];
  }
  rises.total = greatest_rise(sums);
  return rises;
}

constexpr std::int64_t piece_steps = 4096;  // a piece of work: what it needs stays in the cache, and in the heap

}  // namespace

Peaks Ledger::peaks(Interval when, Duration window) const {
  Peaks peaks{std::nullopt, std::vector<std::optional<Power>>(rows_.size())};
  std::vector<const Row*> known;
  for (const Row& row : rows_)
    if (row.track && energy(row, when).energy) known.push_back(&row);
  if (when.empty() || std::ranges::all_of(known, &Row::overlap)) return peaks;
  const Duration step = nanoseconds(std::max<std::int64_t>(1, std::min(window, when.length()).base_units() / 2));
  const std::int64_t steps = when.length().base_units() / step.base_units(), count = steps / piece_steps + 1;
  std::vector<Rises> rises(static_cast<std::size_t>(count));
  for_each_index(rises.size(), [&](std::size_t i) {
    const auto piece = static_cast<std::int64_t>(i);
    const std::int64_t from = std::max<std::int64_t>(0, steps * piece / count - 1), to = steps * (piece + 1) / count;
    rises[i] = rises_between(known, when.begin + nanoseconds(from * step.base_units()), step, to - from);
  });
  const auto keep = [&](std::optional<Power>& peak, const std::optional<double>& rise) {
    if (rise) peak = std::max(peak.value_or(watts(*rise / to_seconds(step + step))), watts(*rise / to_seconds(step + step)));
  };
  for (const Rises& piece : rises) {
    keep(peaks.total, piece.total);
    for (std::size_t r = 0; r < known.size(); ++r) keep(peaks.rows[static_cast<std::size_t>(known[r] - rows_.data())], piece.each[r]);
  }
  return peaks;
}

}  // namespace joulery
