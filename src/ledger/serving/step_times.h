// How long a server's steps are, told from its requests' times alone. Pure.
//
// A server that batches continuously works in steps: each gives one token to every answer in work, and reads some prompt. So the
// time of an answer is a sum over its steps:
//
//   time = step * its tokens + prefill * prompt tokens read meanwhile + decode * answer tokens of all meanwhile
//
// with coefficients not below 0, by least squares over all answers. With them a prompt's place in time is known although it may
// have waited in a queue (it ends with the first token), and so is how much slower answers come while prompts are read.
#pragma once

#include <span>
#include <vector>

#include "core/time.h"

namespace joulery {

// What one request (or one model, over one interval between two looks at a server's counters) had done, and when.
struct ServingUse {
  Interval prefill, decode;      // tokens come within; an empty interval is an instant
  double prefill_tokens = 0, decode_tokens = 0;
  bool guessed = false;          // its tokens were not told
  bool queued = false;           // the prompt waited for some of `prefill`
  // A prompt, then an answer: false where both are only known to lie within one interval.
  bool in_turn() const { return prefill.end <= decode.begin; }
};

struct StepTimes {
  double step_s = 0, prefill_s_a_token = 0, decode_s_a_token = 0;
  bool known = false;            // false: too few answers, or they do not follow
};

StepTimes fit_step_times(std::span<const ServingUse> uses);

// Prompts that waited are moved to the end of their time, with some room beside what they take.
void drop_waiting(std::span<ServingUse> uses, const StepTimes& times);

}  // namespace joulery
