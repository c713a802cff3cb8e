#include "watch/ring_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>

#include "joulery/joulery.h"

namespace joulery {
namespace {

static_assert(static_cast<int>(MarkKind::step_begin) == JOULERY_STEP_BEGIN && static_cast<int>(MarkKind::step_end) == JOULERY_STEP_END);
static_assert(static_cast<int>(MarkKind::point) == JOULERY_POINT && static_cast<int>(MarkKind::kpi) == JOULERY_KPI);
static_assert(static_cast<int>(MarkKind::work) == JOULERY_WORK);

bool read_at(int file, void* into, std::size_t bytes, std::size_t at) {
  return pread(file, into, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
}

// How many bytes the UTF-8 sequence at the head of `text` has; 0 where it is none (RFC 3629).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first < 0x20 || first == 0x7f ? 0 : 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool surrogate = first == 0xed && byte(1) > 0x9f, beyond = first == 0xf4 && byte(1) > 0x8f;
  const bool control = first == 0xc2 && byte(1) < 0xa0;
  return overlong || surrogate || beyond || control ? 0 : length;
}

// Names go to terminals, JSON and HTML: what is no text, or steers a terminal, becomes '?'.
std::string clean(std::string_view text) {
  std::string name;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0)
      name += '?';
    else
      name += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return name;
}

bool plausible(const RingRecord& record) {
  return record.kind <= JOULERY_WORK && record.name >= 1 && record.name <= ring_names && std::isfinite(record.value);
}

}  // namespace

Result<std::unique_ptr<RingFile>> RingFile::open(const std::string& directory, const std::string& name) {
  const std::string path = directory + "/" + name;
  // O_NONBLOCK: a FIFO under this name must not hold the reader.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0 && (errno == EMFILE || errno == ENFILE)) return fail(ErrorCode::busy, "too many open files for a ring of marks", path);
  if (file < 0) return std::unexpected(error_from_errno(errno, "cannot open a ring of marks", path));
  return std::unique_ptr<RingFile>(new RingFile(directory, name, file));
}

RingFile::~RingFile() { ::close(file_); }

bool RingFile::unlink() const { return ::unlink((directory_ + "/" + name_).c_str()) == 0; }

RingState RingFile::broken(std::string what) {
  problem_ = {ErrorCode::format, std::move(what), directory_ + "/" + name_, "the marks of this process that were not yet read are lost"};
  return RingState::broken;
}

// A read lease is granted only where no file description is open for writing, mappings included: so it tells that
// every writer is gone, whichever way (exit, kill, exec), also across pid namespaces. Where the file system has
// no leases the writers count as living until the run is over.
bool RingFile::has_no_writer() const {
  if (fcntl(file_, F_SETLEASE, F_RDLCK) != 0) return false;
  fcntl(file_, F_SETLEASE, F_UNLCK);
  return true;
}

RingState RingFile::check(const RingHeader& header) {
  if (header.layout != ring_layout) return broken("the ring was written by another release of Joulery");
  if (header.names != ring_names || header.records != ring_records) return broken("the ring's sizes are not those of its layout");
  if (header.clock > RingClock::tsc) return broken("the ring's clock is none that is known");
  for (std::size_t lane = 0; lane < ring_lanes; ++lane)
    if (header.lanes[lane].head < tails_[lane] || header.lanes[lane].head - tails_[lane] > lane_records(lane))
      return broken("the ring's position cannot be");
  if (header.lost > static_cast<std::uint64_t>(INT64_MAX) / 2) return broken("the ring's count of lost marks cannot be");
  pid_ = header.pid;
  ticks_ = header.clock;
  lost_there_ = static_cast<std::int64_t>(header.lost);
  return RingState::open;
}

// `count` records of a lane from its tail on, in two parts where they pass the lane's end; how many came.
std::size_t RingFile::read_records(std::size_t lane, std::size_t count, std::vector<RingRecord>& into) const {
  into.resize(count);
  const std::size_t slots = lane_records(lane), slot = tails_[lane] % slots, first = std::min(count, slots - slot);
  const auto place = [&](std::size_t at) { return ring_records_at + (lane_begin(lane) + at) * sizeof(RingRecord); };
  if (!read_at(file_, into.data(), first * sizeof(RingRecord), place(slot))) return 0;
  if (first == count) return count;
  return read_at(file_, into.data() + first, (count - first) * sizeof(RingRecord), place(0)) ? count : first;
}

const std::string* RingFile::name_of(std::uint16_t id) {
  names_.resize(ring_names);
  std::string& name = names_[id - 1U];
  if (!name.empty()) return &name;
  RingName slot{};
  if (!read_at(file_, &slot, sizeof slot, ring_names_at + (id - 1U) * sizeof slot)) return nullptr;
  if (slot.length == 0 || slot.length > ring_name_bytes) return nullptr;
  // The length is stored last, but the kernel copies in any order: the text is whole in a second read.
  if (!read_at(file_, &slot, sizeof slot, ring_names_at + (id - 1U) * sizeof slot) || slot.length > ring_name_bytes) return nullptr;
  name = clean({slot.text, slot.length});
  return name.empty() ? nullptr : &name;
}

// When a record was written; nothing where that cannot be.
std::optional<MonoTime> RingFile::time_of(const RingRecord& record, const TickClock& clock) const {
  if (ticks_ == RingClock::tsc) return clock.time_of(record.time);
  const MonoTime time{static_cast<std::int64_t>(record.time)};
  return time.ns >= 0 && time <= mono_now() ? std::optional(time) : std::nullopt;
}

// Gives one committed record out, or counts it as lost; false where it must wait for its name.
bool RingFile::give(const RingRecord& record, bool dead, const TickClock& clock, std::vector<Mark>& into) {
  const std::optional<MonoTime> time = plausible(record) ? time_of(record, clock) : std::nullopt;
  const std::string* name = time ? name_of(record.name) : nullptr;
  if (time && !name && !dead) return false;
  if (!name) return ++lost_here_, true;
  into.push_back({*time, pid_, static_cast<std::int32_t>(record.tid), static_cast<MarkKind>(record.kind), *name, record.value});
  return true;
}

// One store of an aligned word, as the writers see it. Opened for this alone: an open description for writing
// would make has_no_writer() false for ever.
void RingFile::store_tail(std::size_t lane) const {
  const std::string path = directory_ + "/" + name_;
  const auto tail_at = static_cast<off_t>(offsetof(RingHeader, lanes) + lane * sizeof(RingLane) + offsetof(RingLane, tail));
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return;  // the ring fills up, and its writers count what they lose
  [[maybe_unused]] const ssize_t written = pwrite(file, &tails_[lane], sizeof tails_[lane], tail_at);
  ::close(file);
}

void RingFile::drain_lane(std::size_t lane, std::uint64_t head, bool dead, TickClock& clock, std::vector<Mark>& into) {
  std::uint64_t& tail = tails_[lane];
  std::vector<RingRecord> seen, records;
  std::size_t ready = read_records(lane, static_cast<std::size_t>(head - tail), seen);
  if (!dead) {
    std::size_t committed = 0;
    while (committed < ready && seen[committed].commit == tail + committed + 1) ++committed;
    ready = committed;
  }
  if (ready > 0) ready = read_records(lane, ready, records);  // again: what was committed before is whole now
  if (ready > 0) clock.look();
  std::size_t taken = 0;
  for (; taken < ready; ++taken) {
    if (seen[taken].commit != tail + taken + 1)
      ++lost_here_;  // its writer died between claim and commit
    else if (!give(records[taken], dead, clock, into))
      break;
  }
  tail += taken;
  if (dead) lost_here_ += static_cast<std::int64_t>(head - tail);  // the file shrank under the reader
  if (taken > 0 && !dead) store_tail(lane);
}

RingState RingFile::drain(bool over, TickClock& clock, std::vector<Mark>& into) {
  const bool dead = has_no_writer() || over;  // asked before reading: nothing comes after it
  struct stat about{};
  if (fstat(file_, &about) != 0 || !S_ISREG(about.st_mode)) return broken("the ring is not a file");
  RingHeader header{};
  const bool whole = about.st_size >= static_cast<off_t>(ring_bytes) && read_at(file_, &header, sizeof header, 0);
  if (!whole && seen_whole_) return broken("the ring has shrunk");
  if (!whole || header.magic != ring_magic) return dead ? RingState::done : RingState::open;  // not a ring yet
  if (const RingState state = check(header); state != RingState::open) return state;
  seen_whole_ = true;
  for (std::size_t lane = 0; lane < ring_lanes; ++lane)
    if (header.lanes[lane].head != tails_[lane]) drain_lane(lane, header.lanes[lane].head, dead, clock, into);
  return dead ? RingState::done : RingState::open;
}

}  // namespace joulery
