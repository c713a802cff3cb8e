#include "judge/fleet.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace joulery {
namespace {

constexpr std::string_view own_labels[] = {"kind", "name", "quality"};  // what tells series of one node and component apart
constexpr const char* other = "(other)";

// Stays at the end of the range where a fleet has burnt more: make_fleet_report() tells.
std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<std::int64_t>::max() : -std::numeric_limits<std::int64_t>::max();
}
void add(Energy& sum, std::int64_t micro) { sum = microjoules(sum_of(sum.base_units(), micro)); }

std::int64_t micro_of(double value) { return std::isfinite(value) && std::abs(value) < 9e12 ? std::llround(value * 1e6) : 0; }

std::string label(const SeriesLabels& labels, const std::string& name) {
  const auto found = labels.find(name);
  return found == labels.end() ? std::string() : found->second;
}

std::optional<Quality> quality_of(const SeriesLabels& labels) {
  for (const Quality quality : {Quality::measured, Quality::integrated, Quality::derived, Quality::estimated})
    if (label(labels, "quality") == name_of(quality)) return quality;
  return std::nullopt;
}

// A node's component, whoever used it.
SeriesLabels place_of(SeriesLabels labels) {
  for (const std::string_view own : own_labels) labels.erase(std::string(own));
  return labels;
}

// Rows by the values of the labels, as they come.
class Table {
 public:
  explicit Table(const FleetChoice& choice) : choice_(choice) {}
  FleetRow& add(const SeriesRise& series, std::string_view special = "") {
    std::vector<std::string> names;
    for (const std::string& by : choice_.by) names.push_back(special.empty() ? label(series.labels, by) : "");
    Entry& entry = rows_[{std::string(special), names}];
    entry.row.names = names;
    joulery::add(entry.row.energy, series.micro);
    if (const auto quality = quality_of(series.labels)) joulery::add(entry.row.by_quality[*quality], series.micro);
    entry.nodes.insert(label(series.labels, choice_.node_label));
    entry.row.nodes = entry.nodes.size();
    return entry.row;
  }
  std::vector<FleetRow> rows() const {
    std::vector<FleetRow> all;
    for (const auto& [key, entry] : rows_) all.push_back(entry.row);
    const auto last = [](const FleetRow& row) { return row.idle || row.unattributed; };
    std::ranges::stable_sort(all, [&](const FleetRow& a, const FleetRow& b) {
      return std::pair(last(a), -a.energy.base_units()) < std::pair(last(b), -b.energy.base_units());
    });
    return all;
  }

 private:
  struct Entry {
    FleetRow row;
    std::set<std::string> nodes;
  };
  const FleetChoice& choice_;
  std::map<std::pair<std::string, std::vector<std::string>>, Entry> rows_;
};

// The lines of a kind with "(other)" as what is left of each place.
std::vector<SeriesRise> whole_kind(const FleetFacts& facts, const std::string& kind, std::size_t& inconsistent) {
  std::map<SeriesLabels, std::int64_t> left;
  for (const SeriesRise& series : facts.components) left[place_of(series.labels)] = sum_of(left[place_of(series.labels)], series.micro);
  std::vector<SeriesRise> lines;
  for (const std::string& each : {kind, std::string("idle"), std::string("unattributed")}) {
    const auto found = facts.kinds.find(each);
    if (found == facts.kinds.end()) continue;
    for (const SeriesRise& series : found->second) {
      if (label(series.labels, "name") == other) continue;
      std::int64_t& rest = left[place_of(series.labels)];
      rest = sum_of(rest, -series.micro);
      if (each == kind) lines.push_back(series);
    }
  }
  for (const auto& [place, micro] : left) {
    if (micro == 0) continue;
    inconsistent += micro < 0;
    SeriesRise rest{place, micro};
    rest.labels["kind"] = kind;
    rest.labels["name"] = other;
    lines.push_back(std::move(rest));
  }
  return lines;
}

void add_rest(const FleetFacts& facts, Table& table) {
  for (const auto& [kind, flag] : {std::pair("idle", &FleetRow::idle), std::pair("unattributed", &FleetRow::unattributed)})
    if (const auto found = facts.kinds.find(kind); found != facts.kinds.end())
      for (const SeriesRise& series : found->second) table.add(series, kind).*flag = true;
}

std::optional<Energy> sum_of_kind(const FleetFacts& facts, const std::string& kind) {
  const auto found = facts.kinds.find(kind);
  if (found == facts.kinds.end() || found->second.empty()) return std::nullopt;
  Energy sum;
  for (const SeriesRise& series : found->second) add(sum, series.micro);
  return sum;
}

// What a kind's consumers used, leaving out what belongs to none of the kind.
void add_kinds(const FleetFacts& facts, Table& table, std::size_t& inconsistent) {
  for (const auto& [kind, series] : facts.kinds) {
    if (kind == "idle" || kind == "unattributed" || series.empty()) continue;
    for (const SeriesRise& line : whole_kind(facts, kind, inconsistent))
      if (label(line.labels, "name") != "(none)") table.add(line);
  }
}

std::vector<SeriesRise> greatest_missing(const FleetFacts& facts) {
  std::vector<SeriesRise> missing;
  for (const SeriesRise& series : facts.missing_readings)
    if (series.micro > 0) missing.push_back(series);
  std::ranges::stable_sort(missing, std::ranges::greater(), &SeriesRise::micro);
  return missing;
}

}  // namespace

std::int64_t rise_of(std::optional<double> before, std::span<const CounterSample> samples) {
  std::int64_t rise = 0, last = before ? micro_of(*before) : 0;
  for (const CounterSample& sample : samples) {
    const std::int64_t now = micro_of(sample.value);
    rise = sum_of(rise, now >= last ? sum_of(now, -last) : now);
    last = now;
  }
  return rise;
}

FleetReport make_fleet_report(FleetFacts facts, FleetChoice choice) {
  FleetReport report;
  report.choice = std::move(choice);
  Table table(report.choice), whole(report.choice);
  const bool by_kind = std::ranges::find(report.choice.by, "kind") != report.choice.by.end();
  if (by_kind) {
    add_kinds(facts, table, report.inconsistent);
    add_rest(facts, table);
  } else if (!report.choice.kind.empty()) {
    for (const SeriesRise& line : whole_kind(facts, report.choice.kind, report.inconsistent)) table.add(line);
    add_rest(facts, table);
  } else {
    for (const SeriesRise& series : facts.components) table.add(series);
  }
  for (const SeriesRise& series : facts.components) report.total = whole.add(series, "total");
  report.too_much = report.total.energy.base_units() == std::numeric_limits<std::int64_t>::max();
  report.rows = table.rows();
  report.idle = sum_of_kind(facts, "idle");
  report.unattributed = sum_of_kind(facts, "unattributed");
  report.missing_readings = greatest_missing(facts);
  report.facts = std::move(facts);
  report.facts.components.clear();
  report.facts.kinds.clear();
  report.facts.missing_readings.clear();
  return report;
}

}  // namespace joulery
