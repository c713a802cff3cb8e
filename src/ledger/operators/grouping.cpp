#include "ledger/operators/grouping.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace joulery {
namespace {

constexpr double rounding = 1e-6;  // of a weight of length 1: less hides nothing

struct Judged {
  double half_joules = 0, joules = 0;
  double hidden = 0;   // how much of it the rows tell nothing of, 0..1
  // How far it misses what is asked of it: at most 1 is good enough. What is hidden is worse than anything known.
  double worth(double whole) const {
    const double asked = std::max(told_within * std::max(joules, 0.0), told_within_whole * whole);
    const double width = asked > 0 ? half_joules / asked : std::numeric_limits<double>::infinity();
    return hidden > rounding ? 1e9 * (1 + hidden) : std::min(width, 1e9);
  }
};

class Grouping {
 public:
  Grouping(const Regression& solved, std::span<const double> seconds, double half_width)
      : solved_(solved), seconds_(seconds), half_width_(half_width) {
    for (std::size_t k = 0; k < seconds.size(); ++k)
      if (seconds[k] > 0) {
        groups_.push_back({k});
        judged_.push_back(judge(groups_.back()));
      }
    std::vector<std::size_t> all(seconds.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    whole_ = std::max(judge(all).joules, 0.0);
  }

  std::vector<std::vector<std::size_t>> merged() && {
    while (groups_.size() > 1) {
      const std::size_t worst = worst_group();
      if (judged_[worst].worth(whole_) <= 1) break;
      merge(worst, partner_of(worst));
    }
    return std::move(groups_);
  }

 private:
  Judged judge(const std::vector<std::size_t>& members) const {
    const std::vector<double> weights = group_weights(members, seconds_);
    double seconds = 0, length = 0, hidden = 0;
    for (const std::size_t k : members) seconds += seconds_[k];
    for (const double w : weights) length += w * w;
    for (std::size_t i = 0; i * weights.size() < solved_.hidden.size(); ++i) {
      const double along = mean_of(weights, std::span(solved_.hidden).subspan(i * weights.size(), weights.size()));
      hidden += along * along;
    }
    const double variance = std::max(covariance_of(weights, solved_.covariance, weights), 0.0);
    return {half_width_ * std::sqrt(variance) * seconds, mean_of(weights, solved_.value) * seconds,
            length > 0 ? std::sqrt(hidden / length) : 0};
  }

  std::size_t worst_group() const {
    std::size_t worst = 0;
    for (std::size_t i = 1; i < groups_.size(); ++i)
      if (judged_[i].worth(whole_) > judged_[worst].worth(whole_)) worst = i;
    return worst;
  }

  // Who is good enough already stays alone where another that is not can be had.
  std::size_t partner_of(std::size_t worst) const {
    std::size_t best = groups_.size();
    bool best_poor = false;
    double best_worth = 0;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (i == worst) continue;
      std::vector<std::size_t> both = groups_[worst];
      both.insert(both.end(), groups_[i].begin(), groups_[i].end());
      const double worth = judge(both).worth(whole_);
      const bool poor = judged_[i].worth(whole_) > 1;
      if (best == groups_.size() || std::pair(!poor, worth) < std::pair(!best_poor, best_worth))
        best = i, best_poor = poor, best_worth = worth;
    }
    return best;
  }

  void merge(std::size_t into, std::size_t from) {
    groups_[into].insert(groups_[into].end(), groups_[from].begin(), groups_[from].end());
    std::ranges::sort(groups_[into]);
    judged_[into] = judge(groups_[into]);
    groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(from));
    judged_.erase(judged_.begin() + static_cast<std::ptrdiff_t>(from));
  }

  const Regression& solved_;
  std::span<const double> seconds_;
  double half_width_, whole_ = 0;
  std::vector<std::vector<std::size_t>> groups_;
  std::vector<Judged> judged_;
};

}  // namespace

std::vector<std::vector<std::size_t>> tell_apart(const Regression& solved, std::span<const double> seconds, double half_width) {
  return Grouping(solved, seconds, half_width).merged();
}

std::vector<double> group_weights(std::span<const std::size_t> members, std::span<const double> seconds) {
  std::vector<double> weights(seconds.size());
  double sum = 0;
  for (const std::size_t k : members) sum += seconds[k];
  for (const std::size_t k : members) weights[k] = sum > 0 ? seconds[k] / sum : 0;
  return weights;
}

double covariance_of(std::span<const double> a, const std::vector<double>& covariance, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == 0) continue;
    sum += a[i] * mean_of(b, std::span(covariance).subspan(i * b.size(), b.size()));
  }
  return sum;
}

double mean_of(std::span<const double> weights, std::span<const double> values) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (weights[i] != 0) sum += weights[i] * values[i];
  return sum;
}

}  // namespace joulery
