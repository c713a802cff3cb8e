#include "ledger/operators/operator_powers.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "ledger/operators/grouping.h"
#include "ledger/operators/likely_powers.h"
#include "ledger/operators/meter_timing.h"
#include "ledger/operators/regression.h"
#include "ledger/split.h"

namespace joulery {
namespace {

constexpr double change_certain = 0.001;  // probability by chance below which powers are said to have changed
constexpr double little_explained = 0.05;
constexpr double hidden_from = 1e-6;         // of a direction of length 1

std::string name_of_part(const OperatorQuestion& q, const OperatorPowers& powers, std::size_t k) {
  return k < q.kinds.size() ? q.kinds[k] : powers.on_static_power ? "static power" : "gaps";
}

std::vector<double> seconds_of(const OperatorPowers& result, std::size_t columns) {
  std::vector<double> seconds(columns);  // a column of the delay is no kind: it never ran
  for (std::size_t k = 0; k < result.parts.size(); ++k) seconds[k] = result.parts[k].seconds;
  return seconds;
}

// Groups with their mean powers and intervals.
void add_groups(OperatorPowers& result, const Regression& solved, double half_width, std::span<const std::vector<std::size_t>> groups,
                std::span<const std::vector<double>> weights) {
  std::vector<double> mean, covariance;
  for (const auto& a : weights) {
    mean.push_back(mean_of(a, solved.value));
    for (const auto& b : weights) covariance.push_back(covariance_of(a, solved.covariance, b));
  }
  const std::vector<double> bounded = not_negative(mean, covariance);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    OperatorGroup group{groups[g], 0, watts(bounded[g]), {}, {}, {}};
    for (const std::size_t k : group.members) group.seconds += result.parts[k].seconds;
    const double half = half_width * std::sqrt(std::max(0.0, covariance[g * groups.size() + g]));
    group.low = watts(std::clamp(mean[g] - half, 0.0, bounded[g]));
    group.high = watts(std::max(mean[g] + half, bounded[g]));
    result.groups.push_back(std::move(group));
  }
}

// How far a single power may be off, in W: without limit where the readings tell nothing of it.
double half_of(const Regression& solved, std::size_t k, double half_width) {
  const std::size_t width = solved.value.size();
  double hidden = 0;
  for (std::size_t i = 0; i * width < solved.hidden.size(); ++i) hidden += std::abs(solved.hidden[i * width + k]);
  if (hidden > hidden_from) return std::numeric_limits<double>::infinity();
  return half_width * std::sqrt(std::max(0.0, solved.covariance[k * width + k]));
}

// The members of each group: their likeliest powers, the unbiased ones' intervals, and no more joules than the group has.
void add_members(OperatorPowers& result, const Regression& solved, std::span<const double> likely, double half_width) {
  for (const OperatorGroup& group : result.groups)
    for (const std::size_t k : group.members) {
      OperatorPart& part = result.parts[k];
      if (group.members.size() == 1) {
        part.power = group.power, part.low = group.low, part.high = group.high;
        continue;
      }
      const double half = half_of(solved, k, half_width), most = to_watts(group.high) * group.seconds / part.seconds;
      const double power = std::clamp(likely[k], 0.0, most);
      part.power = watts(power);
      part.low = watts(std::clamp(solved.value[k] - half, 0.0, power));
      part.high = watts(std::clamp(solved.value[k] + half, power, most));
    }
}

// The parts' mean power, by which the spread of powers is measured.
double typical_power(const Regression& solved, std::span<const double> seconds) {
  double sum = 0;
  for (const double s : seconds) sum += s;
  return sum > 0 ? std::abs(mean_of(seconds, solved.value)) / sum : 0;
}

void add_powers(OperatorPowers& result, const Regression& solved, double widened) {
  const double half_width = student_90(solved.freedom) * widened;
  const std::vector<double> seconds = seconds_of(result, solved.value.size());
  const auto groups = tell_apart(solved, seconds, half_width);
  std::vector<std::vector<double>> weights, several;
  for (const auto& members : groups) {
    weights.push_back(group_weights(members, seconds));
    if (members.size() > 1) several.push_back(weights.back());
  }
  add_groups(result, solved, half_width, groups, weights);
  std::vector<std::size_t> family;
  for (std::size_t k = 0; k + 1 < result.parts.size(); ++k)
    if (seconds[k] > 0) family.push_back(k);
  add_members(result, solved, likely_powers(solved, family, typical_power(solved, seconds), widened, several), half_width);
}

// Too few readings: everything that ran at the mean power, of which nothing more is known than that it is not negative.
void add_by_time(OperatorPowers& result, const OperatorQuestion& q) {
  OperatorGroup all;
  for (std::size_t k = 0; k < result.parts.size(); ++k)
    if (result.parts[k].seconds > 0) all.members.push_back(k), all.seconds += result.parts[k].seconds;
  if (all.members.empty()) {
    all.members.push_back(result.parts.size() - 1), all.seconds = to_seconds(q.when.length());
    result.parts.back().seconds = all.seconds;
  }
  const auto mean = [&](Energy e) { return watts(all.seconds > 0 ? std::max(0.0, to_joules(e) / all.seconds) : 0); };
  all.power = mean(q.whole.value), all.low = mean(q.whole.low), all.high = mean(q.whole.high);
  for (const std::size_t k : all.members) {
    OperatorPart& part = result.parts[k];
    part.power = all.power, part.high = part.seconds > 0 ? watts(to_watts(all.high) * all.seconds / part.seconds) : all.high;
    if (all.members.size() == 1) part.low = all.low;
  }
  result.groups.push_back(std::move(all));
  result.notes.push_back("too few readings to tell powers apart: joules follow time alone");
}

// Energies so that all groups sum to the whole and members to their group, and intervals with the meter's own error.
class EnergyShare {
 public:
  EnergyShare(OperatorPowers& result, const Estimate& whole) : result_(&result), whole_(whole) {
    const double all = std::max(to_joules(whole.value), 1e-12);
    below_ = std::max(0.0, 1 - to_joules(whole.low) / all), above_ = std::max(0.0, to_joules(whole.high) / all - 1);
  }

  void share() {
    std::vector<double> weights;
    double sum = 0;
    for (const OperatorGroup& group : result_->groups) weights.push_back(to_watts(group.power) * group.seconds), sum += weights.back();
    result_->scale = sum > 0 ? to_joules(whole_.value) / sum : 1;
    const std::vector<Energy> energies = split(whole_.value, weights);
    for (std::size_t g = 0; g < result_->groups.size(); ++g) {
      OperatorGroup& group = result_->groups[g];
      group.energy = around(energies[g], group.power, group.low, group.high, group.seconds);
      members_of(group);
    }
  }

 private:
  void members_of(const OperatorGroup& group) {
    std::vector<double> weights, times;
    double sum = 0;
    for (const std::size_t k : group.members) {
      const OperatorPart& part = result_->parts[k];
      weights.push_back(to_watts(part.power) * part.seconds), times.push_back(part.seconds), sum += weights.back();
    }
    const std::vector<Energy> energies = split(group.energy.value, sum > 0 ? weights : times);
    for (std::size_t i = 0; i < energies.size(); ++i) {
      OperatorPart& part = result_->parts[group.members[i]];
      part.energy = around(energies[i], part.power, part.low, part.high, part.seconds);
    }
  }

  Estimate around(Energy value, Power power, Power low, Power high, double seconds) const {
    const double per_watt = seconds * result_->scale, size = to_joules(value);
    const double down = std::hypot(to_watts(power - low) * per_watt, size * below_);
    const double up = std::hypot(to_watts(high - power) * per_watt, size * above_);
    return {value, std::max(Energy{}, value - joules(down)), value + joules(up)};
  }

  OperatorPowers* result_;
  Estimate whole_;
  double below_ = 0, above_ = 0;
};

void add_notes(OperatorPowers& result, const OperatorQuestion& q, const Regression& solved, bool changed) {
  for (const OperatorGroup& group : result.groups) {
    if (group.members.size() < 2) continue;
    std::string names;
    for (const std::size_t k : group.members) names += (names.empty() ? "" : ", ") + name_of_part(q, result, k);
    result.notes.push_back(fmt::format("cannot be told apart, so told together: {}", names));
  }
  if (result.delay != Duration{})
    result.notes.push_back(fmt::format("the meter's time is {:.1f} ms {} than the trace's: corrected",
                                       std::abs(to_seconds(result.delay)) * 1e3, result.delay > Duration{} ? "later" : "earlier"));
  if (result.window != Duration{})
    result.notes.push_back(
        fmt::format("the readings fit a meter that averages over {:.0f} ms, and not as long as it is said to: solved for that",
                    to_seconds(result.window) * 1e3));
  if (!result.doubted.empty()) {
    std::string windows;
    for (const Duration window : result.doubted)
      windows +=
          (windows.empty() ? "" : ", ") + (window == Duration{} ? "as is said of it" : fmt::format("{:.0f} ms", to_seconds(window) * 1e3));
    result.notes.push_back(
        fmt::format("the readings do not tell how long the meter averages ({} would fit as well): intervals are wider for it", windows));
  }
  if (changed)
    result.notes.push_back(
        fmt::format("powers are not the same in both halves (F = {:.1f}): each is a mean over the time, its interval widened by {:.1f}",
                    solved.change, std::sqrt(solved.change)));
  if (solved.explained < little_explained)
    result.notes.push_back(fmt::format("what ran explains only {:.0f} % of how the power varied", 100 * solved.explained));
}

void index_groups(OperatorPowers& result) {
  std::ranges::stable_sort(result.groups, [](const auto& a, const auto& b) { return a.energy.value > b.energy.value; });
  result.group_of.assign(result.parts.size(), result.groups.size());
  for (std::size_t g = 0; g < result.groups.size(); ++g)
    for (const std::size_t k : result.groups[g].members) result.group_of[k] = g;
}

}  // namespace

namespace {

OperatorPowers with_powers(const OperatorQuestion& question, const Mixes& mixes, const Regression& solved, OperatorPowers result) {
  result.parts.resize(mixes.seconds.size());
  for (std::size_t k = 0; k < result.parts.size(); ++k) result.parts[k].seconds = mixes.seconds[k];
  result.gap_seconds = mixes.gap_seconds, result.busy_seconds = mixes.busy_seconds;
  result.on_static_power = mixes.overlapping;
  result.readings = mixes.rows();
  result.solved = !solved.value.empty();
  const bool changed = result.solved && solved.change_probability < change_certain;
  if (result.solved) {
    result.noise_watts = solved.noise, result.explained = solved.explained;
    add_powers(result, solved, changed ? std::max(1.0, std::sqrt(solved.change)) : 1);
  } else {
    add_by_time(result, question);
  }
  EnergyShare(result, question.whole).share();
  index_groups(result);
  if (result.solved) add_notes(result, question, solved, changed);
  return result;
}

}  // namespace

OperatorPowers solve_operators(const OperatorQuestion& question) {
  const MeterTiming timing = find_timing(question);
  std::vector<PowerReading> readings = question.readings;
  set_window(readings, timing.window);
  const Mixes mixes = mixes_at(question, readings, timing.delay);
  Regression solved = regress_at(question, readings, mixes, timing.delay);
  for (const TimingDoubt& doubt : timing.doubts) {
    std::vector<PowerReading> other = question.readings;
    set_window(other, doubt.window);
    add_doubt(solved, regress_at(question, other, mixes_at(question, other, doubt.delay), doubt.delay), doubt.weight);
  }
  OperatorPowers result;
  for (const TimingDoubt& doubt : timing.doubts) result.doubted.push_back(doubt.window);
  result.delay = timing.delay, result.window = timing.window;
  return with_powers(question, mixes, solved, std::move(result));
}

OperatorPowers solve_mixes(const OperatorQuestion& question, const Mixes& mixes) {
  return with_powers(question, mixes, regress(mixes.shares, mixes.kinds + 1, mixes.watts), {});
}

}  // namespace joulery
