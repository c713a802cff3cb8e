#include "ledger/serving/step_times.h"

#include <algorithm>
#include <cstdint>

#include "ledger/serving/serving_costs.h"

namespace joulery {
namespace {

constexpr std::size_t least_answers = 20;
constexpr double least_tokens = 4;   // a shorter answer's time says little
constexpr double room = 1.25;        // a prompt may wait for the end of a step, or be read in several

// Tokens so far, as a function of time: of prompts all at once, of answers evenly.
class Tally {
 public:
  explicit Tally(std::span<const ServingUse> uses) {
    for (const ServingUse& use : uses) {
      if (!use.in_turn()) continue;
      jumps_.push_back({use.prefill.end.ns, use.prefill_tokens});
      const double length = to_seconds(use.decode.length());
      if (!(length > 0) || !(use.decode_tokens > 0)) continue;
      slopes_.push_back({use.decode.begin.ns, use.decode_tokens / length});
      slopes_.push_back({use.decode.end.ns, -use.decode_tokens / length});
    }
    std::ranges::sort(jumps_, {}, &Change::at);
    std::ranges::sort(slopes_, {}, &Change::at);
    double sum = 0, rate = 0;
    std::int64_t last = slopes_.empty() ? 0 : slopes_.front().at;
    for (Change& jump : jumps_) jump.before = sum, sum += jump.by;
    prompts_ = sum;
    sum = 0;
    for (Change& slope : slopes_) {
      sum += rate * static_cast<double>(slope.at - last) * 1e-9;
      slope.before = sum;
      rate += slope.by;
      slope.rate = rate;
      last = slope.at;
    }
  }
  // Of prompts that were finished before or at `t`.
  double prompts(MonoTime t) const {
    const auto next = std::ranges::upper_bound(jumps_, t.ns, {}, &Change::at);
    return next == jumps_.end() ? prompts_ : next->before;
  }
  double answers(MonoTime t) const {
    const auto next = std::ranges::upper_bound(slopes_, t.ns, {}, &Change::at);
    if (next == slopes_.begin()) return 0;
    const Change& last = *std::prev(next);
    return last.before + last.rate * static_cast<double>(t.ns - last.at) * 1e-9;
  }

 private:
  struct Change {
    std::int64_t at;
    double by, before = 0, rate = 0;
  };
  std::vector<Change> jumps_, slopes_;
  double prompts_ = 0;
};

}  // namespace

StepTimes fit_step_times(std::span<const ServingUse> uses) {
  const Tally tally(uses);
  std::vector<ServingPoint> answers;
  for (const ServingUse& use : uses) {
    if (!use.in_turn() || use.guessed || use.decode_tokens < least_tokens || use.decode.empty()) continue;
    answers.push_back({.seconds = use.decode_tokens,
                       .steps = 0,
                       .prefill_tokens = tally.prompts(use.decode.end) - tally.prompts(use.decode.begin),
                       .decode_tokens = tally.answers(use.decode.end) - tally.answers(use.decode.begin),
                       .joules = to_seconds(use.decode.length())});
  }
  if (answers.size() < least_answers) return {};
  const ServingCoefficients c = fit_nonnegative(answers);
  return {c.idle_watts, c.prefill_joules, c.decode_joules, c.idle_watts > 0 || c.decode_joules > 0};
}

void drop_waiting(std::span<ServingUse> uses, const StepTimes& times) {
  if (!times.known) return;
  for (ServingUse& use : uses)
    if (use.queued && use.in_turn())
      use.prefill.begin =
          std::max(use.prefill.begin, use.prefill.end - seconds(room * (times.step_s + times.prefill_s_a_token * use.prefill_tokens)));
}

}  // namespace joulery
