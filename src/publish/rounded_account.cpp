#include "publish/rounded_account.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

namespace joulery {
namespace {

constexpr const char *ended = "(ended)", *busy_name = "(busy)";

// A consumer is told at most this many steps more than it used; beyond, it is another one of the same name.
constexpr std::int64_t a_few = 10;

// What is shared among all kinds alike, the rest of a component being what its consumers used.
bool is_common(ConsumerKind kind) { return kind == ConsumerKind::idle || kind == ConsumerKind::unattributed; }

Energy sum_of(const ComponentAccount& component) {
  Energy sum;
  for (const auto& [quality, energy] : component.energy) sum += energy;
  return sum;
}

struct Part {
  std::int64_t exact = 0, told = 0;
  std::int64_t lag() const { return exact - told; }
};

// Gives `units` steps to the parts, each only more than before: whole steps that are due, then the others to who lags most.
void allot(std::int64_t units, std::int64_t step, std::vector<Part>& parts) {
  if (units <= 0 || parts.empty()) return;
  const auto lags_more = [](const Part* a, const Part* b) { return a->lag() > b->lag(); };
  std::vector<Part*> all, due;
  all.reserve(parts.size());
  for (Part& part : parts) {
    all.push_back(&part);
    if (part.lag() >= step) due.push_back(&part);
  }
  std::ranges::sort(due, lags_more);
  for (Part* part : due) {
    const std::int64_t given = std::min(units, part->lag() / step);
    part->told += given * step;
    units -= given;
  }
  const auto count = static_cast<std::int64_t>(all.size());
  std::ranges::nth_element(all, all.begin() + units % count, lags_more);
  for (std::int64_t i = 0; i < count && units > 0; ++i)
    all[static_cast<std::size_t>(i)]->told += (units / count + (i < units % count ? 1 : 0)) * step;
}

}  // namespace

Energy RoundedAccount::floor(Energy energy) const {
  std::int64_t units = energy.base_units() / step_;
  if (energy.base_units() % step_ < 0) --units;
  return microjoules(units * step_);
}

void RoundedAccount::round(std::optional<Power>& power) const {
  if (!power) return;
  const double steps_a_watt = std::nearbyint(1 / to_watts(power_step_));
  power = watts(std::nearbyint(to_watts(*power) * steps_a_watt) / steps_a_watt);
}

void RoundedAccount::round(ComponentAccount& component) const {
  for (auto& known : component.energy) known.second = floor(known.second);
  round(component.power);
  round(component.idle);
}

// Keeps the memory beside the components; forgets it where the account began anew.
void RoundedAccount::follow(const NodeAccount& exact) {
  std::vector<std::string> components;
  std::vector<Energy> sums;
  std::vector<std::size_t> places;  // of each component before
  for (const ComponentAccount& component : exact.components) {
    places.push_back(static_cast<std::size_t>(std::ranges::find(components_, component.component) - components_.begin()));
    components.push_back(component.component);
    sums.push_back(sum_of(component));
    if (places.back() >= sums_.size() || sums.back() >= sums_[places.back()]) continue;
    told_.clear();
    seen_.clear();
  }
  if (components != components_) {
    for (auto& kind : told_) {
      for (auto& [name, row] : kind.second) {
        Told moved(components.size());
        for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = places[i] < row.told.size() ? row.told[places[i]] : 0;
        row.told = std::move(moved);
      }
    }
  }
  components_ = std::move(components);
  sums_ = std::move(sums);
}

RoundedAccount::Row& RoundedAccount::row_of(ConsumerKind kind, std::string_view name) {
  auto& rows = told_[kind];
  const auto found = rows.find(name);
  Row& row = found == rows.end() ? rows[std::string(name)] : found->second;
  row.told.resize(components_.size());
  return row;
}

// A name that began anew is known by having used less than what was told.
bool RoundedAccount::is_another(const ConsumerAccount& consumer, const Told& told) const {
  for (std::size_t i = 0; i < told.size(); ++i)
    if (consumer.energy[i].base_units() + a_few * step_ < told[i]) return true;
  return false;
}

std::vector<RoundedAccount::Row*> RoundedAccount::rows_of(const NodeAccount& account) {
  std::vector<Row*> rows;
  rows.reserve(account.consumers.size());
  for (const ConsumerAccount& consumer : account.consumers) {
    const std::size_t place = rows.size();
    const bool again = consumer.version != 0 && place < seen_.size() && seen_[place].version == consumer.version;
    rows.push_back(again ? seen_[place].row : &row_of(consumer.kind, consumer.name));
  }
  seen_.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) seen_.push_back({account.consumers[i].version, rows[i]});
  return rows;
}

// The consumers, each with what was told of it. What was told of those that are gone goes to "(ended)", as their energy does; so
// does that of a name that began anew.
std::vector<RoundedAccount::Line> RoundedAccount::lines_of(NodeAccount& account) {
  ++call_;
  std::map<ConsumerKind, Told> gone;
  const auto let_go = [&](ConsumerKind kind, const Told& told) {
    Told& sums = gone[kind];
    sums.resize(components_.size());
    for (std::size_t i = 0; i < told.size(); ++i) sums[i] += told[i];
  };
  std::vector<Row*> rows = rows_of(account);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ConsumerAccount& consumer = account.consumers[i];
    Row& row = *rows[i];
    row.call = call_;
    if (consumer.name == ended || !is_another(consumer, row.told)) continue;
    let_go(consumer.kind, row.told);
    row.told.assign(components_.size(), 0);
  }
  for (auto& [kind, known] : told_) {
    std::erase_if(known, [&](const auto& entry) {
      if (entry.second.call == call_ || entry.first == busy_name) return false;
      let_go(kind, entry.second.told);
      return true;
    });
  }
  for (const auto& [kind, sums] : gone) {
    Row& row = row_of(kind, ended);
    for (std::size_t i = 0; i < sums.size(); ++i) row.told[i] += sums[i];
    if (std::exchange(row.call, call_) == call_) continue;
    rows.push_back(&row);
    account.consumers.push_back({kind, ended, std::vector<Energy>(components_.size()), std::nullopt, Duration(), {}});
  }
  std::vector<Line> lines;
  lines.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) lines.push_back({&account.consumers[i], &rows[i]->told});
  return lines;
}

// Shares the sums of the components out, from what was told of each consumer before and what each has used.
void RoundedAccount::share(std::span<const Line> lines, const std::vector<Energy>& sums) const {
  std::vector<Part> parts(lines.size());
  for (std::size_t i = 0; i < components_.size(); ++i) {
    std::int64_t left = sums[i].base_units();
    for (std::size_t c = 0; c < lines.size(); ++c) {
      parts[c] = {lines[c].consumer->energy[i].base_units(), (*lines[c].told)[i]};
      left -= parts[c].told;
    }
    allot(left / step_, step_, parts);
    for (std::size_t c = 0; c < lines.size(); ++c) lines[c].consumer->energy[i] = microjoules((*lines[c].told)[i] = parts[c].told);
  }
}

void RoundedAccount::round_consumers(NodeAccount& account) {
  ConsumerAccount busy{ConsumerKind::idle, busy_name, sums_, std::nullopt, Duration(), {}};
  std::vector<Line> common{{&busy, &row_of(busy.kind, busy_name).told}};
  std::map<ConsumerKind, std::vector<Line>> kinds;
  for (const Line& line : lines_of(account)) {
    ConsumerAccount& consumer = *line.consumer;
    round(consumer.power);
    if (consumer.kind == ConsumerKind::tag)
      for (Energy& energy : consumer.energy) energy = floor(energy);
    else if (!is_common(consumer.kind))
      kinds[consumer.kind].push_back(line);
    else
      common.push_back(line);
  }
  for (std::size_t i = 0; i < sums_.size(); ++i)
    for (const Line& line : std::span(common).subspan(1)) busy.energy[i] -= line.consumer->energy[i];
  std::vector<Energy> sums;
  sums.reserve(account.components.size());
  for (const ComponentAccount& component : account.components) sums.push_back(sum_of(component));
  share(common, sums);
  for (const auto& [kind, lines] : kinds) share(lines, busy.energy);
}

void RoundedAccount::round(NodeAccount& account) {
  follow(account);
  for (ConsumerAccount& consumer : account.consumers) consumer.energy.resize(components_.size());
  for (ComponentAccount& component : account.components) round(component);
  for (ComponentAccount& component : account.overlaps) round(component);
  round_consumers(account);
}

NodeAccount RoundedAccount::of(NodeAccount exact) {
  round(exact);
  return exact;
}

}  // namespace joulery
