#include "ledger/serving/slot_misses.h"

#include <algorithm>
#include <cmath>

namespace joulery {
namespace {

constexpr double least_of_pooled = 0.05;  // no stretch is free of what others miss

// The variance as a straight line over the prompts' joules, neither of its coefficients below 0.
struct Line {
  double at_none = 0, a_joule = 0;
};

Line variance_line(std::span<const SlotMiss> slots, double pooled, double count) {
  double x = 0, xx = 0, xy = 0;
  for (const SlotMiss& slot : slots)
    if (slot.known) {
      x += slot.prompt_joules;
      xx += slot.prompt_joules * slot.prompt_joules;
      xy += slot.prompt_joules * slot.missed * slot.missed;
    }
  const double spread = count * xx - x * x;
  if (!(spread > 1e-12 * count * xx)) return {pooled, 0};
  Line line;
  line.a_joule = std::max(0.0, (count * xy - x * pooled * count) / spread);
  line.at_none = pooled - line.a_joule * x / count;
  if (line.at_none >= least_of_pooled * pooled) return line;
  return {least_of_pooled * pooled, (1 - least_of_pooled) * pooled * count / x};
}

// Of slots that are so far apart, in their own standard deviations.
double correlation(std::span<const SlotMiss> slots, std::span<const double> deviation, std::size_t apart) {
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].known || !(deviation[i] > 0)) continue;
    const double one = slots[i].missed / deviation[i];
    squares += one * one;
    if (i >= apart && slots[i - apart].known && deviation[i - apart] > 0) products += one * slots[i - apart].missed / deviation[i - apart];
  }
  return squares > 0 ? products / squares : 0;
}

}  // namespace

MissModel model_misses(std::span<const SlotMiss> slots) {
  MissModel model;
  model.deviation.resize(slots.size());
  double squares = 0, count = 0;
  for (const SlotMiss& slot : slots)
    if (slot.known) squares += slot.missed * slot.missed, count += 1;
  if (!(squares > 0)) return model;
  const double pooled = squares / count;
  const Line line = variance_line(slots, pooled, count);
  // Half way to the mean of all: the line follows the few largest misses.
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (slots[i].known) model.deviation[i] = std::sqrt((pooled + line.at_none + line.a_joule * slots[i].prompt_joules) / 2);
  model.next = correlation(slots, model.deviation, 1);
  model.after = correlation(slots, model.deviation, 2);
  return model;
}

double missed_variance(const MissModel& model, std::span<const SlotFraction> fractions) {
  double sum = 0;
  const auto joules = [&](std::size_t k) { return fractions[k].fraction * model.deviation[fractions[k].slot]; };
  const auto apart = [&](std::size_t k, std::size_t back) {
    return k >= back && fractions[k - back].slot + back == fractions[k].slot ? 2 * joules(k) * joules(k - back) : 0;
  };
  for (std::size_t k = 0; k < fractions.size(); ++k) sum += joules(k) * joules(k) + model.next * apart(k, 1) + model.after * apart(k, 2);
  return std::max(sum, 0.0);
}

}  // namespace joulery
