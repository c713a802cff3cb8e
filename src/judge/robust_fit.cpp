#include "judge/robust_fit.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace joulery {
namespace {

constexpr double tuning = 1.345;       // scales up to which a residual counts in full
constexpr double median_to_sigma = 0.6745;
constexpr int most_rounds = 100;
constexpr double settled = 1e-10;

using Vector = std::array<double, most_coefficients>;
using Matrix = std::array<Vector, most_coefficients>;

// The inverse of the upper left n x n, by Gauss and Jordan with pivots; false where there is none.
bool invert(Matrix m, std::size_t n, Matrix& inverse) {
  inverse = {};
  for (std::size_t i = 0; i < n; ++i) inverse[i][i] = 1;
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c + 1; r < n; ++r)
      if (std::abs(m[r][c]) > std::abs(m[pivot][c])) pivot = r;
    if (std::abs(m[pivot][c]) < 1e-12) return false;
    std::swap(m[c], m[pivot]);
    std::swap(inverse[c], inverse[pivot]);
    const double by = m[c][c];
    for (std::size_t k = 0; k < n; ++k) m[c][k] /= by, inverse[c][k] /= by;
    for (std::size_t r = 0; r < n; ++r) {
      if (r == c) continue;
      const double times = m[r][c];
      for (std::size_t k = 0; k < n; ++k) m[r][k] -= times * m[c][k], inverse[r][k] -= times * inverse[c][k];
    }
  }
  return true;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// x is brought near -1..1, so that powers of watts do not make the matrix stiff; `to_watts` undoes it.
struct Units {
  double middle = 0, half = 1;
  double in(double x) const { return (x - middle) / half; }
};

Units units_of(std::span<const double> x) {
  const auto [least, most] = std::ranges::minmax_element(x);
  return {(*least + *most) / 2, (*most - *least) / 2};
}

Vector powers(double x, std::size_t n) {
  Vector v{1, x, x * x};
  for (std::size_t i = n; i < most_coefficients; ++i) v[i] = 0;
  return v;
}

double product(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// One weighted least-squares fit; false where x does not carry it.
bool solve(std::span<const double> x, std::span<const double> y, std::span<const double> weight, std::size_t n, const Units& units,
           Vector& fitted) {
  Matrix m{}, inverse{};
  Vector right{};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Vector v = powers(units.in(x[i]), n);
    for (std::size_t r = 0; r < n; ++r) {
      right[r] += weight[i] * v[r] * y[i];
      for (std::size_t c = 0; c < n; ++c) m[r][c] += weight[i] * v[r] * v[c];
    }
  }
  if (!invert(m, n, inverse)) return false;
  fitted = {};
  for (std::size_t r = 0; r < n; ++r) fitted[r] = product(inverse[r], right);
  return true;
}

std::vector<double> residuals(std::span<const double> x, std::span<const double> y, std::size_t n, const Units& units,
                              const Vector& fitted) {
  std::vector<double> left(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) left[i] = y[i] - product(powers(units.in(x[i]), n), fitted);
  return left;
}

double scale_of(std::span<const double> left) {
  std::vector<double> sizes;
  for (const double r : left) sizes.push_back(std::abs(r));
  return median(std::move(sizes)) / median_to_sigma;
}

double memory_of(std::span<const double> left, double scale) {
  double products = 0, squares = 0;
  const auto bounded = [&](double r) { return std::clamp(r, -tuning * scale, tuning * scale); };
  for (std::size_t i = 0; i < left.size(); ++i) {
    squares += bounded(left[i]) * bounded(left[i]);
    if (i > 0) products += bounded(left[i]) * bounded(left[i - 1]);
  }
  return squares > 0 ? std::clamp(products / squares, 0.0, 0.95) : 0;
}

// K² · [Σψ² / (n - p)] / [mean of ψ']² · (XᵀX)⁻¹, with K = 1 + p/n · var(ψ') / mean(ψ')².
bool covariance(std::span<const double> x, std::span<const double> left, double scale, std::size_t n, const Units& units, Matrix& result) {
  Matrix m{}, inverse{};
  double squares = 0, inside = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Vector v = powers(units.in(x[i]), n);
    for (std::size_t r = 0; r < n; ++r)
      for (std::size_t c = 0; c < n; ++c) m[r][c] += v[r] * v[c];
    const double bounded = std::clamp(left[i], -tuning * scale, tuning * scale);
    squares += bounded * bounded;
    if (std::abs(left[i]) <= tuning * scale) ++inside;
  }
  if (!invert(m, n, inverse)) return false;
  const auto count = static_cast<double>(x.size()), p = static_cast<double>(n);
  const double mean = std::max(inside / count, 1e-6);
  const double correction = 1 + p / count * (1 - mean) / mean;
  const double variance = correction * correction * squares / (count - p) / (mean * mean);
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t c = 0; c < n; ++c) result[r][c] = inverse[r][c] * variance;
  return true;
}

// From coefficients of u = (x - middle) / half to those of x: c = T d, so cov(c) = T cov(d) Tᵀ.
Matrix to_watts(const Units& u) {
  const double a = -u.middle / u.half, b = 1 / u.half;
  return {Vector{1, a, a * a}, Vector{0, b, 2 * a * b}, Vector{0, 0, b * b}};
}

Matrix transformed(const Matrix& t, const Matrix& m) {
  Matrix half{}, whole{};
  for (std::size_t r = 0; r < most_coefficients; ++r)
    for (std::size_t c = 0; c < most_coefficients; ++c)
      for (std::size_t k = 0; k < most_coefficients; ++k) half[r][c] += t[r][k] * m[k][c];
  for (std::size_t r = 0; r < most_coefficients; ++r)
    for (std::size_t c = 0; c < most_coefficients; ++c)
      for (std::size_t k = 0; k < most_coefficients; ++k) whole[r][c] += half[r][k] * t[c][k];
  return whole;
}

std::unexpected<Error> too_even() {
  return fail(ErrorCode::format, "the load hardly changes: no line can be drawn through one point", "",
              "record the machine at rest, at half and at full load");
}

}  // namespace

double RobustFit::standard_error(std::size_t coefficient) const { return std::sqrt(std::max(0.0, covariance[coefficient][coefficient])); }

double RobustFit::standard_error_at(double x) const {
  const Vector v = powers(x, most_coefficients);
  double variance = 0;
  for (std::size_t r = 0; r < most_coefficients; ++r) variance += v[r] * product(covariance[r], v);
  return std::sqrt(std::max(0.0, variance));
}

Result<RobustFit> fit_huber(std::span<const double> x, std::span<const double> y, std::size_t count) {
  if (x.size() != y.size() || x.size() < 4 * count)
    return fail(ErrorCode::format, "too few readings for a fit", "", "record for longer, with changing load");
  const Units units = units_of(x);
  if (!(units.half > 0)) return too_even();
  std::vector<double> weight(x.size(), 1.0);
  Vector fitted{};
  if (!solve(x, y, weight, count, units, fitted)) return too_even();
  double scale = 0;
  for (int round = 0; round < most_rounds; ++round) {
    const std::vector<double> left = residuals(x, y, count, units, fitted);
    scale = scale_of(left);
    if (scale <= 0) break;  // more than half of the values lie on the line
    for (std::size_t i = 0; i < left.size(); ++i) weight[i] = std::abs(left[i]) <= tuning * scale ? 1 : tuning * scale / std::abs(left[i]);
    const Vector before = fitted;
    if (!solve(x, y, weight, count, units, fitted)) return too_even();
    double moved = 0;
    for (std::size_t i = 0; i < count; ++i) moved = std::max(moved, std::abs(fitted[i] - before[i]));
    if (moved <= settled * scale) break;
  }
  const std::vector<double> left = residuals(x, y, count, units, fitted);
  RobustFit fit;
  fit.count = count;
  fit.scale = scale_of(left);
  fit.memory = memory_of(left, fit.scale);
  Matrix spread{};
  if (!covariance(x, left, fit.scale, count, units, spread)) return too_even();
  const double inflation = (1 + fit.memory) / (1 - fit.memory);
  const Matrix t = to_watts(units);
  fit.covariance = transformed(t, spread);
  for (Vector& row : fit.covariance)
    for (double& value : row) value *= inflation;
  for (std::size_t r = 0; r < most_coefficients; ++r) fit.coefficients[r] = product(t[r], fitted);
  return fit;
}

Result<CrossValidation> cross_validate(std::span<const double> x, std::span<const double> y, std::size_t count, std::size_t stretches) {
  CrossValidation result;
  double errors = 0, squares = 0;
  for (std::size_t s = 0; s < stretches; ++s) {
    const std::size_t begin = x.size() * s / stretches, end = x.size() * (s + 1) / stretches;
    std::vector<double> rest_x, rest_y;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (i < begin || i >= end) rest_x.push_back(x[i]), rest_y.push_back(y[i]);
    const auto fit = fit_huber(rest_x, rest_y, count);
    if (!fit) return std::unexpected(fit.error());
    double sum = 0, whole = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const double error = fit->at(x[i]) - y[i];
      errors += std::abs(error) / std::max(std::abs(y[i]), 1e-9);
      sum += error;
      whole += y[i];
    }
    if (end > begin && whole > 0) squares += std::pow(sum / whole, 2), ++result.stretches;
  }
  result.mean_error = errors / static_cast<double>(std::max<std::size_t>(1, x.size()));
  result.stretch_error = std::sqrt(squares / static_cast<double>(std::max<std::size_t>(1, result.stretches)));
  return result;
}

}  // namespace joulery
