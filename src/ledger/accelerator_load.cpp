#include "ledger/accelerator_load.h"

#include <algorithm>

namespace joulery {
namespace {

bool burns(const Channel& channel) { return channel.measurand == Measurand::energy || channel.measurand == Measurand::power; }

bool is_load(const Channel& channel) {
  return channel.measurand == Measurand::utilisation && channel.behaviour == Behaviour::gauge &&
         channel.component.inside(Component("node/gpu"));
}

std::optional<double> share_of(const Channel& channel, const Series::Column& column, std::size_t i) {
  const MissingReason reason = column.reason.empty() ? MissingReason::none : column.reason[i];
  if (reason == MissingReason::gone) return 0.0;  // the runtime that would tell is part of the program that uses it
  if (reason != MissingReason::none) return std::nullopt;
  return std::clamp(static_cast<double>(column.raw[i]) * channel.unit, 0.0, 1.0);
}

}  // namespace

std::vector<AcceleratorLoad> accelerator_loads(const RecordedDevice& device, const std::vector<MonoTime>& times, const Series& series) {
  std::vector<AcceleratorLoad> loads;
  if (times.empty() || std::ranges::any_of(device.channels, burns)) return loads;
  for (std::size_t c = 0; c < device.channels.size(); ++c) {
    if (!is_load(device.channels[c])) continue;
    AcceleratorLoad load{device.name, device.channels[c].component, &times, {}};
    for (std::size_t i = 0; i < times.size(); ++i) load.share.push_back(share_of(device.channels[c], series.columns[c], i));
    loads.push_back(std::move(load));
  }
  return loads;
}

Track estimate_accelerator(const AcceleratorLoad& load, const AcceleratorPower& power) {
  std::vector<std::int64_t> value, low, high;
  double sums[3] = {};
  for (std::size_t i = 0; i < load.times->size(); ++i) {
    const double microseconds = i == 0 ? 0 : to_seconds((*load.times)[i] - (*load.times)[i - 1]) * 1e6;
    const PowerBand band = load.share[i] ? power.at(*load.share[i]) : power.anywhere();
    sums[0] += to_watts(band.value) * microseconds;
    sums[1] += to_watts(band.low) * microseconds;
    sums[2] += to_watts(band.high) * microseconds;
    value.push_back(to_whole(sums[0]));
    low.push_back(to_whole(sums[1]));
    high.push_back(to_whole(sums[2]));
  }
  return Track(*load.times, std::move(value), std::move(low), std::move(high), {});
}

}  // namespace joulery
