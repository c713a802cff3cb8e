// The ranks of a job: the processes that mark steps, side by side, and who of them waits for whom.
//
// The k-th steps of all ranks belong together. A rank has arrived when it marks the point "collective" inside its step (the last
// such counts), else when its step ends; all go on when the last has arrived. From its arrival until then a rank waits, but no
// longer than until its step ends (where it marked the point) or its next one begins (where it did not): who goes on earlier has
// not waited.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "ledger/steps.h"

namespace joulery {

inline constexpr const char* collective_point = "collective";  // a mark: this rank has arrived where all wait for each other
inline constexpr const char* rank_point = "rank";              // a mark of the library at a rank's first mark: its number

struct Rank {
  std::int32_t pid = 0;
  std::optional<std::int64_t> number;   // as the launcher numbers it
  std::vector<std::size_t> steps;       // which of all steps are its own, by begin
  double work = 0;                      // units of work that its steps held
  Duration waited, waited_for;          // for others; that others waited for it, all of them together
  std::int64_t last = 0;                // in how many rounds it came last
};

struct Ranks {
  std::vector<Rank> ranks;              // by number, then pid; none where fewer than two processes mark steps
  std::int64_t rounds = 0;              // steps that all ranks have
};

// `steps` by begin, `points` by time.
Ranks ranks_of(std::span<const Step> steps, std::span<const Mark> points);

}  // namespace joulery
