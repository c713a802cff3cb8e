#include "judge/kpi_gain.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace joulery {
namespace {

// Parts of names, as frameworks and papers write them. A name that has one of the second row is better the less it is.
constexpr std::array more_is_better = {"acc",   "auc", "f1",  "precision", "recall",  "score",     "bleu",
                                       "rouge", "map", "iou", "r2",        "revenue", "throughput"};
constexpr std::array less_is_better = {"loss", "error", "err", "perplexity", "mse", "mae", "wer", "cer", "latency", "cost"};

bool has_one(const std::string& name, const auto& words) {
  return std::ranges::any_of(words, [&](const char* word) { return name.find(word) != std::string::npos; });
}

// At most `most` of `count` places, the first, the last and `best` among them.
std::vector<std::size_t> spread(std::size_t count, std::size_t best, std::size_t most) {
  std::vector<std::size_t> places;
  if (count <= most) {
    for (std::size_t i = 0; i < count; ++i) places.push_back(i);
    return places;
  }
  for (std::size_t i = 0; i + 1 < most; ++i) places.push_back(i * (count - 1) / (most - 2));
  places.push_back(best);
  std::ranges::sort(places);
  const auto again = std::ranges::unique(places);
  places.erase(again.begin(), again.end());
  return places;
}

std::size_t best_place(const std::vector<KpiValue>& values, bool more) {
  const auto less = [&](const KpiValue& a, const KpiValue& b) { return more ? a.value < b.value : a.value > b.value; };
  return static_cast<std::size_t>(std::ranges::max_element(values, less) - values.begin());  // the first of equals
}

}  // namespace

std::string better_of(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (has_one(lower, less_is_better)) return "less";
  return has_one(lower, more_is_better) ? "more" : "";
}

void add_gain(const Kpi& kpi, const std::function<double(MonoTime)>& since_start,
              const std::function<std::optional<double>(MonoTime)>& burnt, ReportKpi& line) {
  const std::vector<KpiValue>& values = kpi.values;
  line.count = static_cast<std::int64_t>(values.size());
  line.better = better_of(kpi.name);
  if (values.empty()) return;
  line.first = values.front().value;
  const std::size_t best = line.better.empty() ? values.size() - 1 : best_place(values, line.better == "more");
  for (const std::size_t i : spread(values.size(), best, most_kpi_points))
    line.points.push_back({since_start(values[i].at), values[i].value, burnt(values[i].at)});
  if (line.better.empty()) {
    line.gain_reason = "its name does not tell whether more or less of it is better";
    return;
  }
  const auto at_first = burnt(values.front().at), at_best = burnt(values[best].at);
  line.best = values[best].value;
  line.joules_at_best = at_best;
  line.gained = std::abs(values[best].value - values.front().value);
  line.point = std::ranges::all_of(values, [](const KpiValue& v) { return v.value >= 0 && v.value <= 1; }) ? 0.01 : 1.0;
  if (values.size() < 2)
    line.gain_reason = "reported once only";
  else if (*line.gained <= 0)
    line.gain_reason = "never better than at first";
  else if (!at_first || !at_best)
    line.gain_reason = line.reason.empty() ? "no energy of this run is known" : line.reason;
  else
    line.joules_per_point = (*at_best - *at_first) / (*line.gained / *line.point);
}

}  // namespace joulery
