// A lock for a few dozen instructions, where a thread that wakes to cold caches must not pay for more: it is one byte,
// inline, and calls nothing while nobody else holds it. Who finds it taken sleeps a little, so that a holder of lower
// priority on the same processor gets on.
#pragma once

#include <atomic>
#include <ctime>

namespace joulery {

class SpinLock {
 public:
  void lock() {
    while (taken_.test_and_set(std::memory_order_acquire)) {
      const timespec little{0, 20'000};
      ::nanosleep(&little, nullptr);
    }
  }
  void unlock() { taken_.clear(std::memory_order_release); }

 private:
  std::atomic_flag taken_;
};

}  // namespace joulery
