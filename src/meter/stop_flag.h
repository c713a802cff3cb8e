// A flag that threads sleep on until a deadline. One futex call a wait, no mutex: at 1 kHz the waiting would otherwise
// cost as much as the reading.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/time.h"

namespace joulery {

class StopFlag {
 public:
  // Sleeps until `deadline`, or until the flag is raised. False where it is raised.
  bool wait_until(MonoTime deadline) const;
  // Wakes every thread that waits.
  void raise();

 private:
  std::atomic<std::uint32_t> raised_{0};
  static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));  // the kernel looks at the bare word
};

}  // namespace joulery
