#include "record/queue/frame_queue.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>

#include "record/crc32.h"

namespace joulery {
namespace {

constexpr std::string_view suffix = ".frames";
constexpr std::size_t slot_bytes = 12;  // of the file `taken`: a number and its CRC-32, in two places in turn

std::span<const std::uint8_t> as_bytes(std::string_view text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

std::string name_of_segment(std::uint64_t first) { return fmt::format("{:020}{}", first, suffix); }

std::optional<std::uint64_t> number_of(std::string_view name) {
  if (!name.ends_with(suffix)) return std::nullopt;
  name.remove_suffix(suffix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number == 0) return std::nullopt;
  return number;
}

// All of it at this place, or false and errno.
bool write_at(int file, std::string_view bytes, std::uint64_t at) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
    at += static_cast<std::uint64_t>(count);
  }
  return true;
}

std::array<std::uint8_t, slot_bytes> slot_of(std::uint64_t number) {
  std::array<std::uint8_t, slot_bytes> slot{};
  for (std::size_t i = 0; i < 8; ++i) slot[i] = static_cast<std::uint8_t>(number >> (8 * i));
  const std::uint32_t sum = crc32({slot.data(), 8});
  for (std::size_t i = 0; i < 4; ++i) slot[8 + i] = static_cast<std::uint8_t>(sum >> (8 * i));
  return slot;
}

std::uint64_t number_in_slot(const std::uint8_t* slot) {
  std::uint64_t number = 0;
  for (std::size_t i = 8; i-- > 0;) number = number << 8 | slot[i];
  return std::equal(slot, slot + slot_bytes, slot_of(number).begin()) ? number : 0;
}

}  // namespace

FrameQueue::FrameQueue(QueueOptions options, int folder) : options_(std::move(options)), folder_(folder) {
  options_.segment_bytes = std::max<std::uint64_t>(1, std::min(options_.segment_bytes, options_.most_bytes / 4));
}

FrameQueue::~FrameQueue() {
  close_active();
  if (taken_file_ >= 0) ::close(taken_file_);
  ::close(folder_);  // and with it the lock
}

Result<std::unique_ptr<FrameQueue>> FrameQueue::open(QueueOptions options) {
  const std::string path = options.folder;
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return std::unexpected(error_from_errno(error.value(), "cannot make the queue's folder", path));
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return std::unexpected(error_from_errno(errno, "cannot open the queue's folder", path));
  std::unique_ptr<FrameQueue> queue(new FrameQueue(std::move(options), folder));
  if (::flock(folder, LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorCode::busy, "another process has this queue", path, "one agent for each queue: stop the other");
  queue->find_taken();
  if (const auto found = queue->find_segments(); !found) return std::unexpected(found.error());
  queue->cut_last();
  return queue;
}

void FrameQueue::find_taken() {
  taken_file_ = ::openat(folder_, "taken", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (taken_file_ < 0) return;  // what was sent is then sent again after a restart: told by none, for nothing is lost
  std::array<std::uint8_t, 2 * slot_bytes> slots{};
  if (::pread(taken_file_, slots.data(), slots.size(), 0) <= 0) return write_taken();
  const std::uint64_t first = number_in_slot(slots.data()), second = number_in_slot(slots.data() + slot_bytes);
  taken_ = std::max(first, second);
  slot_ = first > second ? 1 : 0;
}

// In turn, so that one of the two is whole at any time.
void FrameQueue::write_taken() {
  if (taken_file_ < 0) return;
  const auto slot = slot_of(taken_);
  static_cast<void>(write_at(taken_file_, {reinterpret_cast<const char*>(slot.data()), slot.size()}, slot_ * slot_bytes));
  slot_ = 1 - slot_;
}

Result<void> FrameQueue::find_segments() {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(options_.folder, error), end; !error && entry != end; entry.increment(error))
    if (const auto first = number_of(entry->path().filename().string())) {
      std::error_code unknown;
      const auto bytes = std::filesystem::file_size(entry->path(), unknown);
      segments_.push_back({*first, unknown ? 0 : bytes});
    }
  if (error) return std::unexpected(error_from_errno(error.value(), "cannot list the queue's folder", options_.folder));
  std::ranges::sort(segments_, {}, &Segment::first);
  next_ = std::max(taken_ + 1, segments_.empty() ? 1 : segments_.back().first);
  return {};
}

// What a crash tore off the last frame goes. The file is not written to again where that cannot be done.
void FrameQueue::cut_last() {
  if (segments_.empty()) return;
  Segment& last = segments_.back();
  const std::string bytes = read_from(last, 0);
  FrameReader reader(as_bytes(bytes));
  std::uint64_t whole = 0;
  while (const auto frame = reader.next()) {
    whole = reader.position();
    next_ = std::max(next_, frame->sequence + 1);
  }
  state_.damaged_bytes += last.bytes - whole;
  if (whole == 0) {
    ::unlinkat(folder_, name_of_segment(last.first).c_str(), 0);
    segments_.pop_back();
    return;
  }
  const int file = ::openat(folder_, name_of_segment(last.first).c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return;
  if (::ftruncate(file, static_cast<off_t>(whole)) != 0) {
    ::close(file);
    return;
  }
  last.bytes = whole;
  active_ = file;
}

std::string FrameQueue::read_from(const Segment& segment, std::uint64_t offset) {
  std::string bytes;
  const int file = ::openat(folder_, name_of_segment(segment.first).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0 || segment.bytes <= offset || segment.bytes - offset > options_.segment_bytes + most_frame_bytes) {
    if (file >= 0) ::close(file);
    return bytes;
  }
  bytes.resize(segment.bytes - offset);
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t count = ::pread(file, bytes.data() + got, bytes.size() - got, static_cast<off_t>(offset + got));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    got += static_cast<std::size_t>(count);
  }
  bytes.resize(got);
  ::close(file);
  return bytes;
}

void FrameQueue::add(std::string_view payload) {
  const std::scoped_lock lock(mutex_);
  if (payload.size() > most_frame_bytes - frame_head_bytes) {
    count_lost(payload);
    return;
  }
  Frame frame{next_++, std::string(payload)};
  if (!move_memory_to_disk() || !write(frame)) keep_in_memory(std::move(frame));
}

bool FrameQueue::move_memory_to_disk() {
  while (!memory_.empty()) {
    if (!write(memory_.front())) return false;
    state_.memory_bytes -= memory_.front().payload.size();
    memory_.pop_front();
  }
  return true;
}

void FrameQueue::keep_in_memory(Frame frame) {
  state_.memory_bytes += frame.payload.size();
  memory_.push_back(std::move(frame));
  while (state_.memory_bytes > options_.most_memory_bytes && memory_.size() > 1) {
    count_lost(memory_.front().payload);
    state_.memory_bytes -= memory_.front().payload.size();
    memory_.pop_front();
  }
}

bool FrameQueue::cannot(const char* what) {
  state_.trouble = error_from_errno(errno, what, options_.folder).line();
  return false;
}

bool FrameQueue::write(const Frame& frame) {
  const std::string bytes = encode_frame(frame.sequence, frame.payload);
  keep_bound(bytes.size());
  const bool full = active_ >= 0 && segments_.back().bytes + bytes.size() > options_.segment_bytes;
  if ((active_ < 0 || full) && !begin_segment(frame.sequence)) return false;
  Segment& last = segments_.back();
  if (!write_at(active_, bytes, last.bytes)) {
    const bool failed = cannot("the queue keeps in memory what its disk does not take");
    if (::ftruncate(active_, static_cast<off_t>(last.bytes)) != 0) close_active();  // a torn frame is passed over when it is read
    return failed;
  }
  last.bytes += bytes.size();
  state_.trouble.clear();
  return true;
}

bool FrameQueue::begin_segment(std::uint64_t first) {
  const int file = ::openat(folder_, name_of_segment(first).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return cannot("the queue keeps in memory what its disk does not take");
  close_active();
  active_ = file;
  if (segments_.empty() || segments_.back().first != first) segments_.push_back({first, 0});
  return true;
}

void FrameQueue::close_active() {
  if (active_ < 0) return;
  ::fdatasync(active_);
  ::close(active_);
  active_ = -1;
}

void FrameQueue::count_lost(std::string_view payload) {
  ++state_.dropped_frames;
  state_.dropped_bytes += payload.size();
  state_.dropped_items += options_.items_in ? options_.items_in(payload) : 1;
}

void FrameQueue::keep_bound(std::uint64_t more) {
  std::uint64_t bytes = more;
  for (const Segment& segment : segments_) bytes += segment.bytes;
  while (bytes > options_.most_bytes && segments_.size() > 1) {
    bytes -= segments_.front().bytes;
    drop_front();
  }
}

// The oldest go, and those among them that were not done are counted.
void FrameQueue::drop_front() {
  const std::string bytes = read_from(segments_.front(), cursor_);
  FrameReader reader(as_bytes(bytes));
  while (const auto frame = reader.next())
    if (frame->sequence > taken_) count_lost(frame->payload);
  remove_front();
}

void FrameQueue::remove_front() {
  ::unlinkat(folder_, name_of_segment(segments_.front().first).c_str(), 0);
  segments_.pop_front();
  cursor_ = 0;
}

// False where `most_bytes` are reached.
bool FrameQueue::take_from(std::size_t index, std::uint64_t most_bytes, std::uint64_t& bytes, std::vector<Frame>& frames) {
  const Segment& segment = segments_[index];
  const std::uint64_t begin = index == 0 ? cursor_ : 0;
  const std::string read = read_from(segment, begin);
  FrameReader reader(as_bytes(read));
  std::uint64_t damaged = 0;
  while (auto frame = reader.next()) {
    if (frame->sequence > taken_) {
      if (!frames.empty() && bytes + frame->payload.size() > most_bytes) return false;
      bytes += frame->payload.size();
      seen_.push_back({frame->sequence, segment.first, begin + reader.position(), reader.damaged_bytes() - damaged});
      damaged = reader.damaged_bytes();
      frames.push_back(*std::move(frame));
    } else if (frames.empty() && index == 0) {
      cursor_ = begin + reader.position();
    }
  }
  return true;
}

std::vector<Frame> FrameQueue::oldest(std::uint64_t most_bytes) {
  const std::scoped_lock lock(mutex_);
  std::vector<Frame> frames;
  std::uint64_t bytes = 0;
  seen_.clear();
  bool more = true;
  for (std::size_t i = 0; more && i < segments_.size();) {
    more = take_from(i, most_bytes, bytes, frames);
    if (more && frames.empty() && segments_.size() > 1) {  // nothing is left in the first one, and nobody writes to it
      state_.damaged_bytes += segments_.front().bytes - std::min(cursor_, segments_.front().bytes);
      remove_front();
    } else {
      ++i;
    }
  }
  for (const Frame& frame : memory_) {
    if (!more || (!frames.empty() && bytes + frame.payload.size() > most_bytes)) break;
    bytes += frame.payload.size();
    frames.push_back(frame);
  }
  return frames;
}

void FrameQueue::done(std::uint64_t sequence) {
  const std::scoped_lock lock(mutex_);
  if (sequence <= taken_ || sequence >= next_) return;
  taken_ = sequence;
  for (const Seen& seen : seen_) {
    if (seen.sequence > sequence) break;
    state_.damaged_bytes += seen.damaged;
    while (!segments_.empty() && segments_.front().first < seen.segment) remove_front();
    if (!segments_.empty() && segments_.front().first == seen.segment) cursor_ = seen.end;
  }
  std::erase_if(seen_, [&](const Seen& seen) { return seen.sequence <= sequence; });
  while (!memory_.empty() && memory_.front().sequence <= sequence) {
    state_.memory_bytes -= memory_.front().payload.size();
    memory_.pop_front();
  }
  while (segments_.size() > 1 && cursor_ >= segments_.front().bytes) remove_front();
  write_taken();
}

QueueState FrameQueue::state() const {
  const std::scoped_lock lock(mutex_);
  QueueState state = state_;
  for (const Segment& segment : segments_) state.queued_bytes += segment.bytes;
  state.queued_bytes += state.memory_bytes;
  state.queued_bytes -= std::min(cursor_, state.queued_bytes);
  return state;
}

}  // namespace joulery
