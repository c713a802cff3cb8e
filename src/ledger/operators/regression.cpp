#include "ledger/operators/regression.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>

namespace joulery {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

constexpr double told_from = 1e-9;     // of the greatest eigenvalue, with columns of length 1: less is rounding
constexpr int longest_memory = 8;      // readings

// (X'X)^+ of columns scaled to length 1, and what it leaves out.
struct Inverse {
  Matrix inverse;  // of X'X, unscaled
  Matrix hidden;   // rows: directions in column space
  int rank = 0;
};

Inverse invert(const Matrix& x) {
  Vector scale = x.colwise().norm();
  for (double& s : scale) s = s > 0 ? 1 / s : 0;
  Matrix gram = scale.asDiagonal() * (x.transpose() * x) * scale.asDiagonal();
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(gram);
  const double least = told_from * std::max(eigen.eigenvalues().maxCoeff(), 1e-300);
  Inverse result{Matrix::Zero(x.cols(), x.cols()), Matrix(0, x.cols()), 0};
  for (Eigen::Index i = 0; i < x.cols(); ++i) {
    const Vector direction = scale.asDiagonal() * eigen.eigenvectors().col(i);
    if (eigen.eigenvalues()[i] > least) {
      result.inverse += direction * direction.transpose() / eigen.eigenvalues()[i];
      ++result.rank;
      continue;
    }
    // A column of zeros has scale 0: the direction is that column itself.
    Vector unscaled = direction.norm() > 0 ? direction : Vector(eigen.eigenvectors().col(i));
    result.hidden.conservativeResize(result.hidden.rows() + 1, Eigen::NoChange);
    result.hidden.row(result.hidden.rows() - 1) = unscaled.normalized().transpose();
  }
  return result;
}

// Durbin's recursion over orders 1..longest; the filter of the order that BIC prefers, empty for none.
Vector filter_of(const Vector& residual) {
  const Eigen::Index n = residual.size();
  const int most = static_cast<int>(std::min<Eigen::Index>(longest_memory, n / 20));
  std::vector<double> covariance(static_cast<std::size_t>(most) + 1);
  for (int lag = 0; lag <= most; ++lag)
    covariance[static_cast<std::size_t>(lag)] = residual.head(n - lag).dot(residual.tail(n - lag)) / static_cast<double>(n);
  double error = covariance[0];
  if (!(error > 0)) return {};
  Vector filter(0), best(0);
  double best_score = static_cast<double>(n) * std::log(error);
  for (int order = 1; order <= most; ++order) {
    double reflection = covariance[static_cast<std::size_t>(order)];
    for (int j = 0; j < order - 1; ++j) reflection -= filter[j] * covariance[static_cast<std::size_t>(order - 1 - j)];
    reflection /= error;
    Vector next(order);
    for (int j = 0; j < order - 1; ++j) next[j] = filter[j] - reflection * filter[order - 2 - j];
    next[order - 1] = reflection;
    filter = next;
    error *= 1 - reflection * reflection;
    if (!(error > 0)) break;
    const double score = static_cast<double>(n) * std::log(error) + order * std::log(static_cast<double>(n));
    if (score < best_score) best_score = score, best = filter;
  }
  return best;
}

// Rows less what the filter foretells of them; the first rows, which nothing foretells, are left out.
template <class Rows>
Rows filtered(const Rows& rows, const Vector& filter) {
  const Eigen::Index order = filter.size(), n = rows.rows() - order;
  Rows result = rows.bottomRows(n);
  for (Eigen::Index j = 0; j < order; ++j) result -= filter[j] * rows.middleRows(order - 1 - j, n);
  return result;
}

struct Fit {
  Inverse solved;
  Vector value, residual;
};

Fit fit(const Matrix& x, const Vector& y) {
  Fit result{invert(x), {}, {}};
  result.value = result.solved.inverse * (x.transpose() * y);
  result.residual = y - x * result.value;
  return result;
}

// Bread, meat, bread: HC2.
Matrix sandwich(const Matrix& x, const Fit& fit) {
  const Matrix spread = x * fit.solved.inverse;
  Matrix weighted = x;
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    const double leverage = std::clamp(spread.row(i).dot(x.row(i)), 0.0, 0.99);
    weighted.row(i) *= fit.residual[i] / std::sqrt(1 - leverage);
  }
  return fit.solved.inverse * (weighted.transpose() * weighted) * fit.solved.inverse;
}

// The continued fraction of the incomplete beta function (Lentz), for the F distribution. Source: Abramowitz and Stegun 26.5.8.
double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < tiny ? tiny : d);
  double result = d;
  for (int m = 1; m < 500; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 + even * d, c = 1 + even / c;
    d = 1 / (std::abs(d) < tiny ? tiny : d), c = std::abs(c) < tiny ? tiny : c;
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 + odd * d, c = 1 + odd / c;
    d = 1 / (std::abs(d) < tiny ? tiny : d), c = std::abs(c) < tiny ? tiny : c;
    result *= d * c;
    if (std::abs(d * c - 1) < 1e-12) break;
  }
  return result;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

// Chow's test: do two halves have the same powers?
void compare_halves(const Matrix& x, const Vector& y, const Fit& whole, Regression& result) {
  const Eigen::Index half = x.rows() / 2, rank = whole.solved.rank;
  if (half <= 2 * rank + 2) return;
  const Fit first = fit(x.topRows(half), y.head(half)), second = fit(x.bottomRows(x.rows() - half), y.tail(x.rows() - half));
  if (first.solved.rank != rank || second.solved.rank != rank) return;
  const double apart = first.residual.squaredNorm() + second.residual.squaredNorm();
  const double freedom = static_cast<double>(x.rows() - 2 * rank), count = static_cast<double>(rank);
  if (!(apart > 0)) return;
  result.change = std::max(0.0, (whole.residual.squaredNorm() - apart) / count / (apart / freedom));
  result.change_probability = incomplete_beta(freedom / 2, count / 2, freedom / (freedom + count * result.change));
}

Eigen::Map<const Matrix> matrix_of(std::span<const double> values, std::size_t width) {
  return {values.data(), static_cast<Eigen::Index>(width ? values.size() / width : 0), static_cast<Eigen::Index>(width)};
}

Eigen::Map<const Vector> vector_of(std::span<const double> values) { return {values.data(), static_cast<Eigen::Index>(values.size())}; }

std::vector<double> flat(const Matrix& matrix) { return {matrix.data(), matrix.data() + matrix.size()}; }

}  // namespace

Regression regress(std::span<const double> shares, std::size_t width, std::span<const double> watts) {
  Regression result;
  if (watts.size() < width + 2) return result;
  const Matrix x = matrix_of(shares, width);
  const Vector y = vector_of(watts);
  Fit solution = fit(x, y);
  result.roughness = std::sqrt(solution.residual.squaredNorm() / std::max<double>(1, static_cast<double>(x.rows() - solution.solved.rank)));
  const double spread = (y.array() - y.mean()).square().sum();
  result.explained = spread > 0 ? std::clamp(1 - solution.residual.squaredNorm() / spread, 0.0, 1.0) : 0;

  Matrix rows = x;
  Vector readings = y;
  for (int pass = 0; pass < 2; ++pass) {
    const Vector filter = filter_of(y - x * solution.value);
    result.memory.assign(filter.begin(), filter.end());
    if (filter.size() == 0) break;
    rows = filtered(x, filter);
    readings = filtered(y, filter);
    solution = fit(rows, readings);
  }
  if (result.memory.empty()) rows = x, readings = y, solution = fit(x, y);
  result.freedom = std::max<double>(1, static_cast<double>(rows.rows() - solution.solved.rank));
  result.noise = std::sqrt(solution.residual.squaredNorm() / result.freedom);
  result.value.assign(solution.value.begin(), solution.value.end());
  result.covariance = flat(sandwich(rows, solution));
  result.hidden = flat(solution.solved.hidden);
  compare_halves(rows, readings, solution, result);
  return result;
}

Regression regress_known(std::span<const double> shares, std::size_t width, std::span<const double> watts, double noise) {
  Regression result;
  if (watts.size() < width) return result;
  const Fit solution = fit(matrix_of(shares, width), vector_of(watts));
  result.value.assign(solution.value.begin(), solution.value.end());
  result.covariance = flat(solution.solved.inverse * (noise * noise));
  result.hidden = flat(solution.solved.hidden);
  result.noise = noise;
  result.freedom = std::max<double>(1, static_cast<double>(watts.size()) - solution.solved.rank);
  return result;
}

void add_doubt(Regression& solved, const Regression& other, double weight) {
  const std::size_t width = solved.value.size();
  if (other.value.size() != width) return;
  for (std::size_t i = 0; i < width; ++i)
    for (std::size_t j = 0; j < width; ++j)
      solved.covariance[i * width + j] += weight * (other.value[i] - solved.value[i]) * (other.value[j] - solved.value[j]);
}

double misfit(std::span<const double> shares, std::size_t width, std::span<const double> watts) {
  if (watts.size() < width + 2) return 0;
  return fit(matrix_of(shares, width), vector_of(watts)).residual.squaredNorm();
}

// Newton's method on the distribution, from the expansion of Abramowitz and Stegun 26.7.5.
double student_90(double freedom) {
  constexpr double normal = 1.6448536269514722;
  if (freedom > 1e6) return normal;
  const double n = std::max(1.0, freedom), z2 = normal * normal;
  double t = normal * (1 + (z2 + 1) / (4 * n) + (5 * z2 * z2 + 16 * z2 + 3) / (96 * n * n));
  for (int i = 0; i < 30; ++i) {
    const double above = 0.5 * incomplete_beta(n / 2, 0.5, n / (n + t * t));
    const double density =
        std::exp(std::lgamma((n + 1) / 2) - std::lgamma(n / 2) - (n + 1) / 2 * std::log1p(t * t / n)) / std::sqrt(n * std::numbers::pi);
    const double step = (above - 0.05) / density;
    t += step;
    if (std::abs(step) < 1e-10) break;
  }
  return t;
}

// An active set: the most negative is held at 0, the rest is what it most likely is given that; released where it would rise.
std::vector<double> not_negative(std::span<const double> value, std::span<const double> covariance) {
  const Eigen::Index n = static_cast<Eigen::Index>(value.size());
  const Vector free = vector_of(value);
  if (n == 0 || free.minCoeff() >= 0) return {value.begin(), value.end()};
  const Matrix c = matrix_of(covariance, value.size());
  std::vector<Eigen::Index> held;
  Vector x = free;
  for (int pass = 0; pass < 4 * n; ++pass) {
    Eigen::Index worst = 0;
    if (x.minCoeff(&worst) < -1e-12) {
      held.push_back(worst);
    } else if (held.empty()) {
      break;
    }
    const Eigen::Index h = static_cast<Eigen::Index>(held.size());
    Matrix among(h, h), beside(n, h);
    Vector away(h);
    for (Eigen::Index j = 0; j < h; ++j) {
      away[j] = free[held[static_cast<std::size_t>(j)]];
      beside.col(j) = c.col(held[static_cast<std::size_t>(j)]);
      for (Eigen::Index i = 0; i < h; ++i) among(i, j) = c(held[static_cast<std::size_t>(i)], held[static_cast<std::size_t>(j)]);
    }
    // The multipliers: where one is positive the bound pulls the wrong way, and is let go.
    const Vector multiplier = among.ldlt().solve(away);
    x = free - beside * multiplier;
    for (const Eigen::Index i : held) x[i] = 0;
    Eigen::Index looser = 0;
    if (x.minCoeff() < -1e-12) continue;
    if (multiplier.maxCoeff(&looser) <= 1e-12) break;
    held.erase(held.begin() + looser);
  }
  const Vector bounded = x.cwiseMax(0);
  return {bounded.begin(), bounded.end()};
}

}  // namespace joulery
