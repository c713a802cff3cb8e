// A GPU that never was: operators of known power in steps, a meter that ticks and is noisy. What solving for powers is proved on.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
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
  double window_seconds = 0;      // that a reading is the mean of, up to its tick; 0: a tick
  double told_window_seconds = 0; // what the meter is believed to be; 0: the truth
  double seconds = 600;
  double echo = 0;                // how much of a reading's error the next one takes back: a counter's is -1 at most
  double late_seconds = 0;        // how much later the meter's time is
  double drift = 0;               // powers grow by so much from begin to end, relative
  int most_calls = 4;             // of a kind in a step
  bool two_streams = false;       // every other kind on a second stream: powers add up on a static power
};

// What is tuned is tuned on seeds from 0 on; what is judged, in tests and in docs/measured, on seeds that no tuning has seen.
inline constexpr std::uint64_t judged_from = 1'000'000;

struct SyntheticGpu {
  OperatorQuestion question;
  std::vector<double> watts;      // of each kind, mean over the time, and of the gaps or the static power at the end
};

namespace synthetic {

struct Piece {
  std::uint32_t kind;
  double seconds;
};

// A step of so many kinds from `first` on: each one to `most_calls` times, in some order, with a gap after some; kinds differ in length by a
// factor of twenty.
inline std::vector<Piece> make_step(const SyntheticWorld& world, const std::vector<std::uint32_t>& kinds, std::mt19937_64& random) {
  std::uniform_real_distribution<double> evenly(0, 1);
  std::vector<Piece> pieces;
  for (const std::uint32_t k : kinds) {
    const double length = std::exp(evenly(random) * 3);
    for (int i = 0, count = 1 + static_cast<int>(evenly(random) * world.most_calls); i < count; ++i) pieces.push_back({k, length});
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

// What a stream has burnt by any time, exactly: straight between the ends of its pieces.
class Burnt {
 public:
  void add(double until, double more) { times_.push_back(until), joules_.push_back(joules_.back() + more); }
  double last() const { return times_.back(); }
  // `when` never falls from one call to the next by more than a window.
  double by(double when) {
    while (place_ > 0 && times_[place_] > when) --place_;
    while (place_ + 2 < times_.size() && times_[place_ + 1] <= when) ++place_;
    const double share = (when - times_[place_]) / (times_[place_ + 1] - times_[place_]);
    return joules_[place_] + share * (joules_[place_ + 1] - joules_[place_]);
  }

 private:
  std::vector<double> times_{0}, joules_{0};
  std::size_t place_ = 0;
};

inline MonoTime at(double seconds) { return {1'000'000'000 + static_cast<std::int64_t>(std::llround(seconds * 1e9))}; }

}  // namespace synthetic

// One stream's steps until the end: its activities, and what it burns.
inline synthetic::Burnt run_stream(const SyntheticWorld& world, const std::vector<std::uint32_t>& kinds, double end, SyntheticGpu& gpu,
                                   std::mt19937_64& random) {
  const std::vector<synthetic::Piece> step = synthetic::make_step(world, kinds, random);
  std::normal_distribution<double> normal;
  synthetic::Burnt burnt;
  while (burnt.last() < end)
    for (const synthetic::Piece& piece : step) {
      const double now = burnt.last(), seconds = piece.seconds * std::max(0.1, 1 + world.jitter * normal(random));
      const bool gap = piece.kind == world.kinds;
      const double watts = gap && world.two_streams ? 0 : gpu.watts[piece.kind] * (1 + world.drift * now / end) / (1 + world.drift / 2);
      burnt.add(now + seconds, watts * seconds);
      if (!gap) gpu.question.activities.push_back({piece.kind, {synthetic::at(now), synthetic::at(now + seconds)}, 1});
      if (burnt.last() >= end) break;
    }
  return burnt;
}

inline SyntheticGpu make_synthetic_gpu(const SyntheticWorld& world, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> evenly(0, 1);
  std::normal_distribution<double> normal;
  SyntheticGpu gpu;
  gpu.question.averaged = true;
  std::vector<std::vector<std::uint32_t>> kinds_of(world.two_streams ? 2 : 1);
  for (std::size_t k = 0; k < world.kinds; ++k) {
    gpu.watts.push_back((80 + 320 * evenly(random)) / static_cast<double>(kinds_of.size()));
    gpu.question.kinds.push_back("op" + std::to_string(k));
    kinds_of[k % kinds_of.size()].push_back(static_cast<std::uint32_t>(k));
  }
  gpu.watts.push_back(40 + 40 * evenly(random));
  const double window = world.window_seconds > 0 ? world.window_seconds : world.tick_seconds;
  const double told = world.told_window_seconds > 0 ? world.told_window_seconds : window;
  const auto ticks = static_cast<std::size_t>(world.seconds / world.tick_seconds);
  const double end = static_cast<double>(ticks) * world.tick_seconds;
  std::vector<synthetic::Burnt> streams;
  for (const auto& kinds : kinds_of) {
    SyntheticWorld own = world;
    own.step_seconds *= streams.empty() ? 1 : 0.83;  // the streams run through each other
    streams.push_back(run_stream(own, kinds, end, gpu, random));
  }
  if (streams.size() > 1) std::ranges::sort(gpu.question.activities, {}, [](const Activity& a) { return a.when.begin; });
  const auto burnt_by = [&](double when) {
    double joules = streams.size() > 1 ? gpu.watts.back() * when : 0;
    for (synthetic::Burnt& stream : streams) joules += stream.by(when);
    return joules;
  };
  double before = 0;
  for (std::size_t i = 0; i < ticks; ++i) {
    const double tick = static_cast<double>(i + 1) * world.tick_seconds, error = world.noise_watts * normal(random);
    if (tick < std::max(window, told) - 1e-9) continue;
    const double seen = (burnt_by(tick) - burnt_by(tick - window)) / window;
    const double until = tick + world.late_seconds;
    gpu.question.readings.push_back({{synthetic::at(until - told), synthetic::at(until)}, seen + error + world.echo * before});
    before = error;
  }
  gpu.question.when = {synthetic::at(0), synthetic::at(end)};
  const Energy energy = joulery::joules(burnt_by(end));
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

// How well solved powers fit the truth, over groups and over kinds with at least 3 % of the time.
struct SyntheticScore {
  int groups = 0, within = 0, covered = 0;  // groups; within 5 %; truth inside the 90 % interval
  int kinds = 0, alone = 0, alone_within = 0;  // kinds; told apart; told apart and within 5 %
  int kinds_within = 0, kinds_covered = 0;  // kinds by their own likeliest power, whether told apart or not; by their own interval
  int kinds_by_group = 0;  // kinds within 5 % when each is taken at its group's mean power
  int unusual = 0, unusual_covered = 0;  // of each world the kinds that burn most and least, where not told apart
  int warned = 0;  // worlds in which something is wrong, and said so
  double worst = 0;  // greatest relative error of a group
};

inline bool covers(Power low, double truth, Power high) { return to_watts(low) <= truth && truth <= to_watts(high); }

inline void add_kinds(SyntheticScore& score, const SyntheticGpu& gpu, const OperatorPowers& powers) {
  const std::span<const double> kinds(gpu.watts.data(), gpu.question.kinds.size());
  const auto [least, most] = std::ranges::minmax_element(kinds);
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const OperatorPart& part = powers.parts[k];
    if (part.seconds < 0.03 * to_seconds(gpu.question.when.length())) continue;
    const OperatorGroup& group = powers.groups[powers.group_of[k]];
    const bool within = std::abs(to_watts(part.power) / kinds[k] - 1) <= 0.05, covered = covers(part.low, kinds[k], part.high);
    ++score.kinds, score.kinds_within += within, score.kinds_covered += covered;
    score.kinds_by_group += std::abs(to_watts(group.power) / kinds[k] - 1) <= 0.05;
    if (group.members.size() == 1) {
      ++score.alone, score.alone_within += within;
    } else if (&kinds[k] == &*least || &kinds[k] == &*most) {
      ++score.unusual, score.unusual_covered += covered;
    }
  }
}

inline void add_score(SyntheticScore& score, const SyntheticGpu& gpu, const OperatorPowers& powers) {
  const double all = to_seconds(gpu.question.when.length());
  for (const OperatorGroup& group : powers.groups) {
    double joules = 0;
    bool operators = false;
    for (const std::size_t k : group.members)
      joules += gpu.watts[k] * powers.parts[k].seconds, operators = operators || k < gpu.question.kinds.size();
    if (!operators || group.seconds < 0.03 * all) continue;
    const double truth = joules / group.seconds, error = std::abs(to_watts(group.power) / truth - 1);
    ++score.groups, score.within += error <= 0.05, score.covered += covers(group.low, truth, group.high);
    score.worst = std::max(score.worst, error);
  }
  add_kinds(score, gpu, powers);
  score.warned += std::ranges::any_of(powers.notes, [](const std::string& note) { return !note.starts_with("cannot be told apart"); });
}

// The same world with other errors of its meter. The mixes of its readings stay, so that it need not be made anew.
inline void draw_again(const SyntheticWorld& world, const SyntheticGpu& gpu, Mixes& mixes, std::mt19937_64& random) {
  std::normal_distribution<double> error(0, world.noise_watts);
  for (std::size_t i = 0; i < mixes.rows(); ++i) {
    mixes.watts[i] = error(random);
    for (std::size_t k = 0; k <= mixes.kinds; ++k) mixes.watts[i] += mixes.row(i)[k] * gpu.watts[k];
  }
}

}  // namespace joulery
