#include "ledger/serving/serving_shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ledger/serving/slot_misses.h"
#include "ledger/split.h"

namespace joulery {
namespace {

constexpr double z90 = 1.6449;                  // half-width of a normal 90 % interval in standard deviations
constexpr std::size_t most_fit_points = 20'000;
constexpr double typical_prefills_a_point = 10;  // an interval must be long against what is only known to lie within it

// Found on simulated servers (docs/measured/serving.md). Of what is missed in a slot, so much of the variance is an error of
// shares, the rest steps that really cost more or less; and what prompts cost against answers is wrong by so much in a way that no resampling shows.
constexpr double error_of_misses = 0.7, cost_error = 0.05;

// What a use had in work within one slot.
struct Part {
  std::size_t use = 0;
  double prefill = 0, decode = 0, seconds = 0;
  double turns = 0;  // steps that it was in
};

class Sharer {
 public:
  Sharer(std::span<const ServingSlot> slots, std::span<const ServingUse> uses)
      : slots_(slots), uses_(uses.begin(), uses.end()), parts_(slots.size()), pace_(slots.size(), 1) {
    times_ = fit_step_times(uses_);
    drop_waiting(uses_, times_);
    if (times_.known) find_pace();
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      spread(i, uses_[i].prefill, uses_[i].prefill_tokens, &Part::prefill);
      spread(i, uses_[i].decode, uses_[i].decode_tokens, &Part::decode);
    }
  }

  const StepTimes& times() const { return times_; }
  // `host_only`: the accelerators' energy left out.
  std::vector<ServingPoint> points(bool host_only) const;
  void share(const ServingFacts& facts, ServingShares& result) const;

 private:
  void find_pace();
  template <class Take>
  void for_each_slot(Interval when, const Take& take) const;
  void spread(std::size_t use, Interval when, double tokens, double Part::* to);
  Part& part_of(std::size_t slot, std::size_t use);
  ServingPoint point_of(std::size_t slot, bool host_only) const;
  std::size_t slots_a_point() const;
  double steps(std::size_t slot) const;
  std::vector<double> weights(std::size_t slot, const ServingCoefficients& costs) const;
  std::vector<double> cost_variance(const ServingCosts& costs, double given_idle) const;
  std::vector<double> miss_variance(const ServingCoefficients& costs) const;
  void add_bounds(const ServingFacts& facts, ServingShares& result) const;

  std::span<const ServingSlot> slots_;
  StepTimes times_;
  std::vector<ServingUse> uses_;  // prompts without their waiting
  std::vector<std::vector<Part>> parts_;  // by slot
  std::vector<double> pace_;  // by slot: how fast answers come, relative to other slots
};

Part& Sharer::part_of(std::size_t slot, std::size_t use) {
  auto& parts = parts_[slot];
  if (parts.empty() || parts.back().use != use) parts.push_back({use, 0, 0, 0, 0});
  return parts.back();
}

// take(slot, seconds of `when` within it), for all that it touches.
template <class Take>
void Sharer::for_each_slot(Interval when, const Take& take) const {
  if (slots_.empty() || when.end <= slots_.front().when.begin || when.begin >= slots_.back().when.end) return;
  auto slot = static_cast<std::size_t>(std::ranges::upper_bound(slots_, when.begin, {}, [](const ServingSlot& s) { return s.when.begin; }) -
                                       slots_.begin());
  for (slot = slot == 0 ? 0 : slot - 1; slot < slots_.size() && slots_[slot].when.begin < when.end; ++slot)
    if (const Interval within = intersect(slots_[slot].when, when); !within.empty()) take(slot, to_seconds(within.length()));
}

// Steps in a slot: the time that prompts leave, over the length of a step that only answers (step_times.h).
void Sharer::find_pace() {
  std::vector<double> prompts(slots_.size()), answering(slots_.size());
  for (const ServingUse& use : uses_) {
    const double length = to_seconds(use.prefill.length());
    for_each_slot(use.prefill, [&](std::size_t slot, double s) { prompts[slot] += use.prefill_tokens * s / length; });
    for_each_slot(use.decode, [&](std::size_t slot, double s) { answering[slot] += s; });
  }
  constexpr double least = 0.02;  // of the slot: an answer that came at all came at some pace
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const double length = to_seconds(slots_[i].when.length());
    if (!(length > 0)) continue;
    const double left = std::max(least, 1 - times_.prefill_s_a_token * prompts[i] / length);
    pace_[i] = left / std::max(1e-9, times_.step_s + times_.decode_s_a_token * answering[i] / length);
  }
}

void Sharer::spread(std::size_t use, Interval when, double tokens, double Part::* to) {
  if (when.empty()) {
    const auto slot = std::ranges::find_if(slots_, [&](const ServingSlot& s) { return s.when.contains(when.begin); });
    if (slot == slots_.end() || !(tokens > 0)) return;
    Part& part = part_of(static_cast<std::size_t>(slot - slots_.begin()), use);
    part.*to += tokens;
    part.turns += to == &Part::decode ? tokens : 1;
    return;
  }
  const bool paced = to == &Part::decode && uses_[use].in_turn();
  // Outside the slots nobody knows the pace: there it is that of the time within.
  double within = 0, weighed = 0;
  for_each_slot(when, [&](std::size_t slot, double s) { within += s, weighed += paced ? s * pace_[slot] : s; });
  if (!(weighed > 0)) return;
  tokens *= within / to_seconds(when.length());
  for_each_slot(when, [&](std::size_t slot, double s) {
    Part& part = part_of(slot, use);
    const double fraction = (paced ? s * pace_[slot] : s) / weighed;
    part.*to += tokens * fraction;
    part.turns += to == &Part::decode ? tokens * fraction : fraction;
    part.seconds += s;
  });
}

// Time with anything in work, times the pace: steps, where it is known.
double Sharer::steps(std::size_t slot) const {
  double sum = 0;
  for (const Part& part : parts_[slot]) sum += part.seconds;
  return std::min(sum, to_seconds(slots_[slot].when.length())) * pace_[slot];
}

ServingPoint Sharer::point_of(std::size_t slot, bool host_only) const {
  ServingPoint point{.seconds = to_seconds(slots_[slot].when.length()),
                     .steps = steps(slot),
                     .prefill_tokens = 0,
                     .decode_tokens = 0,
                     .joules = to_joules(host_only ? slots_[slot].host : slots_[slot].accelerators + slots_[slot].host)};
  for (const Part& part : parts_[slot]) point.prefill_tokens += part.prefill, point.decode_tokens += part.decode;
  return point;
}

// How many slots make an interval that is long enough to fit: prompts are known to have been read between two moments, not when.
std::size_t Sharer::slots_a_point() const {
  if (slots_.empty() || uses_.empty()) return 1;
  std::vector<double> lengths;
  for (const ServingUse& use : uses_) lengths.push_back(std::max(0.0, to_seconds(use.prefill.length())));
  std::ranges::nth_element(lengths, lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2));
  const double slot = to_seconds(slots_.back().when.end - slots_.front().when.begin) / static_cast<double>(slots_.size());
  const double wanted = slot > 0 ? std::ceil(typical_prefills_a_point * lengths[lengths.size() / 2] / slot) : 1;
  const std::size_t most = std::max<std::size_t>(1, slots_.size() / 40), least = (slots_.size() + most_fit_points - 1) / most_fit_points;
  return std::max(least, std::min(most, static_cast<std::size_t>(std::max(1.0, wanted))));
}

std::vector<ServingPoint> Sharer::points(bool host_only) const {
  const std::size_t step = slots_a_point();
  std::vector<ServingPoint> points;
  for (std::size_t begin = 0; begin + step <= slots_.size(); begin += step) {
    ServingPoint sum;
    bool good = true;
    for (std::size_t i = begin; i < begin + step; ++i) {
      good = good && slots_[i].whole && !slots_[i].unattributed && !slots_[i].when.empty();
      const ServingPoint one = point_of(i, host_only);
      sum.seconds += one.seconds;
      sum.steps += one.steps;
      sum.prefill_tokens += one.prefill_tokens;
      sum.decode_tokens += one.decode_tokens;
      sum.joules += one.joules;
    }
    if (good) points.push_back(sum);
  }
  return points;
}

// By tokens, and what a step costs by itself in equal parts to those who are in it; by time in work where nobody has any.
std::vector<double> Sharer::weights(std::size_t slot, const ServingCoefficients& costs) const {
  std::vector<double> all;
  double sum = 0, turns = 0;
  for (const Part& part : parts_[slot]) turns += part.turns;
  const double turn = turns > 0 ? costs.step_joules * steps(slot) / turns : 0;
  for (const Part& part : parts_[slot]) {
    all.push_back(costs.prefill_joules * part.prefill + costs.decode_joules * part.decode + turn * part.turns);
    sum += all.back();
  }
  if (sum > 0) return all;
  all.clear();
  for (const Part& part : parts_[slot]) all.push_back(part.prefill + part.decode + part.seconds);
  return all;
}

void Sharer::share(const ServingFacts& facts, ServingShares& result) const {
  result.uses.resize(uses_.size());
  const double idle_accelerators = facts.idle_accelerator_watts.value_or(0), idle_host = facts.idle_host_watts.value_or(0);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const ServingSlot& slot = slots_[i];
    if (slot.unattributed) {
      result.unattributed += slot.accelerators + slot.host;
      continue;
    }
    const std::vector<double> w = weights(i, result.costs.best);
    const bool nobody = std::ranges::none_of(w, [](double weight) { return weight > 0; });
    const Duration length = slot.when.length();
    const Energy quiet_accelerators = nobody ? slot.accelerators : std::min(slot.accelerators, watts(idle_accelerators) * length);
    const Energy quiet_host = nobody ? slot.host : std::min(slot.host, watts(idle_host) * length);
    result.idle_accelerators += quiet_accelerators;
    result.idle_host += quiet_host;
    if (nobody) continue;
    result.active_accelerators += slot.accelerators - quiet_accelerators;
    result.active_host += slot.host - quiet_host;
    const std::vector<Energy> accelerators = split(slot.accelerators - quiet_accelerators, w), host = split(slot.host - quiet_host, w);
    for (std::size_t k = 0; k < w.size(); ++k) {
      SharedJoules& to = result.uses[parts_[i][k].use];
      to.accelerators += accelerators[k];
      to.host += host[k];
    }
  }
  for (std::size_t u = 0; u < uses_.size(); ++u) {
    const bool guessed = uses_[u].guessed || !result.costs.weights_fitted;
    result.uses[u].quality = worst(facts.quality, guessed ? Quality::estimated : Quality::derived);
  }
  add_bounds(facts, result);
}

// By use: the variance of what other coefficients, as likely, would have given it.
std::vector<double> Sharer::cost_variance(const ServingCosts& fitted, double given_idle) const {
  std::vector<double> sum(uses_.size()), squares(uses_.size());
  for (const ServingCoefficients& costs : fitted.replicates) {
    std::vector<double> one(uses_.size());
    const double idle = fitted.idle_source == "given" ? given_idle : costs.idle_watts;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (parts_[i].empty() || slots_[i].unattributed) continue;
      const std::vector<double> w = weights(i, costs);
      const double all = std::accumulate(w.begin(), w.end(), 0.0);
      const double active = std::max(0.0, to_joules(slots_[i].accelerators + slots_[i].host) - idle * to_seconds(slots_[i].when.length()));
      if (all > 0)
        for (std::size_t k = 0; k < w.size(); ++k) one[parts_[i][k].use] += active * w[k] / all;
    }
    for (std::size_t u = 0; u < one.size(); ++u) sum[u] += one[u], squares[u] += one[u] * one[u];
  }
  const auto n = static_cast<double>(fitted.replicates.size());
  for (std::size_t u = 0; u < sum.size(); ++u) squares[u] = n > 1 ? std::max(0.0, (squares[u] - sum[u] * sum[u] / n) / (n - 1)) : 0;
  return squares;
}

// By use: the variance of what the costs miss in its slots, and of prompts that weigh too much or too little against answers.
std::vector<double> Sharer::miss_variance(const ServingCoefficients& c) const {
  std::vector<SlotMiss> misses(slots_.size());
  std::vector<std::vector<SlotFraction>> fractions(uses_.size());
  std::vector<double> moved(uses_.size());  // joules that it would get more if prompts weighed twice as much, as a slope
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const ServingPoint p = point_of(i, false);
    const double prompts = c.prefill_joules * p.prefill_tokens,
                 told = c.idle_watts * p.seconds + c.step_joules * p.steps + prompts + c.decode_joules * p.decode_tokens;
    misses[i] = {!parts_[i].empty() && slots_[i].whole && !slots_[i].unattributed, p.joules - told, prompts};
    const std::vector<double> w = weights(i, c);
    const double all = std::accumulate(w.begin(), w.end(), 0.0), active = std::max(0.0, p.joules - c.idle_watts * p.seconds);
    for (std::size_t k = 0; k < w.size() && all > 0; ++k) {
      const Part& part = parts_[i][k];
      fractions[part.use].push_back({i, w[k] / all});
      moved[part.use] += active * (c.prefill_joules * part.prefill - w[k] * prompts / all) / all;
    }
  }
  const MissModel model = model_misses(misses);
  std::vector<double> variance;
  for (std::size_t u = 0; u < uses_.size(); ++u)
    variance.push_back(error_of_misses * missed_variance(model, fractions[u]) + cost_error * cost_error * moved[u] * moved[u]);
  return variance;
}

// How far a share may be off: by the costs, by what they miss, and by the meters' own error, which all shares have in common.
void Sharer::add_bounds(const ServingFacts& facts, ServingShares& result) const {
  const double given = facts.idle_accelerator_watts.value_or(0) + facts.idle_host_watts.value_or(0);
  std::vector<double> variance = cost_variance(result.costs, given);
  if (result.costs.weights_fitted) {
    const std::vector<double> missed = miss_variance(result.costs.best);
    for (std::size_t u = 0; u < variance.size(); ++u) variance[u] += missed[u];
  }
  for (std::size_t u = 0; u < uses_.size(); ++u) {
    SharedJoules& share = result.uses[u];
    const Energy value = share.accelerators + share.host;
    const double half = z90 * std::sqrt(variance[u]) + facts.relative_error * to_joules(value);
    share.total = {value, std::max(Energy{}, value - joules(half)), value + joules(half)};
  }
}

// The idle power of accelerators and of the rest, where it is not given: the host's is found like that of the whole, the
// accelerators have what is left of it.
void add_idle(std::span<const ServingSlot> slots, const Sharer& sharer, const ServingCosts& costs, ServingFacts& facts) {
  if (facts.idle_accelerator_watts && facts.idle_host_watts) return;
  const bool accelerated = std::ranges::any_of(slots, [](const ServingSlot& slot) { return slot.accelerators > Energy{}; });
  const double whole = costs.best.idle_watts;
  const double host = accelerated ? std::min(whole, fit_serving_costs(sharer.points(true), std::nullopt).best.idle_watts) : whole;
  facts.idle_host_watts = host;
  facts.idle_accelerator_watts = whole - host;
}

}  // namespace

ServingShares share_serving(std::span<const ServingSlot> slots, std::span<const ServingUse> uses, const ServingFacts& given) {
  ServingFacts facts = given;
  const Sharer sharer(slots, uses);
  ServingShares result;
  const std::optional<double> idle = facts.idle_accelerator_watts && facts.idle_host_watts
                                         ? std::optional(*facts.idle_accelerator_watts + *facts.idle_host_watts)
                                         : std::nullopt;
  result.costs = fit_serving_costs(sharer.points(false), idle);
  result.times = sharer.times();
  add_idle(slots, sharer, result.costs, facts);
  sharer.share(facts, result);
  return result;
}

}  // namespace joulery
