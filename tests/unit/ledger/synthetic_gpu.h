// A GPU that never was: operators of known power in steps, a meter that ticks and is noisy. What solving for powers is proved on.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "ledger/operators/operator_powers.h"

namespace joulery {

struct SyntheticWorld {
  std::size_t kinds = 10;
  double step_seconds = 0.1;
  double jitter = 0.03;           // of each duration, standard deviation relative to it
  double noise_watts = 3;         // of each reading
  double tick_seconds = 0.1;      // of the meter
  double seconds = 600;
  double echo = 0;                // how much of a reading's error the next one takes back: a counter's is -1 at most
  double late_seconds = 0;        // how much later the meter's time is
  double drift = 0;               // powers grow by so much from begin to end, relative
  bool two_streams = false;       // operators overlap
};

struct SyntheticGpu {
  OperatorQuestion question;
  std::vector<double> watts;      // of each kind, and of the gaps at the end
};

namespace synthetic {

struct Piece {
  std::uint32_t kind;
  double seconds;
};

// A step: each kind one to four times, in some order, with a gap after some; kinds differ in length by a factor of twenty.
inline std::vector<Piece> make_step(const SyntheticWorld& world, std::mt19937_64& random) {
  std::uniform_real_distribution<double> evenly(0, 1);
  std::vector<Piece> pieces;
  for (std::uint32_t k = 0; k < world.kinds; ++k) {
    const double length = std::exp(evenly(random) * 3);
    for (int i = 0, count = 1 + static_cast<int>(evenly(random) * 4); i < count; ++i) pieces.push_back({k, length});
  }
  std::ranges::shuffle(pieces, random);
  double sum = 0;
  for (const Piece& piece : pieces) sum += piece.seconds;
  const double idle = 0.05 + 0.1 * evenly(random);
  for (Piece& piece : pieces) piece.seconds *= world.step_seconds * (1 - idle) / sum;
  const auto gap = static_cast<std::uint32_t>(world.kinds);
  const std::size_t places = 1 + pieces.size() / 4;
  for (std::size_t i = 0; i < places; ++i)
    pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(evenly(random) * static_cast<double>(pieces.size())),
                  {gap, world.step_seconds * idle / static_cast<double>(places)});
  return pieces;
}

inline MonoTime at(double seconds) { return {1'000'000'000 + static_cast<std::int64_t>(std::llround(seconds * 1e9))}; }

}  // namespace synthetic

inline SyntheticGpu make_synthetic_gpu(const SyntheticWorld& world, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> evenly(0, 1);
  std::normal_distribution<double> normal;
  SyntheticGpu gpu;
  for (std::size_t k = 0; k < world.kinds; ++k) {
    gpu.watts.push_back(80 + 320 * evenly(random));
    gpu.question.kinds.push_back("op" + std::to_string(k));
  }
  gpu.watts.push_back(40 + 40 * evenly(random));
  const std::vector<synthetic::Piece> step = synthetic::make_step(world, random);

  // The power as cumulative joules at the ticks, exactly: each piece adds to the ticks that it meets.
  const auto ticks = static_cast<std::size_t>(world.seconds / world.tick_seconds);
  std::vector<double> joules(ticks);
  double now = 0;
  const auto burn = [&](double watts, double seconds) {
    const double end = now + seconds;
    for (auto i = static_cast<std::size_t>(now / world.tick_seconds); i < ticks && static_cast<double>(i) * world.tick_seconds < end; ++i) {
      const double begin_of = static_cast<double>(i) * world.tick_seconds;
      const double inside = std::min(end, begin_of + world.tick_seconds) - std::max(now, begin_of);
      if (inside > 0) joules[i] += watts * inside;
    }
  };
  const double end = static_cast<double>(ticks) * world.tick_seconds;
  while (now < end)
    for (const synthetic::Piece& piece : step) {
      const double seconds = piece.seconds * std::max(0.1, 1 + world.jitter * normal(random));
      burn(gpu.watts[piece.kind] * (1 + world.drift * now / end), seconds);
      if (piece.kind < world.kinds) gpu.question.activities.push_back({piece.kind, {synthetic::at(now), synthetic::at(now + seconds)}, 1});
      now += seconds;
      if (now >= end) break;
    }

  double before = 0, whole = 0;
  for (std::size_t i = 0; i < ticks; ++i) {
    const double error = world.noise_watts * normal(random);
    const double begin = static_cast<double>(i) * world.tick_seconds + world.late_seconds;
    gpu.question.readings.push_back(
        {{synthetic::at(begin), synthetic::at(begin + world.tick_seconds)}, joules[i] / world.tick_seconds + error + world.echo * before});
    before = error;
    whole += joules[i];
  }
  gpu.question.when = {synthetic::at(0), synthetic::at(end)};
  const Energy energy = joulery::joules(whole);
  gpu.question.whole = {energy, energy, energy};
  return gpu;
}

// The world that is asked of: 5 to 20 kinds, steps of 20 to 200 ms, jitter 1 to 5 %, noise 2 to 5 W.
inline SyntheticWorld world_of(std::uint64_t seed) {
  std::mt19937_64 random(seed * 7919 + 17);
  std::uniform_real_distribution<double> evenly(0, 1);
  SyntheticWorld world;
  world.kinds = 5 + static_cast<std::size_t>(evenly(random) * 16);
  world.step_seconds = 0.02 + 0.18 * evenly(random);
  world.jitter = 0.01 + 0.04 * evenly(random);
  world.noise_watts = 2 + 3 * evenly(random);
  return world;
}

// How well solved powers fit the truth, over groups with at least 3 % of the time.
struct SyntheticScore {
  int groups = 0, within = 0, covered = 0;   // groups; within 5 %; truth inside the 90 % interval
  int kinds = 0, alone = 0, alone_within = 0;// kinds with >= 3 % of the time; told apart; told apart and within 5 %
  double worst = 0;                          // greatest relative error
};

inline void add_score(SyntheticScore& score, const SyntheticGpu& gpu, const OperatorPowers& powers) {
  const double all = to_seconds(gpu.question.when.length());
  for (const OperatorGroup& group : powers.groups) {
    double joules = 0;
    bool operators = false;
    for (const std::size_t k : group.members)
      joules += gpu.watts[k] * powers.seconds[k], operators = operators || k < gpu.question.kinds.size();
    if (!operators || group.seconds < 0.03 * all) continue;
    const double truth = joules / group.seconds, error = std::abs(to_watts(group.power) / truth - 1);
    ++score.groups;
    score.within += error <= 0.05;
    score.covered += to_watts(group.low) <= truth && truth <= to_watts(group.high);
    score.worst = std::max(score.worst, error);
    for (const std::size_t k : group.members)
      if (k < gpu.question.kinds.size() && powers.seconds[k] >= 0.03 * all) ++score.kinds;
    if (group.members.size() == 1) ++score.alone, score.alone_within += error <= 0.05;
  }
}

}  // namespace joulery
