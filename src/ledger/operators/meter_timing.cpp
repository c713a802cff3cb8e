#include "ledger/operators/meter_timing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ledger/operators/grouping.h"

namespace joulery {
namespace {

constexpr double delay_certain = 20;  // twice the logarithm of how much likelier a delay must be than none
// The same of windows. Each has as many columns to fit noise with, so chance alone makes this much of a difference, and what is less apart is not
// told apart.
constexpr double window_certain = 20;
constexpr double doubt = 0.4;  // how likely another window is that the readings do not speak against
// Averaging windows that sensors of GPUs were found to have. Source: Yang, Adamek, Armour, Part-time power measurements, arXiv 2312.02741.
const Duration known_windows[] = {milliseconds(10), milliseconds(25), milliseconds(100), seconds(1)};

Duration typical_window(std::span<const PowerReading> readings) {
  std::vector<std::int64_t> lengths;
  for (const PowerReading& reading : readings) lengths.push_back(reading.when.length().base_units());
  if (lengths.empty()) return {};
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return nanoseconds(*middle);
}

// The least misfit of all delays: on a grid of a sixteenth of a window, for what repeats with the steps has many least ones, and then
// finer around the best. None where no delay is clearly better than none.
class DelaySearch {
 public:
  DelaySearch(const OperatorQuestion& q, std::span<const PowerReading> readings)
      : q_(q), readings_(readings), none_(misfit_at(0)), least_(none_) {}

  Duration best() {
    const std::int64_t most = q_.most_delay.base_units();
    std::int64_t step = std::max<std::int64_t>(1000, std::min(typical_window(readings_).base_units() / 16, most / 2));
    for (std::int64_t ns = -(most / step) * step; ns <= most; ns += step) look(ns);
    for (step /= 2; step >= 1000; step /= 2) {
      const std::int64_t around = best_;
      look(std::max(around - step, -most));
      look(std::min(around + step, most));
    }
    const bool clear = least_ > 0 ? static_cast<double>(readings_.size()) * std::log(none_ / least_) > delay_certain : none_ > 0;
    if (!clear) least_ = none_, best_ = 0;
    return nanoseconds(best_);
  }
  double least() const { return least_; }

 private:
  double misfit_at(std::int64_t ns) const {
    const Mixes mixes = mixes_at(q_, readings_, nanoseconds(ns));
    return misfit(mixes.shares, mixes.kinds + 1, mixes.watts);
  }
  void look(std::int64_t ns) {
    const double value = misfit_at(ns);
    if (value < least_) least_ = value, best_ = ns;
  }

  const OperatorQuestion& q_;
  std::span<const PowerReading> readings_;
  double none_, least_;
  std::int64_t best_ = 0;
};

// What the readings would be more if the delay were a millisecond more: as one more column it lets the delay, which is not known exactly,
// be solved for with the powers, so that their intervals hold what is not known of it.
std::vector<double> slope_of_delay(const OperatorQuestion& q, std::span<const PowerReading> readings, Duration delay,
                                   std::span<const double> watts_of_kinds) {
  const Duration step = nanoseconds(std::max<std::int64_t>(1000, typical_window(readings).base_units() / 100));
  const Mixes before = mixes_at(q, readings, delay - step), after = mixes_at(q, readings, delay + step);
  std::vector<double> slope(before.rows());
  for (std::size_t i = 0; i < slope.size(); ++i)
    slope[i] = (mean_of(after.row(i), watts_of_kinds) - mean_of(before.row(i), watts_of_kinds)) / (2e3 * to_seconds(step));
  return slope;
}

struct TimingFit {
  Duration delay, window;
  double misfit = 0;
};

TimingFit fit_delay(const OperatorQuestion& q, std::span<const PowerReading> readings, Duration window) {
  DelaySearch search(q, readings);
  const Duration delay = q.most_delay > Duration{} ? search.best() : Duration{};
  return {delay, window, search.least()};
}

// What is said of the meter, and every window that it may have instead; all on the same readings: those that the longest leaves within
// the time.
std::vector<TimingFit> fits_of(const OperatorQuestion& q) {
  if (!q.averaged) return {fit_delay(q, q.readings, {})};
  const Duration said = typical_window(q.readings);
  const Duration longest = std::min(std::max(said, seconds(1)), nanoseconds(q.when.length().base_units() / 4));
  std::vector<PowerReading> tried;
  for (const PowerReading& reading : q.readings)
    if (reading.when.end >= q.when.begin + longest + q.most_delay) tried.push_back(reading);
  std::vector<TimingFit> fits{fit_delay(q, tried, {})};
  for (const Duration window : known_windows) {
    if (window > longest || std::abs(window / said - 1) < 0.2) continue;
    set_window(tried, window);
    fits.push_back(fit_delay(q, tried, window));
  }
  return fits;
}

}  // namespace

void set_window(std::vector<PowerReading>& readings, Duration window) {
  if (window <= Duration{}) return;
  for (PowerReading& reading : readings) reading.when.begin = reading.when.end - window;
}

Mixes mixes_at(const OperatorQuestion& q, std::span<const PowerReading> readings, Duration late) {
  return mixes_of(q.kinds.size(), q.activities, readings, q.when, {late, q.most_delay}, q.on_static_power);
}

Regression regress_at(const OperatorQuestion& q, std::span<const PowerReading> readings, const Mixes& mixes, Duration delay) {
  const std::size_t width = mixes.kinds + 1;
  Regression plain = regress(mixes.shares, width, mixes.watts);
  if (q.most_delay <= Duration{} || plain.value.empty()) return plain;
  const std::vector<double> slope = slope_of_delay(q, readings, delay, plain.value);
  std::vector<double> wider;
  wider.reserve(mixes.shares.size() + slope.size());
  for (std::size_t i = 0; i < mixes.rows(); ++i) {
    const auto row = mixes.row(i);
    wider.insert(wider.end(), row.begin(), row.end());
    wider.push_back(slope[i]);
  }
  Regression solved = regress(wider, width + 1, mixes.watts);
  return solved.value.empty() ? plain : solved;
}

MeterTiming find_timing(const OperatorQuestion& question) {
  if (question.readings.size() < question.kinds.size() + 20) return {};
  const std::vector<TimingFit> fits = fits_of(question);
  if (fits.size() == 1) return {fits[0].delay, {}, {}};
  // Readings whose errors last (a drift, powers that change) say less than as many independent ones.
  const Mixes mixes = mixes_at(question, question.readings, fits[0].delay);
  const Regression said = regress(mixes.shares, mixes.kinds + 1, mixes.watts);
  const double told = said.roughness > 0 ? std::min(1.0, said.noise * said.noise / (said.roughness * said.roughness)) : 1;
  // Twice the logarithm of how much likelier a fit is than another, with normal errors whose size is not known.
  const auto likelier = [&](const TimingFit& fit, const TimingFit& than) {
    if (fit.misfit <= 0) return than.misfit > 0 ? std::numeric_limits<double>::infinity() : 0;
    return told * static_cast<double>(question.readings.size()) * std::log(than.misfit / fit.misfit);
  };
  const auto least = std::ranges::min_element(fits, {}, &TimingFit::misfit);
  const TimingFit chosen = likelier(*least, fits[0]) > window_certain ? *least : fits[0];
  MeterTiming timing{chosen.delay, chosen.window, {}};
  for (const TimingFit& fit : fits)
    if (fit.window != chosen.window && likelier(*least, fit) < window_certain) timing.doubts.push_back({fit.delay, fit.window, doubt});
  return timing;
}

}  // namespace joulery
