#include "ledger/estimate.h"

#include "ledger/utilisation.h"

namespace joulery {
namespace {

// Accumulates power bands over time into the three columns of an estimated Track.
class Accumulator {
 public:
  void add(const PowerBand& band, Duration length) {
    const double s = to_seconds(length) * 1e6;
    value_sum_ += to_watts(band.value) * s;
    low_sum_ += to_watts(band.low) * s;
    high_sum_ += to_watts(band.high) * s;
    push();
  }
  void push() {
    value_.push_back(to_whole(value_sum_));
    low_.push_back(to_whole(low_sum_));
    high_.push_back(to_whole(high_sum_));
  }
  Track track(const std::vector<MonoTime>& times) { return Track(times, std::move(value_), std::move(low_), std::move(high_), {}); }

 private:
  double value_sum_ = 0, low_sum_ = 0, high_sum_ = 0;
  std::vector<std::int64_t> value_, low_, high_;
};

}  // namespace

NodeEstimate estimate_node(const CpuActivity& activity, const PowerModel& model) {
  const std::vector<double> busy = utilisation(*activity.times, activity.busy_seconds, activity.threads);
  Accumulator package, memory, rest;
  for (std::size_t i = 0; i < busy.size(); ++i) {
    const Duration length = i == 0 ? Duration{} : (*activity.times)[i] - (*activity.times)[i - 1];
    const PowerSplit power = model.split(busy[i]);
    package.add(power.package, length);
    memory.add(power.memory, length);
    rest.add(power.rest, length);
  }
  return {package.track(*activity.times), memory.track(*activity.times), rest.track(*activity.times)};
}

}  // namespace joulery
