// Independent pieces of work on a few processors at once, for what a user waits for. The caller works along, so where no
// thread can be had all is done all the same, only later.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace joulery {

inline constexpr std::size_t most_helpers = 3;

// Helpers that are worth their start, for so many readings to go through in all.
constexpr std::size_t helpers_for(std::size_t readings) { return readings < 20'000 ? 0 : most_helpers; }

// work(0) … work(count - 1), each once, in no order. What one of them throws is thrown again here, once all have ended.
template <class Work>
void for_each_index(std::size_t count, const Work& work, std::size_t most = most_helpers) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr thrown;
  std::mutex throwing;
  const auto take_some = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      const std::lock_guard lock(throwing);
      thrown = std::current_exception();
    }
  };
  {
    const std::size_t processors = most > 0 ? std::max(1U, std::thread::hardware_concurrency()) : 1;
    std::vector<std::jthread> helpers;
    helpers.reserve(most);
    for (std::size_t i = 1; i < std::min({processors, count, most + 1}); ++i) {
      try {
        helpers.emplace_back(take_some);
      } catch (const std::system_error&) { break; }
    }
    take_some();
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace joulery
