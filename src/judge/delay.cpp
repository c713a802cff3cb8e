#include "judge/delay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/units.h"

namespace joulery {
namespace {

constexpr double least_correlation = 0.5;    // below it, what the meters share is less than a quarter of what they show
constexpr double chi_squared_90 = 2.706;     // 90 % point, one degree of freedom
constexpr std::size_t least_pairs = 20;
constexpr double least_swing = 0.02;         // standard deviation over mean power

// Sums over the pairs of one lag.
struct Moments {
  std::size_t count = 0;
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0;

  double variance_x() const { return xx / n() - x / n() * (x / n()); }
  double variance_y() const { return yy / n() - y / n() * (y / n()); }
  double correlation() const {
    const double spread = std::sqrt(std::max(0.0, variance_x()) * std::max(0.0, variance_y()));
    return spread > 0 ? std::clamp((xy / n() - x / n() * (y / n())) / spread, -1.0, 1.0) : 0;
  }
  double n() const { return static_cast<double>(count); }
};

// Two series and the slots of the meter that have a partner in the reference at every lag: likelihoods are compared on the
// same values of the meter.
struct Compared {
  std::span<const double> reference, meter;
  std::ptrdiff_t most;                       // lag

  // The pairs (reference at i - lag, meter at i), both known.
  template <class Take>
  void for_pairs(std::ptrdiff_t lag, Take take) const {
    const auto size = static_cast<std::ptrdiff_t>(std::min(reference.size(), meter.size()));
    for (std::ptrdiff_t i = most; i < size - most; ++i) {
      const double x = reference[static_cast<std::size_t>(i - lag)], y = meter[static_cast<std::size_t>(i)];
      if (std::isfinite(x) && std::isfinite(y)) take(x, y);
    }
  }
};

Moments moments_at(const Compared& compared, std::ptrdiff_t lag) {
  double origin_x = 0, origin_y = 0;  // near the values, so that squares keep their digits
  bool first = true;
  Moments sums;
  compared.for_pairs(lag, [&](double x, double y) {
    if (first) origin_x = x, origin_y = y, first = false;
    x -= origin_x, y -= origin_y;
    ++sums.count;
    sums.x += x, sums.y += y, sums.xx += x * x, sums.yy += y * y, sums.xy += x * y;
  });
  return sums;
}

// How many independent values the residuals of the best fit hold: n (1 - r) / (1 + r), with r their correlation from one
// slot to the next.
double independent_values(const Compared& compared, std::ptrdiff_t lag, const Moments& m) {
  const double slope = m.variance_x() > 0 ? m.correlation() * std::sqrt(m.variance_y() / m.variance_x()) : 0;
  double origin_x = 0, origin_y = 0, before = 0, products = 0, squares = 0;
  bool first = true;
  compared.for_pairs(lag, [&](double x, double y) {
    if (first) origin_x = x, origin_y = y;
    const double left = (y - origin_y - m.y / m.n()) - slope * (x - origin_x - m.x / m.n());
    if (!first) products += left * before;
    squares += left * left;
    before = left;
    first = false;
  });
  const double memory = squares > 0 ? std::clamp(products / squares, 0.0, 0.999) : 0;
  return std::max(3.0, m.n() * (1 - memory) / (1 + memory));
}

// How known swings of this series compare with its level; 0 where it is flat.
double swing(std::span<const double> series) {
  double sum = 0, count = 0;
  for (const double w : series)
    if (std::isfinite(w)) sum += w, ++count;
  if (count < 2 || sum <= 0) return 0;
  const double mean = sum / count;
  double squares = 0;
  for (const double w : series)
    if (std::isfinite(w)) squares += (w - mean) * (w - mean);
  return std::sqrt(squares / count) / mean;
}

// Where between its neighbours the top of a parabola through three values lies, -0.5..0.5.
double vertex(double before, double at, double after) {
  const double bend = before - 2 * at + after;
  return bend < 0 ? std::clamp((before - after) / (2 * bend), -0.5, 0.5) : 0;
}

DelayEstimate none(std::string reason, std::optional<double> correlation = std::nullopt) {
  return {std::nullopt, correlation, std::move(reason)};
}

// The correlation at every lag from -most to most; NaN where too few pairs are known.
std::vector<double> correlations(const Compared& compared) {
  std::vector<double> all;
  for (std::ptrdiff_t lag = -compared.most; lag <= compared.most; ++lag) {
    const Moments m = moments_at(compared, lag);
    all.push_back(m.count >= least_pairs ? m.correlation() : std::nan(""));
  }
  return all;
}

// The lags (as indices) that fit no worse than chance allows: their first and last, and whether they hang together.
struct Plausible {
  std::size_t first, last;
  bool connected;
};
Plausible plausible_lags(const std::vector<double>& r, std::size_t best, double values) {
  const double least = std::max(1e-12, 1 - r[best] * r[best]);
  const auto fits = [&](std::size_t i) {
    return std::isfinite(r[i]) && r[i] > 0 && values * std::log(std::max(1e-12, 1 - r[i] * r[i]) / least) <= chi_squared_90;
  };
  Plausible found{best, best, true};
  while (found.first > 0 && fits(found.first - 1)) --found.first;
  while (found.last + 1 < r.size() && fits(found.last + 1)) ++found.last;
  for (std::size_t i = 0; i < r.size(); ++i)
    if ((i < found.first || i > found.last) && fits(i)) found.connected = false;
  return found;
}

}  // namespace

DelayEstimate find_delay(std::span<const double> reference, std::span<const double> meter, Duration step, Duration most,
                         Duration resolution) {
  if (step <= Duration{} || std::min(reference.size(), meter.size()) < least_pairs) return none("too few readings to compare");
  if (swing(reference) < least_swing) return none("the load hardly changed: a flat power tells no delay");
  if (swing(meter) < least_swing / 4) return none("this meter's power hardly changed: a flat power tells no delay");
  const auto lags = static_cast<std::ptrdiff_t>(std::max<std::int64_t>(1, most.base_units() / step.base_units()));
  const Compared compared{reference, meter, lags};
  const std::vector<double> r = correlations(compared);
  const auto top =
      std::ranges::max_element(r, [](double a, double b) { return (std::isfinite(a) ? a : -2) < (std::isfinite(b) ? b : -2); });
  if (!std::isfinite(*top)) return none("too few readings to compare");
  const auto best = static_cast<std::size_t>(top - r.begin());
  const std::ptrdiff_t lag = static_cast<std::ptrdiff_t>(best) - lags;
  if (*top < least_correlation) return none("this meter does not follow the load: its power changes for reasons of its own", *top);
  if (best == 0 || best + 1 == r.size()) return none(fmt::format("no best lag within {}", to_text(most)), *top);
  const double values = independent_values(compared, lag, moments_at(compared, lag));
  const Plausible range = plausible_lags(r, best, values);
  if (!range.connected) return none("the load repeats itself: several lags fit alike", *top);
  if (range.first == 0 || range.last + 1 == r.size()) return none("the load changes too slowly to tell a delay", *top);
  const double between = std::isfinite(r[best - 1]) && std::isfinite(r[best + 1]) ? vertex(r[best - 1], r[best], r[best + 1]) : 0;
  const auto at = [&](double index) { return seconds((index - static_cast<double>(lags)) * to_seconds(step)); };
  const Duration value = at(static_cast<double>(best) + between);
  // Half a slot: lags between two that were tried.
  const Duration half = nanoseconds(std::max(step, resolution).base_units() / 2);
  return {DelayInterval{value, std::min(at(static_cast<double>(range.first)), value - half),
                        std::max(at(static_cast<double>(range.last)), value + half)},
          *top, ""};
}

}  // namespace joulery
