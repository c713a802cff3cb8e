// Solving for the power of operators on many synthetic GPUs: how near, how often the intervals hold.
// operators_bench WORLDS [STEP_SECONDS [ECHO [SECONDS [LATE_SECONDS]]]]: 0 for a step leaves it to the world.
#include <cstdio>
#include <cstdlib>

#include "tests/unit/ledger/synthetic_gpu.h"

int main(int count, char** words) {
  const auto number = [&](int i, double otherwise) { return count > i ? std::atof(words[i]) : otherwise; };
  joulery::SyntheticScore score;
  for (int i = 0; i < static_cast<int>(number(1, 300)); ++i) {
    joulery::SyntheticWorld world = joulery::world_of(static_cast<std::uint64_t>(i));
    if (number(2, 0) > 0) world.step_seconds = number(2, 0);
    world.echo = number(3, 0), world.seconds = number(4, 600), world.late_seconds = number(5, 0);
    auto gpu = joulery::make_synthetic_gpu(world, static_cast<std::uint64_t>(1000 + i));
    if (world.late_seconds != 0) gpu.question.most_delay = joulery::milliseconds(100);
    add_score(score, gpu, joulery::solve_operators(gpu.question));
  }
  const auto percent = [](int part, int whole) { return whole > 0 ? 100.0 * part / whole : 0.0; };
  std::printf("%d operators and groups with >= 3 %% of the time: %.2f %% within 5 %%, worst %.1f %%, 90 %% intervals hold in %.2f %%\n",
              score.groups, percent(score.within, score.groups), 100 * score.worst, percent(score.covered, score.groups));
  std::printf("%d operators: %.1f %% told apart, of these %.2f %% within 5 %%\n", score.kinds, percent(score.alone, score.kinds),
              percent(score.alone_within, score.alone));
}
