// One perf event with its ring buffer, as the kernel's perf_event.h describes it.
// Invariant: records are handed over whole, and their space is given back only after.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"

namespace joulery {

class PerfRing {
 public:
  // Opens `attr` for `pid` on `cpu` with a ring of 2^`log_pages` pages; smaller where that much may not be locked. Errors: from errno.
  static Result<PerfRing> open(perf_event_attr attr, std::int32_t pid, int cpu, unsigned log_pages);
  PerfRing(PerfRing&& other) noexcept;
  PerfRing& operator=(PerfRing&&) = delete;
  ~PerfRing();

  int fd() const { return fd_; }
  // Calls take(header, body) for each record since the last call; the body follows the header.
  template <class Take>
  void drain(const Take& take) {
    std::uint64_t at = tail();
    const std::uint64_t end = head();
    while (end - at >= sizeof(perf_event_header)) {
      const std::span<const unsigned char> record = record_at(at);
      if (record.empty()) break;
      perf_event_header header{};
      __builtin_memcpy(&header, record.data(), sizeof header);
      take(header, record.subspan(sizeof header));
      at += header.size;
    }
    give_back(end);
  }

 private:
  PerfRing(int fd, void* memory, std::size_t pages) : fd_(fd), memory_(memory), pages_(pages) {}
  std::uint64_t head() const;
  std::uint64_t tail() const;
  void give_back(std::uint64_t until);
  // The record at this place of the stream, put together where it wraps around; empty where it is no record.
  std::span<const unsigned char> record_at(std::uint64_t at);

  int fd_ = -1;
  void* memory_ = nullptr;
  std::size_t pages_ = 0;
  std::vector<unsigned char> joined_;
};

}  // namespace joulery
