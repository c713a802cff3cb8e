#include "watch/tick_clock.h"

#include <algorithm>
#include <iterator>

#ifdef __x86_64__
#include <x86intrin.h>
#endif

namespace joulery {
namespace {

constexpr std::size_t most_looks = 1024;  // at ten a second, what came in the last minute and a half is told exactly

std::uint64_t counter() {
#ifdef __x86_64__
  unsigned processor = 0;
  return __rdtscp(&processor);  // waits for what stands before it
#else
  return 0;
#endif
}

}  // namespace

// The counter between two readings of the time, of a few tries the one that was disturbed least.
TickClock::Look TickClock::look_once() {
  Look best;
  std::int64_t narrowest = INT64_MAX;
  for (int i = 0; i < 4; ++i) {
    const std::int64_t before = mono_now().ns;
    const std::uint64_t tick = counter();
    const std::int64_t width = mono_now().ns - before;
    if (width >= narrowest) continue;
    narrowest = width;
    best = {tick, before + width / 2};
  }
  return best;
}

TickClock::TickClock() : looks_{look_once()} {}

void TickClock::look() {
  const Look now = look_once();
  if (now.tick <= looks_.back().tick || now.ns <= looks_.back().ns) return;
  if (looks_.size() == most_looks) looks_.erase(looks_.begin(), looks_.begin() + most_looks / 2);
  looks_.push_back(now);
}

// On the straight line between the looks around it; before the first look, on that of the first two.
std::optional<MonoTime> TickClock::time_of(std::uint64_t tick) const {
  if (looks_.size() < 2 || tick > looks_.back().tick) return std::nullopt;
  auto after = std::ranges::lower_bound(looks_, tick, {}, &Look::tick);
  if (after == looks_.begin()) ++after;
  const Look& before = *std::prev(after);
  const double rate = static_cast<double>(after->ns - before.ns) / static_cast<double>(after->tick - before.tick);
  const double ago = static_cast<double>(after->tick - tick) * rate;
  if (!(ago <= static_cast<double>(after->ns))) return std::nullopt;
  return MonoTime{after->ns - static_cast<std::int64_t>(ago)};
}

}  // namespace joulery
