#include "publish/gone_series.h"

namespace joulery {

std::vector<MetricFamily> GoneSeries::since_last(std::span<const MetricFamily> families) {
  std::map<std::string, std::set<Labels>> now;
  for (const MetricFamily& family : families) {
    std::set<Labels>& series = now[family.name];
    for (const MetricSample& sample : family.samples) series.insert(sample.labels);
  }
  std::vector<MetricFamily> gone;
  for (const auto& [name, series] : told_) {
    const auto& left = now[name];
    MetricFamily family;
    family.name = name;
    for (const Labels& labels : series)
      if (!left.contains(labels)) family.samples.push_back({labels, MetricValue::real(std::bit_cast<double>(stale_marker))});
    if (!family.samples.empty()) gone.push_back(std::move(family));
  }
  told_ = std::move(now);
  return gone;
}

}  // namespace joulery
