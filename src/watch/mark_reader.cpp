#include "watch/mark_reader.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "watch/ring_file.h"

namespace joulery {
namespace {

constexpr std::size_t most_open_rings = 256;  // file descriptors that the reader may hold; the rest wait their turn

std::int64_t ns_of(const timespec& time) { return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec; }

bool known(const std::vector<std::string>& sorted, const std::string& name) {
  return std::binary_search(sorted.begin(), sorted.end(), name);
}

void remember(std::vector<std::string>& sorted, const std::string& name) {
  sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), name), name);
}

}  // namespace

MarkReader::MarkReader(std::string directory) : directory_(std::move(directory)) {}
MarkReader::MarkReader(MarkReader&&) noexcept = default;
MarkReader& MarkReader::operator=(MarkReader&&) noexcept = default;
MarkReader::~MarkReader() = default;

void MarkReader::take(const std::string& name) {
  if (known(refused_, name)) return;
  if (name.ends_with(failed_suffix)) {
    ++unheard_;
    if (unlink((directory_ + "/" + name).c_str()) != 0) remember(refused_, name);
    return;
  }
  if (!name.ends_with(ring_suffix)) return;
  const auto has_name = [&](const auto& ring) { return ring->name() == name; };
  if (std::any_of(rings_.begin(), rings_.end(), has_name)) return;
  Result<std::unique_ptr<RingFile>> ring = RingFile::open(directory_, name);
  if (ring) return rings_.push_back(std::move(*ring));
  if (ring.error().code == ErrorCode::not_found) return;  // gone
  if (ring.error().code == ErrorCode::busy) {
    come_again_ = true;
    return;
  }
  problems_.push_back(ring.error());
  remember(refused_, name);
}

// Nothing was made or removed in the directory since it was listed whole. Its time is told in ticks of the kernel: a change
// in the tick of the listing does not show.
bool MarkReader::is_as_listed() const {
  constexpr std::int64_t tick = 20'000'000;
  struct stat about{};
  return listed_ && stat(directory_.c_str(), &about) == 0 && ns_of(about.st_mtim) == listed_->changed &&
         listed_->at - listed_->changed > tick;
}

// True where some ring had to wait for a free place.
bool MarkReader::admit_new_rings() {
  if (is_as_listed()) return false;
  struct stat about{};
  listed_.reset();
  if (stat(directory_.c_str(), &about) != 0) return false;
  come_again_ = false;
  std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(directory_.c_str()), closedir);
  if (!directory) return false;
  while (const dirent* entry = readdir(directory.get())) {
    if (rings_.size() >= most_open_rings) return true;
    take(entry->d_name);
  }
  if (!come_again_) listed_ = {ns_of(about.st_mtim), wall_now().ns};
  return false;
}

// A ring that was read to its end is removed (it takes a MiB of memory); one that is broken stays to be looked at.
void MarkReader::retire(const RingFile& ring, RingState state) {
  lost_ += ring.lost();
  if (state == RingState::broken) problems_.push_back(ring.problem());
  if (state == RingState::broken || !ring.unlink()) remember(refused_, ring.name());
}

std::vector<Mark> MarkReader::drain_all(bool over) {
  std::vector<Mark> marks;
  bool more = true;
  while (more) {
    more = admit_new_rings();
    const std::size_t before = rings_.size();
    std::erase_if(rings_, [&](const std::unique_ptr<RingFile>& ring) {
      const RingState state = ring->drain(over, clock_, marks);
      if (state == RingState::open) return false;
      retire(*ring, state);
      return true;
    });
    more = more && rings_.size() < before;  // places became free
  }
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.time < b.time; });
  return marks;
}

std::vector<Mark> MarkReader::drain() { return drain_all(false); }

std::vector<Mark> MarkReader::finish() { return drain_all(true); }

std::int64_t MarkReader::lost() const {
  std::int64_t sum = lost_;
  for (const std::unique_ptr<RingFile>& ring : rings_) sum += ring->lost();
  return sum;
}

}  // namespace joulery
