#include "app/store_report.h"

#include <algorithm>
#include <map>

#include "core/near_names.h"
#include "ledger/node_account.h"

namespace joulery {
namespace {

const std::string component_series = "component_joules", consumer_series = "consumer_joules";

std::vector<std::string> consumer_kinds() {
  std::vector<std::string> names;
  for (unsigned kind = 0; kind < static_cast<unsigned>(ConsumerKind::tag); ++kind)
    names.emplace_back(name_of(static_cast<ConsumerKind>(kind)));
  return names;
}

// Whole microjoules, for units that are: 20 mJ is 20,000.
Energy energy_of(const StoredSeries& series) {
  std::int64_t count = 0;
  for (const StorePoint& point : series.points) count += point.count;
  return microjoules(count * to_whole(series.key.unit * 1e6));
}

Energy energy_of(const StoreAnswer& answer) {
  Energy sum;
  for (const auto& series : answer.series) sum += energy_of(series);
  return sum;
}

Result<StoreAnswer> ask(const StoreReader& reader, const StoreBill& bill, const std::string& name, std::vector<SeriesMatcher::Label> labels,
                        std::vector<std::string> by) {
  return reader.query({{name, std::move(labels)}, bill.from, bill.to, {}, std::move(by)});
}

Result<std::string> chosen_kind(const std::vector<std::string>& by, const std::string& given) {
  const auto kinds = consumer_kinds();
  const auto known = [&](const std::string& name) { return std::find(kinds.begin(), kinds.end(), name) != kinds.end(); };
  if (!given.empty() && !known(given)) {
    const std::string nearest = nearest_name(given, kinds);
    return fail(ErrorCode::usage, "no such kind of consumer", given,
                nearest.empty() ? "process, container, job, user …" : "did you mean " + nearest + "?");
  }
  if (!given.empty()) return given;
  if (by.size() == 1 && by[0] == "kind") return std::string();
  // Processes have the labels of all that they belong to; a job that several teams share, or none, would have one team's.
  return by.size() == 1 && known(by[0]) ? by[0] : std::string(name_of(ConsumerKind::process));
}

Result<void> add_components(const StoreReader& reader, StoreBill& bill) {
  const auto answer = ask(reader, bill, component_series, {}, {"quality"});
  if (!answer) return std::unexpected(answer.error());
  if (answer->series.empty())
    return fail(ErrorCode::not_found, "the store has no energy of that time", reader.folder(), "joulery query --list --from …");
  bill.total = energy_of(*answer);
  Energy estimated;
  for (const auto& series : answer->series) {
    if (series.key.labels.at("quality") == "estimated") estimated += energy_of(series);
  }
  if (estimated != Energy{}) bill.estimated = estimated;
  bill.covered = answer->covered_time();
  bill.missing = std::max(Duration{}, (std::min(bill.to, wall_now()) - bill.from) - bill.covered);
  bill.notes = answer->notes;
  if (answer->damaged > 0) bill.notes.push_back("part of the store is damaged: what it held is missing");
  return {};
}

// A consumer is named by its kind's own name where that is asked for: the job of kind job.
std::string label_for(const std::string& key, const std::string& kind) { return key == kind ? "name" : key; }

Result<void> add_consumers(const StoreReader& reader, StoreBill& bill) {
  std::vector<std::string> labels;
  for (const std::string& key : bill.by) labels.push_back(label_for(key, bill.kind));
  std::vector<SeriesMatcher::Label> which;
  if (!bill.kind.empty()) which.push_back({"kind", bill.kind});
  for (const auto own : {ConsumerKind::idle, ConsumerKind::unattributed}) which.push_back({"kind", std::string(name_of(own)), true});
  const auto answer = ask(reader, bill, consumer_series, which, labels);
  if (!answer) return std::unexpected(answer.error());
  std::map<std::vector<std::string>, Energy> rows;  // series of several units may share a row
  for (const auto& series : answer->series) {
    std::vector<std::string> keys;
    for (const std::string& label : labels) {
      const std::string& value = series.key.labels.at(label);
      keys.push_back(value.empty() ? "(none)" : value);
    }
    rows[keys] += energy_of(series);
  }
  for (const auto& [keys, energy] : rows) bill.rows.push_back({keys, energy});
  std::stable_sort(bill.rows.begin(), bill.rows.end(), [](const StoreBillRow& a, const StoreBillRow& b) { return a.energy > b.energy; });
  return {};
}

// Each kind by itself fills what is neither idle nor unattributed: where every kind is a row, one of them is taken. Not tags:
// who has several is in each of them, who has none in none.
Energy left_over(const StoreBill& bill) {
  Energy rest = bill.total - bill.idle;
  for (const StoreBillRow& row : bill.rows) {
    if (bill.kind.empty() && row.keys.front() == name_of(ConsumerKind::tag)) continue;
    rest -= row.energy;
    if (bill.kind.empty()) break;
  }
  return rest;
}

}  // namespace

Result<StoreBill> bill_from_store(const StoreReader& reader, WallTime from, WallTime to, std::vector<std::string> by,
                                  const std::string& kind, const FactorConfig& factors) {
  StoreBill bill;
  bill.from = from, bill.to = to;
  bill.by = by.empty() ? std::vector<std::string>{"kind"} : std::move(by);
  auto chosen = chosen_kind(bill.by, kind);
  if (!chosen) return std::unexpected(chosen.error());
  bill.kind = std::move(*chosen);
  auto carbon = choose_carbon_factor(factors.carbon);
  if (!carbon) return std::unexpected(carbon.error());
  bill.carbon = std::move(*carbon);
  bill.tariff = factors.tariff;
  if (auto done = add_components(reader, bill); !done) return std::unexpected(done.error());
  if (auto done = add_consumers(reader, bill); !done) return std::unexpected(done.error());
  const auto idle = ask(reader, bill, consumer_series, {{"kind", std::string(name_of(ConsumerKind::idle))}}, {});
  if (!idle) return std::unexpected(idle.error());
  bill.idle = energy_of(*idle);
  bill.idle_known = !idle->series.empty();
  if (!bill.idle_known)
    bill.notes.push_back("no static power was learnt in this time: what burns without any work is in the consumers' lines");
  bill.unattributed = left_over(bill);
  return bill;
}

}  // namespace joulery
