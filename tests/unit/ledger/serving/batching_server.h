// A server that works on many requests at a time, on paper: continuous batching with known costs of a prompt's token, an answer's
// token, a step, and idle power. What each request really cost is added up as the steps go by; what a meter would show is the same
// energy, read at an interval.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "ledger/serving/request_uses.h"
#include "ledger/serving/serving_shares.h"

namespace joulery::simulated {

struct Costs {
  double idle_w = 90, step_j = 0, prefill_j = 0.05, decode_j = 0.8;
  double jitter = 0.03;     // of each step's energy
  double meter_noise_j = 0; // of each reading
};

struct Kind {
  std::string name;
  double share, tokens_in, tokens_out;  // means; real lengths spread from half to one and a half of them
};

struct Run {
  std::vector<ServedRequest> requests;
  std::vector<double> truth;        // joules of each request
  std::vector<ServingSlot> slots;
  double idle_truth = 0;
};

struct Load {
  double seconds = 300, requests_a_second = 6, slot_s = 0.1;
  int most_batch = 32;
  bool tell_scheduled = false;
  std::vector<Kind> kinds = {{"chat", 0.6, 300, 120}, {"summary", 0.3, 2000, 60}, {"code", 0.1, 500, 400}};
};

inline Run simulate(const Costs& costs, const Load& load, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::normal_distribution<double> normal(0, 1);
  struct Live {
    std::size_t at;
    double out_left, in_left;
  };
  Run run;
  std::vector<double> power_j(static_cast<std::size_t>(load.seconds / load.slot_s) + 1);
  std::deque<Live> waiting;
  std::vector<Live> batch;
  const auto wall = [](double t) { return WallTime{1'700'000'000'000'000'000 + to_whole(t * 1e9)}; };
  double t = 0, next = 0;
  const auto burn = [&](double begin, double end, double j) {  // evenly over [begin, end)
    for (double at = begin; at < end;) {
      const auto slot = static_cast<std::size_t>(at / load.slot_s + 1e-9);
      const double stop = std::min(end, (static_cast<double>(slot) + 1) * load.slot_s);
      if (slot < power_j.size()) power_j[slot] += j * (stop - at) / (end - begin);
      if (stop <= at) break;
      at = stop;
    }
  };
  const auto arrive = [&](double until) {
    while (next <= until && next < load.seconds * 0.9) {
      double pick = uniform(random);
      const Kind* kind = &load.kinds.back();
      for (const Kind& k : load.kinds)
        if ((pick -= k.share) < 0) {
          kind = &k;
          break;
        }
      const double in = std::round(kind->tokens_in * (0.5 + uniform(random))),
                   out = std::round(kind->tokens_out * (0.5 + uniform(random))) + 1;
      ServedRequest r;
      r.group = kind->name;
      r.start = wall(next);
      r.tokens_in = in;
      r.tokens_out = out;
      run.requests.push_back(r);
      run.truth.push_back(0);
      waiting.push_back({run.requests.size() - 1, out, in});
      next += -std::log(1 - uniform(random)) / load.requests_a_second;
    }
  };
  while (t < load.seconds) {
    arrive(t);
    while (!waiting.empty() && static_cast<int>(batch.size()) < load.most_batch) {
      batch.push_back(waiting.front());
      waiting.pop_front();
      if (load.tell_scheduled) run.requests[batch.back().at].scheduled = wall(t);
    }
    if (batch.empty()) {
      const double until = std::min(load.seconds, std::max(next, t + 1e-3));
      if (next >= load.seconds * 0.9) {
        burn(t, load.seconds, costs.idle_w * (load.seconds - t));
        run.idle_truth += costs.idle_w * (load.seconds - t);
        break;
      }
      burn(t, until, costs.idle_w * (until - t));
      run.idle_truth += costs.idle_w * (until - t);
      t = until;
      continue;
    }
    // One step: prompts in chunks of 2048 tokens in all, and one token of each answer.
    double chunk = 2048, prefilled = 0, decoded = 0;
    std::vector<std::pair<std::size_t, double>> share;
    for (Live& one : batch) {
      if (one.in_left > 0) {
        const double take = std::min(chunk, one.in_left);
        chunk -= take;
        one.in_left -= take;
        prefilled += take;
        share.emplace_back(one.at, take * costs.prefill_j);
        if (one.in_left <= 0) one.out_left -= 1;
      } else {
        one.out_left -= 1;
        decoded += 1;
        share.emplace_back(one.at, costs.decode_j);
      }
    }
    const double length = 0.012 + 2e-5 * prefilled + 2e-4 * decoded, factor = 1 + costs.jitter * normal(random);
    double all = 0;
    for (const auto& [at, j] : share) all += j;
    for (const auto& [at, j] : share) run.truth[at] += factor * (j + costs.step_j / static_cast<double>(share.size()));
    burn(t, t + length, factor * (all + costs.step_j) + costs.idle_w * length);
    run.idle_truth += costs.idle_w * std::min(length, load.seconds - t);
    t += length;
    for (Live& one : batch) {
      ServedRequest& r = run.requests[one.at];
      if (one.in_left <= 0 && !r.first_token) r.first_token = wall(t);
      if (one.out_left <= 0) r.end = wall(t);
    }
    std::erase_if(batch, [](const Live& one) { return one.out_left <= 0; });
  }
  // A server tells of the requests that it ended, and of those that it broke off: what they had got by then. Who still waits is
  // in no log.
  for (const Live& one : batch) {
    ServedRequest& r = run.requests[one.at];
    r.end = wall(t);
    r.tokens_in = *r.tokens_in - one.in_left;
    r.tokens_out = *r.tokens_out - one.out_left;
    if (!r.first_token) r.first_token = r.end;
  }
  std::vector<ServedRequest> told;
  std::vector<double> truth;
  for (std::size_t i = 0; i < run.requests.size(); ++i)
    if (run.requests[i].end.ns != 0) told.push_back(run.requests[i]), truth.push_back(run.truth[i]);
  run.requests = std::move(told);
  run.truth = std::move(truth);
  for (std::size_t i = 0; i < power_j.size() && static_cast<double>(i) * load.slot_s < load.seconds - 1e-9; ++i) {
    const auto edge = [&](std::size_t k) { return MonoTime{to_whole(static_cast<double>(k) * load.slot_s * 1e9)}; };
    run.slots.push_back({.when = {edge(i), edge(i + 1)},
                         .accelerators = {},
                         .host = joules(std::max(0.0, power_j[i] + costs.meter_noise_j * normal(random)))});
  }
  return run;
}

// Where the simulated clocks meet.
inline ClockMap clocks() { return {{0}, {0}, {1'700'000'000'000'000'000}}; }

}  // namespace joulery::simulated
