#include "ledger/operators/operator_powers.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "ledger/operators/grouping.h"
#include "ledger/operators/mixes.h"
#include "ledger/operators/regression.h"
#include "ledger/split.h"

namespace joulery {
namespace {

constexpr double change_certain = 0.001;  // probability by chance below which powers are said to have changed
constexpr double delay_certain = 20;      // twice the logarithm of how much likelier a delay must be than none
constexpr double little_explained = 0.05;

Mixes mixes_at(const OperatorQuestion& q, Duration late) {
  return mixes_of(q.kinds.size(), q.activities, q.readings, q.when, {late, q.most_delay}, q.on_static_power);
}

Duration typical_window(std::span<const PowerReading> readings) {
  std::vector<std::int64_t> lengths;
  for (const PowerReading& reading : readings) lengths.push_back(reading.when.length().base_units());
  if (lengths.empty()) return {};
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return nanoseconds(*middle);
}

// The least misfit of all delays: on a grid of a thirty-second of a window, for what repeats with the steps has many least ones, and then
// finer around the best. None where no delay is clearly better than none.
class DelaySearch {
 public:
  explicit DelaySearch(const OperatorQuestion& q) : q_(q), none_(misfit_at(0)), least_(none_) {}

  Duration best() {
    const std::int64_t most = q_.most_delay.base_units();
    std::int64_t step = std::max<std::int64_t>(1000, std::min(typical_window(q_.readings).base_units() / 32, most / 2));
    for (std::int64_t ns = -(most / step) * step; ns <= most; ns += step) look(ns);
    for (step /= 2; step >= 1000; step /= 2) {
      const std::int64_t around = best_;
      look(std::max(around - step, -most));
      look(std::min(around + step, most));
    }
    const bool clear = least_ > 0 ? static_cast<double>(q_.readings.size()) * std::log(none_ / least_) > delay_certain : none_ > 0;
    return nanoseconds(clear ? best_ : 0);
  }

 private:
  double misfit_at(std::int64_t ns) const {
    const Mixes mixes = mixes_at(q_, nanoseconds(ns));
    return misfit(mixes.shares, mixes.kinds + 1, mixes.watts);
  }
  void look(std::int64_t ns) {
    const double value = misfit_at(ns);
    if (value < least_) least_ = value, best_ = ns;
  }

  const OperatorQuestion& q_;
  double none_, least_;
  std::int64_t best_ = 0;
};

Duration find_delay(const OperatorQuestion& q) {
  if (q.most_delay <= Duration{} || q.readings.size() < q.kinds.size() + 20) return {};
  return DelaySearch(q).best();
}

// What the readings would be more if the delay were a millisecond more: as one more column it lets the delay, which is not known exactly,
// be solved for with the powers, so that their intervals hold what is not known of it.
std::vector<double> slope_of_delay(const OperatorQuestion& q, Duration delay, std::span<const double> watts_of_kinds) {
  const Duration step = nanoseconds(std::max<std::int64_t>(1000, typical_window(q.readings).base_units() / 100));
  const Mixes before = mixes_at(q, delay - step), after = mixes_at(q, delay + step);
  std::vector<double> slope(before.rows());
  for (std::size_t i = 0; i < slope.size(); ++i)
    slope[i] = (mean_of(after.row(i), watts_of_kinds) - mean_of(before.row(i), watts_of_kinds)) / (2e3 * to_seconds(step));
  return slope;
}

// The powers, with the delay's column last where a delay was searched for.
Regression regress_mixes(const OperatorQuestion& q, const Mixes& mixes, Duration delay) {
  const std::size_t width = mixes.kinds + 1;
  Regression plain = regress(mixes.shares, width, mixes.watts);
  if (q.most_delay <= Duration{} || plain.value.empty()) return plain;
  const std::vector<double> slope = slope_of_delay(q, delay, plain.value);
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

std::string name_of_part(const OperatorQuestion& q, const OperatorPowers& powers, std::size_t k) {
  return k < q.kinds.size() ? q.kinds[k] : powers.on_static_power ? "static power" : "gaps";
}

// Groups with their mean powers and intervals.
void add_groups(OperatorPowers& result, const Regression& solved, double widened) {
  const double half_width = student_90(solved.freedom) * widened;
  std::vector<double> seconds = result.seconds;
  seconds.resize(solved.value.size());  // a column of the delay is no kind: it never ran
  const auto groups = tell_apart(solved, seconds, half_width);
  std::vector<std::vector<double>> weights;
  for (const auto& members : groups) weights.push_back(group_weights(members, seconds));
  std::vector<double> mean, covariance;
  for (const auto& a : weights) {
    mean.push_back(mean_of(a, solved.value));
    for (const auto& b : weights) covariance.push_back(covariance_of(a, solved.covariance, b));
  }
  const std::vector<double> bounded = not_negative(mean, covariance);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    OperatorGroup group{groups[g], 0, watts(bounded[g]), {}, {}, {}};
    for (const std::size_t k : group.members) group.seconds += result.seconds[k];
    const double half = half_width * std::sqrt(std::max(0.0, covariance[g * groups.size() + g]));
    group.low = watts(std::clamp(mean[g] - half, 0.0, bounded[g]));
    group.high = watts(std::max(mean[g] + half, bounded[g]));
    result.groups.push_back(std::move(group));
  }
}

// Too few readings: everything that ran at the mean power, of which nothing more is known than that it is not negative.
void add_by_time(OperatorPowers& result, const OperatorQuestion& q) {
  OperatorGroup all;
  for (std::size_t k = 0; k < result.seconds.size(); ++k)
    if (result.seconds[k] > 0) all.members.push_back(k), all.seconds += result.seconds[k];
  if (all.members.empty()) all.members.push_back(result.seconds.size() - 1), all.seconds = to_seconds(q.when.length());
  const auto mean = [&](Energy e) { return watts(all.seconds > 0 ? std::max(0.0, to_joules(e) / all.seconds) : 0); };
  all.power = mean(q.whole.value), all.low = mean(q.whole.low), all.high = mean(q.whole.high);
  result.groups.push_back(std::move(all));
  result.notes.push_back("too few readings to tell powers apart: joules follow time alone");
}

// Each group's energy so that all sum to the whole, and its interval with the meter's own error.
void share_energy(OperatorPowers& result, const OperatorQuestion& q) {
  std::vector<double> weights;
  double sum = 0;
  for (const OperatorGroup& group : result.groups) weights.push_back(to_watts(group.power) * group.seconds), sum += weights.back();
  result.scale = sum > 0 ? to_joules(q.whole.value) / sum : 1;
  const std::vector<Energy> energies = split(q.whole.value, weights);
  const double whole = std::max(to_joules(q.whole.value), 1e-12);
  const double below = std::max(0.0, 1 - to_joules(q.whole.low) / whole), above = std::max(0.0, to_joules(q.whole.high) / whole - 1);
  result.energy.assign(result.seconds.size(), Energy{});
  for (std::size_t g = 0; g < result.groups.size(); ++g) {
    OperatorGroup& group = result.groups[g];
    const double value = to_joules(energies[g]), per_watt = group.seconds * result.scale;
    const double down = std::hypot(to_watts(group.power - group.low) * per_watt, value * below);
    const double up = std::hypot(to_watts(group.high - group.power) * per_watt, value * above);
    group.energy = {energies[g], std::max(Energy{}, energies[g] - joules(down)), energies[g] + joules(up)};
    std::vector<double> times;
    for (const std::size_t k : group.members) times.push_back(result.seconds[k]);
    const std::vector<Energy> members = split(energies[g], times);
    for (std::size_t i = 0; i < members.size(); ++i) result.energy[group.members[i]] = members[i];
  }
}

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
  if (changed)
    result.notes.push_back(
        fmt::format("powers are not the same in both halves (F = {:.1f}): each is a mean over the time, its interval widened by {:.1f}",
                    solved.change, std::sqrt(solved.change)));
  if (solved.explained < little_explained)
    result.notes.push_back(fmt::format("what ran explains only {:.0f} % of how the power varied", 100 * solved.explained));
}

void index_groups(OperatorPowers& result) {
  std::ranges::stable_sort(result.groups, [](const auto& a, const auto& b) { return a.energy.value > b.energy.value; });
  result.group_of.assign(result.seconds.size(), result.groups.size());
  for (std::size_t g = 0; g < result.groups.size(); ++g)
    for (const std::size_t k : result.groups[g].members) result.group_of[k] = g;
}

}  // namespace

OperatorPowers solve_operators(const OperatorQuestion& question) {
  OperatorPowers result;
  result.delay = find_delay(question);
  const Mixes mixes = mixes_at(question, result.delay);
  result.seconds = mixes.seconds;
  result.gap_seconds = mixes.gap_seconds, result.busy_seconds = mixes.busy_seconds;
  result.on_static_power = mixes.overlapping;
  result.readings = mixes.rows();
  const Regression solved = regress_mixes(question, mixes, result.delay);
  result.solved = !solved.value.empty();
  if (result.solved) {
    const bool changed = solved.change_probability < change_certain;
    result.noise_watts = solved.noise, result.explained = solved.explained;
    add_groups(result, solved, changed ? std::max(1.0, std::sqrt(solved.change)) : 1);
    share_energy(result, question);
    index_groups(result);
    add_notes(result, question, solved, changed);
  } else {
    add_by_time(result, question);
    share_energy(result, question);
    index_groups(result);
  }
  return result;
}

}  // namespace joulery
