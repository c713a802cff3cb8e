#include "factors/power_curve.h"

#include <algorithm>
#include <cmath>

namespace joulery {
namespace {

constexpr double first_year = 2006, last_year = 2022;  // of the measured load curves: no line is drawn beyond them
constexpr double highest_idle_share = 0.95;            // of full load
constexpr double later_middle[] = {5.7, 0.7, 4.0, 1.0, 6.0, 2.4};  // of the smooth features of later machines

double year_feature(double year) { return (std::clamp(year, first_year, last_year) - 2010) / 5; }

using Features = std::vector<double>;

// In the order that the table names them ("names" lines).
Features smooth_features(const MachineShape& m) {
  return {std::log(m.tdp),       std::log(m.chips),   std::log(m.cores / m.chips), std::log2(m.threads / m.cores),
          std::log(m.memory_gb), year_feature(m.year)};
}

Features tree_features(const MachineShape& m) {
  const double cores_per_chip = m.cores / m.chips;
  return {std::log(m.tdp),
          std::log(m.chips),
          std::log(cores_per_chip),
          m.threads / m.cores,
          std::log(m.memory_gb),
          year_feature(m.year),
          std::log(m.tdp / cores_per_chip),
          std::log(m.memory_gb / m.cores),
          std::log(m.memory_gb / m.chips),
          std::log(m.tdp * m.chips),
          m.market_class};
}

std::array<double, 9> shape_features(const MachineShape& m, Ends ends) {
  return {1.0,
          std::log(ends.idle / ends.full) + 1,
          std::log(ends.full / (m.tdp * m.chips)) - 0.3,
          year_feature(m.year),
          std::log(m.cores / m.chips) - 2,
          std::log(m.chips),
          m.threads / m.cores - 1.5,
          std::log(m.tdp) - 4.6,
          std::log(m.memory_gb) - 3.5};
}

double value_of(const RegressionTree& tree, const Features& x) {
  std::size_t node = 0;
  for (int depth = 0; depth < 3; ++depth) {
    const int feature = tree.feature[node];
    const bool right = feature >= 0 && x[static_cast<std::size_t>(feature)] > tree.threshold[node];
    node = 2 * node + 1 + (right ? 1 : 0);
  }
  return tree.leaf[node - 7];
}

double bump(const Features& z, const std::vector<double>& centre, double length) {
  double square = 0;
  for (std::size_t i = 0; i < z.size(); ++i) square += (z[i] - centre[i]) * (z[i] - centre[i]);
  return std::exp(-std::sqrt(square) / length);
}

double smooth_value(const PowerTable& table, const std::vector<double>& weights, const Features& z) {
  double sum = weights[0];
  for (std::size_t i = 0; i < z.size(); ++i) sum += weights[1 + i] * z[i];
  for (std::size_t i = 0; i < table.centres.size(); ++i) {
    sum += weights[1 + z.size() + i] * bump(z, table.centres[i], table.bump_length);
  }
  return sum;
}

// What the size of a machine of a later family changes on top of what older ones teach.
double later_value(const std::vector<double>& weights, const Features& z) {
  double sum = weights[0];
  for (std::size_t i = 0; i < z.size(); ++i) sum += weights[1 + i] * (z[i] - later_middle[i]);
  return sum;
}

// Log of the ratio to the total TDP.
double log_ratio(const PowerTable& table, const EndTarget& target, const Features& x, const Features& z) {
  double trees = target.start;
  for (const RegressionTree& tree : target.trees) trees += value_of(tree, x);
  return (trees + smooth_value(table, target.smooth, z)) / 2 - target.shift;
}

Levels tidy(Levels f) {
  for (double& v : f) v = std::clamp(v, 0.0, 1.0);
  f.front() = 0;
  f.back() = 1;
  for (std::size_t i = 1; i < f.size(); ++i) f[i] = std::max(f[i], f[i - 1]);
  return f;
}

FamilyRow row_of(const PowerTable& table, const std::string& family) {
  const auto at = table.families.find(family);
  return at == table.families.end() ? FamilyRow{} : at->second;
}

}  // namespace

Ends predict_ends(const PowerTable& table, const MachineShape& machine) {
  const Features x = tree_features(machine), z = smooth_features(machine);
  const FamilyRow family = row_of(table, machine.family);
  const bool later = family.results > 0 && !family.has_curve();
  const auto predict = [&](const EndTarget& target, double offset) {
    const double extra = later ? later_value(target.later, z) : 0.0;
    return machine.tdp * machine.chips * std::exp(log_ratio(table, target, x, z) + offset + extra);
  };
  const double full = predict(table.full, family.full_offset);
  return {std::min(predict(table.idle, family.idle_offset), highest_idle_share * full), full};
}

Levels predict_fractions(const PowerTable& table, const MachineShape& machine, Ends ends) {
  const auto x = shape_features(machine, ends);
  Levels out = row_of(table, machine.family).curve;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t level = 0; level < level_count; ++level) out[level] += x[i] * table.shape[i][level];
  }
  return tidy(out);
}

Levels predict_fractions_unseen(const PowerTable& table, const MachineShape& machine, Ends ends) {
  const Features z = smooth_features(machine);
  Levels smooth{};
  for (std::size_t level = 0; level < level_count; ++level) smooth[level] = smooth_value(table, table.smooth_curve[level], z);
  smooth = tidy(smooth);
  Levels out = predict_fractions(table, machine, ends);
  for (std::size_t level = 0; level < level_count; ++level) out[level] = (out[level] + smooth[level]) / 2;
  return out;
}

Levels bend_through(const PowerTable& table, const Levels& fractions, double half) {
  Levels out = fractions;
  for (std::size_t i = 0; i < level_count; ++i) {
    out[i] += table.half[i] * (half - fractions[5]);
    if (i < 5) out[i] = std::min(out[i], half);
    if (i > 5) out[i] = std::max(out[i], half);
  }
  out[5] = half;
  return tidy(out);
}

double at_utilisation(const Levels& levels, double utilisation) {
  const double at = (utilisation > 0 ? std::min(utilisation, 1.0) : 0.0) * (level_count - 1);
  const auto below = std::min<std::size_t>(static_cast<std::size_t>(at), level_count - 2);
  const double part = at - static_cast<double>(below);
  if (part == 0) return levels[below];
  if (part == 1) return levels[below + 1];
  return levels[below] + (levels[below + 1] - levels[below]) * part;
}

}  // namespace joulery
