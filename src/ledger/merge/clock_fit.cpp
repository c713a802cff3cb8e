#include "ledger/merge/clock_fit.h"

#include <algorithm>
#include <cmath>

namespace joulery {
namespace {

// What is fitted: seconds since the middle, and how much later the job's clock is, in seconds, than at the middle moment.
struct Points {
  std::vector<double> x, y;
};

std::vector<double> part(const std::vector<double>& values, std::size_t from, std::size_t to) {
  return {values.begin() + static_cast<std::ptrdiff_t>(from), values.begin() + static_cast<std::ptrdiff_t>(to)};
}

struct Slope {
  double value = 0, low = 0, high = 0;
};

// Half-widths of the medians of both thirds are independent of each other. The thirds' own slope widens their medians' intervals a
// little: it is taken out once.
Slope slope_of(const Points& points) {
  const std::size_t count = points.x.size(), third = count / 3;
  const double run = median_of(part(points.x, count - third, count)).value - median_of(part(points.x, 0, third)).value;
  if (third < 2 || run <= 0) return {};
  const auto rise = [&](double taken) {
    std::vector<double> y = points.y;
    for (std::size_t i = 0; i < count; ++i) y[i] -= taken * points.x[i];
    return std::pair(median_of(part(y, 0, third)), median_of(part(y, count - third, count)));
  };
  const auto first = rise(0);
  const double rough = (first.second.value - first.first.value) / run;
  const auto [left, right] = rise(rough);
  const double value = rough + (right.value - left.value) / run;
  const double below = std::hypot(right.value - right.low, left.high - left.value) / run;
  const double above = std::hypot(right.high - right.value, left.value - left.low) / run;
  return {value, value - below, value + above};
}

double smoothness_of(const std::vector<double>& values) {
  double mean = 0, squares = 0, steps = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    squares += (values[i] - mean) * (values[i] - mean);
    if (i > 0) steps += (values[i] - values[i - 1]) * (values[i] - values[i - 1]);
  }
  return squares > 0 ? steps / squares : 2;
}

}  // namespace

MedianOf median_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const std::size_t count = values.size(), middle = count / 2;
  const auto m = static_cast<double>(count);
  const auto j = static_cast<std::size_t>(std::max(0.0, std::floor((m - 1.645 * std::sqrt(m)) / 2)));
  const double value = count % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {value, values[j], values[count - 1 - j]};
}

std::optional<ClockFit> fit_clock(std::span<const CommonMoment> moments) {
  if (moments.size() < fewest_moments || moments.back().host <= moments.front().host) return std::nullopt;
  ClockFit fit;
  fit.moments = moments.size();
  fit.at = moments.front().host + nanoseconds((moments.back().host - moments.front().host).base_units() / 2);
  const CommonMoment& middle = moments[moments.size() / 2];
  const Duration about = middle.job - middle.host;
  Points points;
  for (const CommonMoment& moment : moments) {
    points.x.push_back(to_seconds(moment.host - fit.at));
    points.y.push_back(to_seconds(moment.job - moment.host - about));
  }
  const Slope slope = slope_of(points);
  fit.drift_low = slope.low, fit.drift_high = slope.high;
  if (slope.low > 0 || slope.high < 0) fit.drift = slope.value;
  std::vector<double> left = points.y, distances;
  for (std::size_t i = 0; i < left.size(); ++i) left[i] -= fit.drift * points.x[i];
  const MedianOf height = median_of(left);
  for (const double y : left) distances.push_back(std::abs(y - height.value));
  fit.shift = about + seconds(height.value);
  fit.shift_low = about + seconds(height.low);
  fit.shift_high = about + seconds(height.high);
  fit.scatter = seconds(median_of(distances).value);
  fit.smoothness = smoothness_of(left);
  return fit;
}

}  // namespace joulery
