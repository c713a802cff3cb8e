#include "ledger/profile/work_energy.h"

#include <algorithm>
#include <map>

#include "ledger/operators/operator_powers.h"
#include "ledger/operators/power_readings.h"
#include "ledger/profile/busy_sweep.h"
#include "ledger/profile/cell_key.h"
#include "ledger/split.h"

namespace joulery {
namespace {

constexpr std::size_t most_activities = 20'000'000;   // 640 MB: beyond, by time
constexpr std::size_t most_kinds = 400;               // columns of the equations; what is rarer is one of them
constexpr Duration agreeing_clocks = milliseconds(1);
constexpr std::size_t most_names = 4;                 // of a group, that are written out

// Works as the columns of the equations: the longest by themselves, the rest as one.
struct Columns {
  std::vector<std::uint32_t> of_work;
  std::vector<std::string> names;
};

Columns columns_of(const Profile& profile, const ActivitySide& side) {
  std::vector<std::uint32_t> order(side.works.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, std::greater<>(), [&](std::uint32_t i) { return side.works[i].seconds; });
  Columns columns{std::vector<std::uint32_t>(order.size()), {}};
  for (std::size_t i = 0; i < order.size(); ++i) {
    columns.of_work[order[i]] = static_cast<std::uint32_t>(std::min(i, most_kinds - 1));
    if (i < most_kinds) columns.names.emplace_back(profile.name(side.works[order[i]].name));
  }
  return columns;
}

// Every stretch in which one track worked at one kind, by begin.
std::vector<Activity> activities_of(const Profile& profile, const ActivitySide& side, const Columns& columns, const TraceClock& clock) {
  std::vector<Activity> all;
  const OpNames ops = launching_ops(profile);
  std::map<std::uint32_t, std::size_t> last;          // of each track: its newest activity
  sweep(profile, tracks_of(profile, side.device), [&](std::int64_t begin, std::int64_t end, std::span<const Worker> workers) {
    if (all.size() > most_activities) return;
    for (const Worker& worker : workers) {
      const auto cell = side.numbers.find(cell_key(*worker.event, worker.op, ops));
      if (cell == side.numbers.end()) continue;
      const std::uint32_t kind = columns.of_work[side.cells[cell->second].work];
      const auto [newest, first] = last.try_emplace(worker.track, 0);
      if (!first && all[newest->second].kind == kind && all[newest->second].when.end == clock.at(begin)) {
        all[newest->second].when.end = clock.at(end);
        continue;
      }
      newest->second = all.size();
      all.push_back({kind, {clock.at(begin), clock.at(end)}, 1});
    }
  });
  std::ranges::sort(all, {}, [](const Activity& activity) { return activity.when.begin; });
  return all;
}

std::string group_name(const OperatorGroup& group, const Columns& columns) {
  std::string name;
  for (std::size_t i = 0; i < std::min(most_names, group.members.size()); ++i) {
    const std::size_t member = group.members[i];
    name += (name.empty() ? "" : " + ") +
            (member < columns.names.size() ? (columns.names[member].empty() ? "host code" : columns.names[member]) : "the rest");
  }
  if (group.members.size() > most_names) name += " + " + std::to_string(group.members.size() - most_names) + " more";
  return name;
}

class SideFit {
 public:
  SideFit(const ActivitySide& side, WorkEnergy& told) : side_(&side), told_(&told) {
    const std::size_t works = side.works.size();
    told.works.resize(works);
    told.low.resize(works);
    told.high.resize(works);
    told.merged.resize(works);
  }

  void by_time(Energy energy) {
    std::vector<double> weights(side_->works.size());
    for (const ActivityCell& cell : side_->cells) weights[cell.work] += std::max(0.0, cell.joules);
    weights.push_back(std::max(0.0, side_->idle_joules));
    const std::vector<Energy> shares = split(energy, weights);
    for (std::size_t i = 0; i < told_->works.size(); ++i) {
      told_->works[i] += shares[i];
      add_bounds(i, std::nullopt, std::nullopt);
    }
    told_->rest += shares.back();
    unfitted_ += energy;
  }

  void by_powers(const OperatorPowers& powers, const Columns& columns, Energy energy) {
    const std::size_t rest = columns.names.size();
    // What stands in one column is shared by time.
    std::vector<std::vector<std::uint32_t>> works_of(columns.names.size());
    for (std::uint32_t work = 0; work < columns.of_work.size(); ++work) works_of[columns.of_work[work]].push_back(work);
    for (std::size_t column = 0; column < works_of.size(); ++column) add_column(powers, columns, column, works_of[column], energy);
    told_->rest += powers.parts[rest].energy.value;
    told_->rest_is_static = told_->rest_is_static || powers.on_static_power;
    fitted_ += energy;
    for (const std::string& note : powers.notes) told_->notes.push_back(note);
  }

  void finish() { told_->fitted = fitted_ > unfitted_; }

 private:
  void add_column(const OperatorPowers& powers, const Columns& columns, std::size_t column, const std::vector<std::uint32_t>& works,
                  Energy row) {
    std::vector<double> weights;
    for (const std::uint32_t work : works) weights.push_back(side_->works[work].seconds);
    const std::vector<Energy> shares = split(powers.parts[column].energy.value, weights);
    const std::size_t in = powers.group_of[column];   // no group where it did not run while the meter was read
    const bool together = in < powers.groups.size() && powers.groups[in].members.size() > 1;
    for (std::size_t i = 0; i < works.size(); ++i) {
      told_->works[works[i]] += shares[i];
      const Estimate& energy = powers.parts[column].energy;
      if (works.size() == 1)
        add_bounds(works[i], energy.low, energy.high);
      else
        add_bounds(works[i], std::nullopt, std::nullopt);
      if (row >= greatest_merged_ && (together || works.size() > 1))
        told_->merged[works[i]] = together ? group_name(powers.groups[in], columns) : "what is too rare to be told apart";
    }
    greatest_merged_ = std::max(greatest_merged_, row);
  }

  // Meters of different components: the bounds of a sum, not narrower than it is.
  void add_bounds(std::size_t work, std::optional<Energy> low, std::optional<Energy> high) {
    const bool first = seen_.size() <= work || !seen_[work];
    seen_.resize(std::max(seen_.size(), work + 1));
    seen_[work] = true;
    if (first) {
      told_->low[work] = low;
      told_->high[work] = high;
    } else {
      told_->low[work] = told_->low[work] && low ? std::optional(*told_->low[work] + *low) : std::nullopt;
      told_->high[work] = told_->high[work] && high ? std::optional(*told_->high[work] + *high) : std::nullopt;
    }
  }

  const ActivitySide* side_;
  WorkEnergy* told_;
  std::vector<bool> seen_;
  Energy fitted_, unfitted_, greatest_merged_;
};

}  // namespace

WorkEnergy work_energy(const Profile& profile, const ActivitySide& side, const std::vector<std::optional<Estimate>>& row_energy,
                       const Recording* recording, const TraceClock& clock, Interval when) {
  WorkEnergy told;
  SideFit fit(side, told);
  std::optional<Columns> columns;
  std::vector<Activity> activities;
  for (std::size_t i = 0; i < side.rows.size(); ++i) {
    if (!row_energy[i]) continue;
    const Row& row = *side.rows[i];
    const bool own_meter = recording && row.quality <= Quality::integrated && row.minus.empty() && row.plus.empty() && !side.works.empty();
    auto readings = own_meter ? power_readings(*recording, row.component) : Result<MeterReadings>(MeterReadings{});
    if (!readings || readings->readings.empty()) {
      fit.by_time(row_energy[i]->value);
      continue;
    }
    if (!columns) {
      columns = columns_of(profile, side);
      activities = activities_of(profile, side, *columns, clock);
    }
    OperatorQuestion question{columns->names,
                              activities,
                              std::move(readings->readings),
                              when,
                              *row_energy[i],
                              side.device<0, clock.error> agreeing_clocks ? clock.error : Duration{},
                              readings->averaged};
    const OperatorPowers powers = activities.size() > most_activities ? OperatorPowers{} : solve_operators(question);
    if (powers.solved)
      fit.by_powers(powers, *columns, row_energy[i]->value);
    else
      fit.by_time(row_energy[i]->value);
  }
  fit.finish();
  return told;
}

}  // namespace joulery
