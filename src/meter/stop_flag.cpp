#include "meter/stop_flag.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace joulery {

// FUTEX_WAIT_BITSET takes an absolute time of CLOCK_MONOTONIC (futex(2)). A time that has passed returns at once.
bool StopFlag::wait_until(MonoTime deadline) const {
  const timespec until{deadline.ns / 1'000'000'000, deadline.ns % 1'000'000'000};
  while (raised_.load(std::memory_order_acquire) == 0) {
    const long woken = ::syscall(SYS_futex, &raised_, FUTEX_WAIT_BITSET_PRIVATE, 0, &until, nullptr, FUTEX_BITSET_MATCH_ANY);
    if (woken == -1 && errno == ETIMEDOUT) return true;
  }
  return false;
}

void StopFlag::raise() {
  raised_.store(1, std::memory_order_release);
  ::syscall(SYS_futex, &raised_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace joulery
