#include "publish/gone_series.h"

namespace joulery {

std::vector<MetricFamily> GoneSeries::since_last(std::span<const MetricFamily> families) {
  std::map<std::string, Told> now;
  for (const MetricFamily& family : families) {
    Told& told = now[family.name];
    told.head = {family.name, family.type, family.unit, family.help, {}};
    for (const MetricSample& sample : family.samples) told.series.insert(sample.labels);
  }
  std::vector<MetricFamily> gone;
  for (const auto& [name, told] : told_) {
    const auto left = now.find(name);
    MetricFamily family = told.head;
    for (const Labels& labels : told.series)
      if (left == now.end() || !left->second.series.contains(labels))
        family.samples.push_back({labels, MetricValue::real(std::bit_cast<double>(stale_marker))});
    if (!family.samples.empty()) gone.push_back(std::move(family));
  }
  told_ = std::move(now);
  return gone;
}

}  // namespace joulery
