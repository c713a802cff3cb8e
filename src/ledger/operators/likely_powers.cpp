#include "ledger/operators/likely_powers.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace joulery {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

constexpr int spreads_tried = 48;
constexpr double least_spread = 1e-3, greatest_spread = 2;  // of a typical power
constexpr double unknown = 30;                              // typical powers: how badly is known what no reading tells

Eigen::Map<const Vector> vector_of(std::span<const double> values) { return {values.data(), static_cast<Eigen::Index>(values.size())}; }

// The covariance with what is hidden from the readings in it, as known very badly.
Matrix whole_covariance(const Regression& solved, double typical, double widened) {
  const auto n = static_cast<Eigen::Index>(solved.value.size());
  Matrix covariance = Eigen::Map<const Matrix>(solved.covariance.data(), n, n) * (widened * widened);
  for (Eigen::Index i = 0; i * n < static_cast<Eigen::Index>(solved.hidden.size()); ++i) {
    const Eigen::Map<const Vector> direction(solved.hidden.data() + i * n, n);
    covariance += direction * direction.transpose() * (unknown * typical) * (unknown * typical);
  }
  return covariance;
}

// What draws the family together: the matrix A in "powers less covariance times A times powers", the mean over likely spreads.
class Draw {
 public:
  Draw(const Matrix& covariance, const Vector& powers) : eigen_(covariance) {
    own_ = eigen_.eigenvalues().cwiseMax(0);
    ones_ = eigen_.eigenvectors().transpose() * Vector::Ones(powers.size());
    powers_ = eigen_.eigenvectors().transpose() * powers;
  }

  Matrix over_spreads(double typical) const {
    std::vector<double> spreads, likelihoods;
    for (int i = 0; i < spreads_tried; ++i) {
      const double spread = typical * least_spread * std::pow(greatest_spread / least_spread, i / (spreads_tried - 1.0));
      spreads.push_back(spread);
      likelihoods.push_back(log_likelihood(spread) + std::log(spread));  // flat in the spread, tried evenly in its logarithm
    }
    const double best = *std::ranges::max_element(likelihoods);
    Matrix mean = Matrix::Zero(own_.size(), own_.size());
    double sum = 0;
    for (int i = 0; i < spreads_tried; ++i) {
      const double weight = std::exp(likelihoods[static_cast<std::size_t>(i)] - best);
      mean += weight * precision(spreads[static_cast<std::size_t>(i)]), sum += weight;
    }
    return eigen_.eigenvectors() * (mean / sum) * eigen_.eigenvectors().transpose();
  }

 private:
  // Of the inverse covariance of powers around a common mean that is not known, in the base of their own covariance.
  Matrix precision(double spread) const {
    const Vector weight = (own_.array() + spread * spread).inverse();
    const Vector weighted = weight.cwiseProduct(ones_);
    return Matrix(weight.asDiagonal()) - weighted * weighted.transpose() / weighted.dot(ones_);
  }
  double log_likelihood(double spread) const {
    const Eigen::ArrayXd variance = own_.array() + spread * spread;
    const double count = (ones_.array().square() / variance).sum();
    const double mean = (ones_.array() * powers_.array() / variance).sum() / count;
    const double misfit = ((powers_.array() - mean * ones_.array()).square() / variance).sum();
    return -0.5 * (variance.log().sum() + std::log(count) + misfit);
  }

  Eigen::SelfAdjointEigenSolver<Matrix> eigen_;
  Vector own_, ones_, powers_;
};

}  // namespace

std::vector<double> likely_powers(const Regression& solved, std::span<const std::size_t> family, double typical, double widened,
                                  std::span<const std::vector<double>> group_weights) {
  const Vector powers = vector_of(solved.value);
  if (family.size() < 2 || !(typical > 0)) return solved.value;
  const Matrix covariance = whole_covariance(solved, typical, widened);
  const auto n = static_cast<Eigen::Index>(family.size());
  Matrix beside(covariance.rows(), n), among(n, n);
  Vector members(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto column = static_cast<Eigen::Index>(family[static_cast<std::size_t>(i)]);
    beside.col(i) = covariance.col(column), members[i] = powers[column];
  }
  for (Eigen::Index i = 0; i < n; ++i) among.row(i) = beside.row(static_cast<Eigen::Index>(family[static_cast<std::size_t>(i)]));
  const Matrix pull = beside * Draw(among, members).over_spreads(typical);
  Vector likely = powers - pull * members;
  const Matrix left = covariance - pull * beside.transpose();

  // What was solved of a group stays: its members move as they are still free to.
  for (const std::vector<double>& weights : group_weights) {
    const Vector w = vector_of(weights);
    const Vector free = left * w;
    const double variance = w.dot(free), off = w.dot(powers) - w.dot(likely);
    for (Eigen::Index k = 0; k < w.size(); ++k)
      if (w[k] != 0) likely[k] += variance > 0 ? free[k] * off / variance : off;
  }
  return {likely.begin(), likely.end()};
}

}  // namespace joulery
