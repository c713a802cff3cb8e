#include "ledger/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/parallel.h"
#include "core/units.h"
#include "ledger/estimate.h"

namespace joulery {
namespace {

const Component node{"node"};

Duration lost_time(const Track& track, Interval when) {
  if (track.empty()) return when.length() + seconds(1);
  Duration lost = when.length() - intersect(track.covered(), when).length();
  for (const Gap& gap : track.gaps())
    if (gap.energy_lost) lost += intersect(gap.when, intersect(track.covered(), when)).length();
  return lost;
}

// "nvml energy", "nvml power": two channels of one device may disagree too.
std::string name_of(const EnergySource& source) { return source.meter + " " + source.channel.name; }

std::string first_gap_reason(const Track& track) { return track.gaps().empty() ? "no reading" : track.gaps().front().reason; }

}  // namespace

Ledger::Ledger(const Timeline& timeline, const std::optional<PowerModel>& model, Fill fill, std::vector<MissingPart> missing)
    : run_(timeline.run) {
  const auto chosen = chosen_sources(timeline);
  note_disagreements(timeline, chosen);
  add_measured(chosen);
  const bool measured = std::ranges::any_of(rows_, [](const Row& row) { return row.track && !row.overlap; });
  for (const EnergySource* source : chosen)
    if (source->channel.component == node && source->channel.scope == Scope::component && !source->track.empty()) add_rest(*source);
  if (model && timeline.cpu && (fill == Fill::all || (fill == Fill::automatic && !measured))) add_estimates(timeline, *model);
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
    if (component == node && source->channel.scope == Scope::component) continue;  // the whole: see add_rest
    const bool inside = std::ranges::any_of(chosen, [&](const EnergySource* other) {
      return other->channel.scope == Scope::component && other->channel.component != node && component.inside(other->channel.component);
    });
    Row row{component, source->meter, source->track.quality(), "", inside || source->channel.scope == Scope::platform, &source->track, {}};
    if (source->track.empty())
      row = {component, source->meter, Quality::missing, first_gap_reason(source->track), row.overlap, nullptr, {}};
    rows_.push_back(std::move(row));
  }
}

void Ledger::add_rest(const EnergySource& whole) {
  Row rest{Component("node/rest"), whole.meter, Quality::derived, "the node as a whole less its parts", false, &whole.track, {}};
  for (const Row& row : rows_)
    if (!row.overlap && row.track) rest.minus.push_back(row.track);
  const Span left = energy(rest, run_);
  if (!left.energy) {  // else its parts would be taken from nothing
    rows_.push_back({rest.component, whole.meter, Quality::missing, "no reading of the whole node during the run", false, nullptr, {}});
    return;
  }
  if (left.energy->value < Energy{}) {
    flags_.push_back("parts-exceed-whole");
    rows_.push_back({node, whole.meter, whole.track.quality(), "reads less than its parts together", true, &whole.track, {}});
    return;
  }
  rows_.push_back(std::move(rest));
}

void Ledger::add_estimates(const Timeline& timeline, const PowerModel& model) {
  NodeEstimate estimate = estimate_node(*timeline.cpu, model);
  const auto add = [&](const char* path, Track& track) {
    estimates_.push_back(std::make_unique<Track>(std::move(track)));
    rows_.push_back({Component(path), "model", Quality::estimated, model.source(), false, estimates_.back().get(), {}});
  };
  if (!has("node/cpu")) add("node/cpu", estimate.package);
  if (!has("node/dram")) add("node/dram", estimate.memory);
  if (!has("node/rest")) add("node/rest", estimate.rest);
  for (const std::string& flag : model.flags()) flags_.push_back(flag);
}

// True where a counted row with energy is this component or lies inside it.
bool Ledger::has(const std::string& path) const {
  const Component component(path);
  return std::ranges::any_of(
      rows_, [&](const Row& row) { return row.track && !row.overlap && (row.component == component || row.component.inside(component)); });
}

void Ledger::add_missing(std::vector<MissingPart> missing) {
  for (MissingPart& part : missing) {
    // A source that never answered has its row already: the part's reason says more than the readings' does.
    const auto same = std::ranges::find_if(rows_, [&](const Row& row) { return !row.track && row.component == part.component; });
    if (same != rows_.end())
      same->reason = std::move(part.reason);
    else if (!has(part.component.path()) && !within_counted(part.component))
      rows_.push_back({std::move(part.component), "", Quality::missing, std::move(part.reason), false, nullptr, {}});
  }
}

bool Ledger::within_counted(const Component& component) const {
  return std::ranges::any_of(rows_, [&](const Row& row) { return row.track && !row.overlap && component.inside(row.component); });
}

Span Ledger::energy(const Row& row, Interval when) const {
  if (!row.track) return {};
  Span span = row.track->energy(when);
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
  for (const Row& row : rows_) {
    if (row.overlap || !row.track) continue;
    sum += row.track->position(when.end) - row.track->position(when.begin);
    for (const Track* part : row.minus) sum -= part->position(when.end) - part->position(when.begin);
  }
  return sum;
}

// Errors of one meter go the same way and add; errors of different meters are independent. A model's rows are
// independent of each other by construction.
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
    auto& [below, above] = by_meter[row.quality == Quality::estimated ? row.component.path() : row.meter];
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

// A row's energy so far, from left to right.
class RowWalk {
 public:
  RowWalk(const Row& row, MonoTime from) : track_(*row.track, from) {
    for (const Track* part : row.minus) minus_.emplace_back(*part, from);
  }
  double joules(MonoTime t) {
    double sum = track_.joules(t);
    for (Track::Walk& part : minus_) sum -= part.joules(t);
    return sum;
  }

 private:
  Track::Walk track_;
  std::vector<Track::Walk> minus_;
};

// The greatest rise over two steps of a sum that is told step by step.
class GreatestRise {
 public:
  void add(double joules) {
    if (steps_ >= 2) best_ = std::max(best_.value_or(joules - before_), joules - before_);
    before_ = std::exchange(last_, joules);
    ++steps_;
  }
  void add(const GreatestRise& other) {
    if (other.best_) best_ = std::max(best_.value_or(*other.best_), *other.best_);
  }
  std::optional<Power> over(Duration two_steps) const {
    if (!best_) return std::nullopt;
    return watts(*best_ / to_seconds(two_steps));
  }

 private:
  std::size_t steps_ = 0;
  double before_ = 0, last_ = 0;
  std::optional<double> best_;
};

// The rises of some rows, each by itself, and of the sum of those that count.
struct Rises {
  std::vector<GreatestRise> each;
  GreatestRise total;
};

Rises rises_between(const std::vector<const Row*>& rows, MonoTime begin, Duration step, std::int64_t steps) {
  Rises rises{std::vector<GreatestRise>(rows.size()), {}};
  std::vector<RowWalk> walks;
  for (const Row* row : rows) walks.emplace_back(*row, begin);
  MonoTime at = begin;
  for (std::int64_t i = 0; i <= steps; ++i, at = at + step) {
    double sum = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const double joules = walks[r].joules(at);
      rises.each[r].add(joules);
      if (!rows[r]->overlap) sum += joules;
    }
    rises.total.add(sum);
  }
  return rises;
}

constexpr std::int64_t pieces = 8, worth_pieces = 5000;  // so many parts where there are so many steps

}  // namespace

Peaks Ledger::peaks(Interval when, Duration window) const {
  Peaks peaks{std::nullopt, std::vector<std::optional<Power>>(rows_.size())};
  std::vector<const Row*> known;
  for (const Row& row : rows_)
    if (row.track && energy(row, when).energy) known.push_back(&row);
  if (when.empty() || std::ranges::all_of(known, &Row::overlap)) return peaks;
  const Duration step = nanoseconds(std::max<std::int64_t>(1, std::min(window, when.length()).base_units() / 2));
  const std::int64_t steps = when.length().base_units() / step.base_units(), count = steps < worth_pieces ? 1 : pieces;
  std::vector<Rises> rises(static_cast<std::size_t>(count));
  for_each_index(rises.size(), [&](std::size_t i) {
    const auto piece = static_cast<std::int64_t>(i);
    const std::int64_t from = std::max<std::int64_t>(0, steps * piece / count - 1), to = steps * (piece + 1) / count;
    rises[i] = rises_between(known, when.begin + nanoseconds(from * step.base_units()), step, to - from);
  });
  for (std::size_t i = 1; i < rises.size(); ++i) {
    rises[0].total.add(rises[i].total);
    for (std::size_t r = 0; r < known.size(); ++r) rises[0].each[r].add(rises[i].each[r]);
  }
  peaks.total = rises[0].total.over(step + step);
  for (std::size_t r = 0; r < known.size(); ++r)
    peaks.rows[static_cast<std::size_t>(known[r] - rows_.data())] = rises[0].each[r].over(step + step);
  return peaks;
}

}  // namespace joulery
