#include "watch/stacks/perf_ring.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

namespace joulery {
namespace {

std::size_t page_size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

Result<PerfRing> PerfRing::open(perf_event_attr attr, std::int32_t pid, int cpu, unsigned log_pages) {
  const long fd = ::syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return std::unexpected(error_from_errno(errno, "cannot open a perf event", "perf_event_open"));
  for (unsigned log = log_pages + 1; log-- > 0;) {
    const std::size_t pages = std::size_t{1} << log;
    void* memory = ::mmap(nullptr, (pages + 1) * page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(fd), 0);
    if (memory != MAP_FAILED) return PerfRing(static_cast<int>(fd), memory, pages);
  }
  const int why = errno;
  ::close(static_cast<int>(fd));
  return std::unexpected(error_from_errno(why, "cannot map a perf event's ring", "perf_event_open", "raise kernel.perf_event_mlock_kb"));
}

PerfRing::PerfRing(PerfRing&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), memory_(std::exchange(other.memory_, nullptr)), pages_(other.pages_) {}

PerfRing::~PerfRing() {
  if (memory_) ::munmap(memory_, (pages_ + 1) * page_size());
  if (fd_ >= 0) ::close(fd_);
}

std::uint64_t PerfRing::head() const {
  return __atomic_load_n(&static_cast<const perf_event_mmap_page*>(memory_)->data_head, __ATOMIC_ACQUIRE);
}

std::uint64_t PerfRing::tail() const { return static_cast<const perf_event_mmap_page*>(memory_)->data_tail; }

void PerfRing::give_back(std::uint64_t until) {
  __atomic_store_n(&static_cast<perf_event_mmap_page*>(memory_)->data_tail, until, __ATOMIC_RELEASE);
}

std::span<const unsigned char> PerfRing::record_at(std::uint64_t at) {
  const auto* data = static_cast<const unsigned char*>(memory_) + page_size();
  const std::size_t size = pages_ * page_size(), place = at & (size - 1);
  perf_event_header header{};
  std::memcpy(&header, data + place, sizeof header);  // records are aligned to 8 bytes, so a header never wraps around
  if (header.size < sizeof header || header.size > size) return {};
  if (place + header.size <= size) return {data + place, header.size};
  joined_.assign(data + place, data + size);
  joined_.insert(joined_.end(), data, data + (header.size - (size - place)));
  return joined_;
}

}  // namespace joulery
