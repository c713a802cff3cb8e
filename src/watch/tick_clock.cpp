#include "watch/tick_clock.h"

#include <algorithm>

#ifdef __x86_64__
#include <x86intrin.h>
#endif

namespace joulery {
namespace {

constexpr std::int64_t shortest_line_ns = 10'000'000;  // two looks this far apart give the rate to 0.01 %

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

TickClock::TickClock() : before_(look_once()), latest_(before_) {}

void TickClock::look() {
  if (latest_.ns - before_.ns >= shortest_line_ns) before_ = latest_;
  latest_ = look_once();
}

std::optional<MonoTime> TickClock::time_of(std::uint64_t tick) const {
  if (latest_.tick <= before_.tick || latest_.ns <= before_.ns || tick > latest_.tick) return std::nullopt;
  const double rate = static_cast<double>(latest_.ns - before_.ns) / static_cast<double>(latest_.tick - before_.tick);
  const double ago = static_cast<double>(latest_.tick - tick) * rate;
  if (!(ago <= static_cast<double>(latest_.ns))) return std::nullopt;
  return MonoTime{latest_.ns - static_cast<std::int64_t>(ago)};
}

}  // namespace joulery
