#include "app/agent/store_history.h"

#include <algorithm>
#include <array>
#include <map>

#include "record/store/store_reader.h"

namespace joulery {
namespace {

constexpr std::int64_t most_steps = 20'000;

struct Asked {
  std::string stored;  // the name in the store
  bool watts = false;
};

Result<Asked> understand(std::string name) {
  constexpr std::array<std::string_view, 3> known{"component", "component_overlap", "consumer"};
  const std::string asked = name;
  if (name.starts_with("joulery_")) name.erase(0, 8);
  if (name.ends_with("_total")) name.erase(name.size() - 6);
  const bool watts = name.ends_with("_watts"), joules = name.ends_with("_joules");
  const std::string of = name.substr(0, name.size() - (watts ? 6 : joules ? 7 : 0));
  if ((!watts && !joules) || std::ranges::find(known, of) == known.end())
    return fail(ErrorCode::not_found, "no such series is stored", asked,
                "component_watts, component_joules, component_overlap_watts, component_overlap_joules, consumer_watts, consumer_joules");
  return Asked{of + "_joules", watts};
}

StoreQuery question(const HistoryQuery& query, const Asked& asked) {
  StoreQuery question;
  question.series.name = asked.stored;
  for (const auto& [label, value] : query.labels) question.series.labels.push_back({label, value, false});
  question.from = query.from;
  question.to = query.to;
  question.step = query.step;
  return question;
}

HistorySeries told(const StoredSeries& stored, const HistoryQuery& query, bool watts) {
  HistorySeries series{stored.key.labels, {}, ""};
  std::map<std::int64_t, const StorePoint*> at;
  for (const StorePoint& point : stored.points) at[point.begin.ns] = &point;
  const std::int64_t step = query.step.base_units();
  bool gaps = false;
  for (std::int64_t t = query.from.ns / step * step; t < query.to.ns; t += step) {
    const auto found = at.find(t);
    std::optional<double> value;
    if (found != at.end()) value = watts ? rate_of(stored.key, *found->second) : std::optional(total_of(stored.key, *found->second));
    gaps = gaps || !value;
    series.points.push_back({{t}, value});
  }
  if (gaps) series.reason = "nothing is stored of some steps";
  return series;
}

}  // namespace

Result<std::vector<HistorySeries>> StoreHistory::query(const HistoryQuery& query) {
  const auto asked = understand(query.series);
  if (!asked) return std::unexpected(asked.error());
  if (query.step < milliseconds(1000)) return fail(ErrorCode::usage, "a step is at least one second", "step");
  if ((query.to - query.from).base_units() / query.step.base_units() > most_steps)
    return fail(ErrorCode::usage, "too many steps", "step", "ask for a longer step or a shorter time");
  const auto reader = StoreReader::open(folder_);
  if (!reader) return std::unexpected(reader.error());
  const auto answer = reader->query(question(query, *asked));
  if (!answer) return std::unexpected(answer.error());
  std::vector<HistorySeries> all;
  for (const StoredSeries& stored : answer->series) all.push_back(told(stored, query, asked->watts));
  return all;
}

}  // namespace joulery
