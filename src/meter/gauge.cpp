#include "meter/gauge.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace joulery {
namespace {

// Readings without an outage between them: [first, last].
struct Stretch {
  std::size_t first = 0, last = 0;
};

struct Stretches {
  std::vector<Stretch> good;
  std::vector<Gap> gaps;
};

Stretches stretches_of(const std::vector<MonoTime>& times, std::span<const std::int64_t> raw, std::span<const MissingReason> reasons) {
  Stretches all;
  std::optional<MissingReason> outage;
  const auto gap = [&](MonoTime end) {
    const MonoTime begin = all.good.empty() ? times.front() : times[all.good.back().last];
    all.gaps.push_back({{begin, end}, std::string(describe(*outage)), true, std::nullopt});
  };
  for (std::size_t i = 0; i < raw.size(); ++i) {
    MissingReason reason = reasons.empty() ? MissingReason::none : reasons[i];
    if (reason == MissingReason::none && raw[i] < 0) reason = MissingReason::rubbish;
    if (reason != MissingReason::none) {
      if (!outage) outage = reason;
      continue;
    }
    if (outage) gap(times[i]);
    if (outage || all.good.empty()) all.good.push_back({i, i});
    all.good.back().last = i;
    outage.reset();
  }
  if (outage) gap(times.back());
  return all;
}

// Power over time as a line from point to point, and its integral so far.
class Integral {
 public:
  explicit Integral(const Channel& channel) : channel_(channel) {}

  // Time goes on, uncounted.
  void begin(MonoTime at, double watts) {
    at_ = at;
    watts_ = watts;
    keep();
  }
  void go_to(MonoTime at, double watts) {
    const double s = to_seconds(at - at_);
    total_ += (watts_ + watts) / 2 * s;
    at_ = at;
    watts_ = watts;
    keep();
  }
  // `step`: the time between the two readings that differ by this much.
  void add_variance(Duration step, double difference) {
    const Duration window = channel_.averaging_window;
    known_seconds_ += to_seconds(step);
    if (window == Duration{}) {
      // Where in the step power changed is not known: uniform over it, so the variance of its energy is (ΔP·s)²/12.
      variance_ += std::pow(difference * to_seconds(step), 2) / 12;
      return;
    }
    // One window is seen of each period: the variance of power, half the mean square of successive differences, times the share
    // that is not seen (a sample of a finite whole).
    const Duration period = std::max(step, channel_.update_period);
    const double unseen = 1 - std::min(1.0, window / period);
    variance_ += unseen * std::pow(difference * to_seconds(period), 2) / 2;
  }

  std::vector<MonoTime> times;
  std::vector<std::int64_t> microjoules;
  double roughness() const { return known_seconds_ > 0 ? variance_ / known_seconds_ : 0; }

 private:
  void keep() {
    times.push_back(at_);
    microjoules.push_back(to_whole(total_ * 1e6));
  }
  const Channel& channel_;
  MonoTime at_;
  double watts_ = 0, total_ = 0, variance_ = 0, known_seconds_ = 0;
};

void integrate(const Channel& channel, const std::vector<MonoTime>& times, std::span<const std::int64_t> raw, Stretch stretch,
               Integral& integral) {
  const auto power = [&](std::size_t i) { return static_cast<double>(raw[i]) * channel.unit; };
  const MonoTime begin = times[stretch.first], end = times[stretch.last];
  std::size_t kept = stretch.first;
  Duration back;
  if (channel.averaging_window > Duration{}) {
    while (kept <= stretch.last && times[kept] < begin + channel.averaging_window) ++kept;
    if (kept > stretch.last)
      kept = stretch.first;  // shorter than a window: the readings as they are say the most
    else
      back = nanoseconds((channel.averaging_window + channel.update_period).base_units() / 2);
  }
  const auto middle = [&](std::size_t i) { return std::max(begin, times[i] - back); };
  integral.begin(begin, power(kept));
  for (std::size_t i = kept; i <= stretch.last; ++i) {
    if (i > kept) integral.add_variance(times[i] - times[i - 1], power(i) - power(i - 1));
    if (i > stretch.first) integral.go_to(middle(i), power(i));
  }
  if (integral.times.back() < end) integral.go_to(end, power(stretch.last));
}

}  // namespace

Track integrate_gauge(const Channel& channel, const std::vector<MonoTime>& times, std::span<const std::int64_t> raw,
                      std::span<const MissingReason> reasons) {
  Stretches stretches = stretches_of(times, raw, reasons);
  Integral integral(channel);
  integral.times.reserve(times.size() + 2 * stretches.good.size());
  integral.microjoules.reserve(times.size() + 2 * stretches.good.size());
  for (const Stretch& stretch : stretches.good) integrate(channel, times, raw, stretch, integral);
  if (stretches.good.empty()) return Track(times, {}, 1e-6, channel.accuracy, Quality::integrated, std::move(stretches.gaps));
  // The track's time goes over all of the readings, also where the first or the last is missing.
  if (times.front() < integral.times.front()) {
    integral.times.insert(integral.times.begin(), times.front());
    integral.microjoules.insert(integral.microjoules.begin(), 0);
  }
  if (integral.times.back() < times.back()) {
    integral.times.push_back(times.back());
    integral.microjoules.push_back(integral.microjoules.back());
  }
  auto own = std::make_unique<const std::vector<MonoTime>>(std::move(integral.times));
  const Duration blur = channel.averaging_window > Duration{} ? channel.averaging_window + channel.update_period : Duration{};
  Track track(*own, std::move(integral.microjoules), 1e-6, channel.accuracy, Quality::integrated, std::move(stretches.gaps),
              integral.roughness(), blur);
  track.keep(std::move(own));
  return track;
}

}  // namespace joulery
