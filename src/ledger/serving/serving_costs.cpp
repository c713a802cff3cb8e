#include "ledger/serving/serving_costs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace joulery {
namespace {

constexpr std::size_t columns = 4;  // seconds, steps, prefill, decode
constexpr std::size_t most_blocks = 48, replicates = 60;
constexpr double strong_evidence = 6;
constexpr double least_quiet_share = 0.02;

using Row = std::array<double, columns + 1>;                  // the columns and the joules
using Moments = std::array<std::array<double, columns + 1>, columns + 1>;

Row row_of(const ServingPoint& p) { return {p.seconds, p.steps, p.prefill_tokens, p.decode_tokens, p.joules}; }
bool quiet(const ServingPoint& p) { return p.steps <= 0 && p.prefill_tokens <= 0 && p.decode_tokens <= 0; }

// What a stretch of intervals adds to the normal equations, and its quiet time.
struct Block {
  Moments moments{};
  double quiet_seconds = 0, quiet_joules = 0, count = 0;

  void add(const Block& other) {
    for (std::size_t i = 0; i <= columns; ++i)
      for (std::size_t j = 0; j <= columns; ++j) moments[i][j] += other.moments[i][j];
    quiet_seconds += other.quiet_seconds;
    quiet_joules += other.quiet_joules;
    count += other.count;
  }
};

Block block_of(std::span<const ServingPoint> points) {
  Block block;
  for (const ServingPoint& point : points) {
    const Row row = row_of(point);
    for (std::size_t i = 0; i <= columns; ++i)
      for (std::size_t j = 0; j <= columns; ++j) block.moments[i][j] += row[i] * row[j];
    if (quiet(point)) block.quiet_seconds += point.seconds, block.quiet_joules += point.joules;
    block.count += 1;
  }
  return block;
}

struct Solution {
  std::array<double, columns> c{};
  double rss = 0;
};

// Least squares over the columns of `set` by Cholesky's decomposition of the scaled normal equations; nothing where they are
// (nearly) dependent or a coefficient comes out below 0.
std::optional<Solution> solve(const Moments& m, unsigned set) {
  std::array<std::size_t, columns> at{};
  std::size_t n = 0;
  for (std::size_t i = 0; i < columns; ++i)
    if ((set >> i & 1U) != 0) at[n++] = i;
  std::array<std::array<double, columns>, columns> l{};
  std::array<double, columns> scale{}, z{};
  for (std::size_t i = 0; i < n; ++i) {
    scale[i] = std::sqrt(m[at[i]][at[i]]);
    if (!(scale[i] > 0)) return std::nullopt;
  }
  for (std::size_t i = 0; i < n; ++i) {
    double rest = m[at[i]][columns] / scale[i];
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = m[at[i]][at[j]] / (scale[i] * scale[j]);
      for (std::size_t k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
      if (j < i)
        l[i][j] = sum / l[j][j];
      else if (sum < 1e-9)
        return std::nullopt;
      else
        l[i][i] = std::sqrt(sum);
    }
    for (std::size_t k = 0; k < i; ++k) rest -= l[i][k] * z[k];
    z[i] = rest / l[i][i];
  }
  Solution solution;
  solution.rss = m[columns][columns];
  for (std::size_t i = n; i-- > 0;) {
    double value = z[i];
    for (std::size_t k = i + 1; k < n; ++k) value -= l[k][i] * solution.c[at[k]] * scale[k];
    value /= l[i][i];
    if (value < 0) return std::nullopt;
    solution.c[at[i]] = value / scale[i];
    solution.rss -= z[i] * z[i];
  }
  solution.rss = std::max(solution.rss, 0.0);
  return solution;
}

// The best of all sets within `allowed`.
Solution best_of(const Moments& m, unsigned allowed) {
  Solution best;
  best.rss = m[columns][columns];
  for (unsigned set = 1; set < (1U << columns); ++set)
    if ((set & ~allowed) == 0)
      if (const auto one = solve(m, set); one && one->rss < best.rss) best = *one;
  return best;
}

constexpr unsigned idle_column = 1, step_column = 2, token_columns = 4 | 8;

// The joules without idle power taken for known.
Moments without_idle(const Moments& m, double idle) {
  Moments left = m;
  for (std::size_t i = 0; i < columns; ++i) left[i][columns] = left[columns][i] = m[i][columns] - idle * m[i][0];
  left[columns][columns] = m[columns][columns] - 2 * idle * m[0][columns] + idle * idle * m[0][0];
  return left;
}

class Fitter {
 public:
  Fitter(const Block& whole, std::optional<double> given) : given_(given) {
    from_quiet_ = !given_ && whole.quiet_seconds > 0;
    choose_columns(whole);
  }
  bool from_quiet() const { return from_quiet_; }

  ServingCoefficients fit(const Block& block) const {
    const std::optional<double> idle = idle_of(block);
    const Solution s = idle ? best_of(without_idle(block.moments, *idle), allowed_) : best_of(block.moments, allowed_ | idle_column);
    return {idle.value_or(s.c[0]), s.c[1], s.c[2], s.c[3]};
  }
  double rss(const Block& block) const {
    const std::optional<double> idle = idle_of(block);
    return idle ? best_of(without_idle(block.moments, *idle), allowed_).rss : best_of(block.moments, allowed_ | idle_column).rss;
  }

 private:
  std::optional<double> idle_of(const Block& block) const {
    if (given_) return given_;
    if (from_quiet_ && block.quiet_seconds > 0) return block.quiet_joules / block.quiet_seconds;
    return std::nullopt;
  }
  // `step` only where it explains what tokens cannot.
  void choose_columns(const Block& whole) {
    allowed_ = token_columns;
    const double without = rss(whole);
    allowed_ = token_columns | step_column;
    const double with = rss(whole);
    const double tiny = 1e-12 * whole.moments[columns][columns] + 1e-12;
    const double gain = whole.count * std::log((without + tiny) / (with + tiny)) - std::log(std::max(whole.count, 1.0));
    if (!(gain > strong_evidence)) allowed_ = token_columns;
  }
  std::optional<double> given_;
  bool from_quiet_ = false;
  unsigned allowed_ = token_columns;
};

// A small generator of its own (SplitMix64), so that one recording always gives the same figures.
class Random {
 public:
  std::size_t below(std::size_t n) {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return static_cast<std::size_t>((z ^ (z >> 31U)) % n);
  }

 private:
  std::uint64_t state_ = 7;
};

std::vector<Block> blocks_of(std::span<const ServingPoint> points) {
  const std::size_t count = std::min(most_blocks, points.size());
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = i * points.size() / count, end = (i + 1) * points.size() / count;
    blocks.push_back(block_of(points.subspan(begin, end - begin)));
  }
  return blocks;
}

// Without a fit: idle power as far as it is known.
ServingCosts unfitted(const Block& whole, std::optional<double> given, std::string note) {
  ServingCosts costs;
  costs.note = std::move(note);
  if (given) {
    costs.best.idle_watts = *given;
    costs.idle_source = "given";
  } else if (whole.quiet_seconds > 0) {
    costs.best.idle_watts = whole.quiet_joules / whole.quiet_seconds;
    costs.idle_source = "quiet intervals";
  }
  costs.best.prefill_joules = costs.best.decode_joules = 1;
  return costs;
}

}  // namespace

ServingCoefficients fit_nonnegative(std::span<const ServingPoint> points) {
  const Solution s = best_of(block_of(points).moments, (1U << columns) - 1);
  return {s.c[0], s.c[1], s.c[2], s.c[3]};
}

ServingCosts fit_serving_costs(std::span<const ServingPoint> points, std::optional<double> idle_watts) {
  Block whole = block_of(points);
  double seconds = 0;
  for (const ServingPoint& point : points) seconds += point.seconds;
  if (whole.quiet_seconds < least_quiet_share * seconds) whole.quiet_seconds = whole.quiet_joules = 0;
  if (points.size() < least_serving_points) return unfitted(whole, idle_watts, "too few intervals to fit what a token costs");
  const Fitter fitter(whole, idle_watts);
  ServingCosts costs;
  costs.best = fitter.fit(whole);
  if (!(costs.best.prefill_joules > 0 || costs.best.decode_joules > 0)) {
    ServingCosts same = unfitted(whole, idle_watts, "energy does not follow the tokens: every token weighs the same");
    if (same.idle_source.empty()) same.best.idle_watts = costs.best.idle_watts, same.idle_source = "fitted";
    return same;
  }
  costs.weights_fitted = true;
  costs.idle_source = idle_watts ? "given" : fitter.from_quiet() ? "quiet intervals" : "fitted";
  const std::vector<Block> blocks = blocks_of(points);
  Random random;
  for (std::size_t r = 0; r < replicates; ++r) {
    Block drawn;
    for (std::size_t i = 0; i < blocks.size(); ++i) drawn.add(blocks[random.below(blocks.size())]);
    costs.replicates.push_back(fitter.fit(drawn));
  }
  return costs;
}

}  // namespace joulery
