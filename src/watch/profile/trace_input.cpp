#include "watch/profile/trace_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace joulery {
namespace {

constexpr std::size_t first_window = 1 << 20;
constexpr std::size_t packed_block = 256 * 1024;
constexpr int gzip_window_bits = 15 + 16;

}  // namespace

struct TraceInput::Inflater {
  z_stream stream{};
  std::vector<unsigned char> packed = std::vector<unsigned char>(packed_block);
  bool between_members = true;         // nothing of the next member was read
  Inflater() { inflateInit2(&stream, gzip_window_bits); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream); }
};

TraceInput::TraceInput(std::string name, const ProfileLimits& limits)
    : name_(std::move(name)), limits_(limits), buffer_(std::min(first_window, limits.window) + padding) {}
TraceInput::TraceInput(TraceInput&& other) noexcept
    : name_(std::move(other.name_)),
      limits_(other.limits_),
      file_(std::exchange(other.file_, -1)),
      bytes_(other.bytes_),
      raw_(other.raw_),
      inflater_(std::move(other.inflater_)),
      buffer_(std::move(other.buffer_)),
      front_(other.front_),
      back_(other.back_),
      unpacked_(other.unpacked_) {}
TraceInput& TraceInput::operator=(TraceInput&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(limits_, other.limits_);
  std::swap(file_, other.file_);
  std::swap(bytes_, other.bytes_);
  std::swap(raw_, other.raw_);
  std::swap(inflater_, other.inflater_);
  std::swap(buffer_, other.buffer_);
  std::swap(front_, other.front_);
  std::swap(back_, other.back_);
  std::swap(unpacked_, other.unpacked_);
  return *this;
}
TraceInput::~TraceInput() {
  if (file_ >= 0) ::close(file_);
}

Result<TraceInput> TraceInput::open(const std::string& path, const ProfileLimits& limits) {
  TraceInput input(path, limits);
  input.file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (input.file_ < 0) return std::unexpected(error_from_errno(errno, "cannot open the trace", path));
  struct stat status{};
  if (fstat(input.file_, &status) == 0 && S_ISDIR(status.st_mode))
    return fail(ErrorCode::usage, "the trace is a folder", path, "name the file in it");
  posix_fadvise(input.file_, 0, 0, POSIX_FADV_SEQUENTIAL);
  if (auto detected = input.detect(); !detected) return std::unexpected(detected.error());
  return input;
}

TraceInput TraceInput::of_bytes(std::string_view bytes, std::string name, const ProfileLimits& limits) {
  TraceInput input(std::move(name), limits);
  input.bytes_ = bytes;
  (void)input.detect();                // reading memory does not fail; a damaged stream is told by the next more()
  return input;
}

Result<void> TraceInput::detect() {
  auto got = more();
  if (!got) return std::unexpected(got.error());
  const std::string_view start = window();
  if (inflater_ || start.size() < 2 || start[0] != '\x1f' || start[1] != '\x8b') return {};
  inflater_ = std::make_unique<Inflater>();
  return rewind();
}

Result<void> TraceInput::rewind() {
  if (file_ >= 0 && lseek(file_, 0, SEEK_SET) < 0) return std::unexpected(error_from_errno(errno, "cannot read the trace again", name_));
  raw_ = unpacked_ = 0;
  front_ = back_ = 0;
  if (inflater_) inflater_ = std::make_unique<Inflater>();
  auto got = more();
  if (!got) return std::unexpected(got.error());
  return {};
}

Result<std::size_t> TraceInput::read_raw(char* to, std::size_t room) {
  if (file_ < 0) {
    const std::size_t size = std::min<std::size_t>(room, bytes_.size() - raw_);
    std::memcpy(to, bytes_.data() + raw_, size);
    raw_ += size;
    return size;
  }
  ssize_t got = 0;
  do got = ::read(file_, to, room);
  while (got < 0 && errno == EINTR);
  if (got < 0) return std::unexpected(error_from_errno(errno, "cannot read the trace", name_));
  raw_ += static_cast<std::size_t>(got);
  return static_cast<std::size_t>(got);
}

Result<std::size_t> TraceInput::inflate_into(char* to, std::size_t room) {
  z_stream& stream = inflater_->stream;
  stream.next_out = reinterpret_cast<unsigned char*>(to);
  stream.avail_out = static_cast<unsigned>(std::min<std::size_t>(room, 1u << 30));
  const std::size_t wanted = stream.avail_out;
  while (stream.avail_out == wanted) {
    if (stream.avail_in == 0) {
      const auto got = read_raw(reinterpret_cast<char*>(inflater_->packed.data()), inflater_->packed.size());
      if (!got) return std::unexpected(got.error());
      if (*got == 0) {
        if (inflater_->between_members) return 0;
        return fail(ErrorCode::format, "the gzip stream is cut short", place(back_ - front_),
                    "the file was not written to its end, or copied in part");
      }
      stream.next_in = inflater_->packed.data();
      stream.avail_in = static_cast<unsigned>(*got);
    }
    inflater_->between_members = false;
    const int code = inflate(&stream, Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
      inflateReset(&stream);
      inflater_->between_members = true;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      return fail(ErrorCode::format, "the gzip stream is damaged", place(back_ - front_));
    }
  }
  const std::size_t made = wanted - stream.avail_out;
  if (unpacked_ + made > limits_.unpacked_free && (unpacked_ + made) / std::max<std::uint64_t>(raw_, 1) > limits_.unpacked_ratio)
    return fail(ErrorCode::format, "the gzip stream unpacks to more than " + std::to_string(limits_.unpacked_ratio) + " times its size",
                place(back_ - front_), "no trace does: this file is refused");
  return made;
}

Result<bool> TraceInput::more() {
  if (front_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + front_, back_ - front_);
    back_ -= front_;
    front_ = 0;
  }
  if (back_ * 2 > buffer_.size()) {
    if (back_ >= limits_.window)
      return fail(ErrorCode::format, "one event of the trace is longer than " + std::to_string(limits_.window) + " bytes", place());
    buffer_.resize(std::min(buffer_.size() * 2, limits_.window + padding));
  }
  char* const to = buffer_.data() + back_;
  const std::size_t room = buffer_.size() - padding - back_;
  const auto got = inflater_ ? inflate_into(to, room) : read_raw(to, room);
  if (!got) return std::unexpected(got.error());
  back_ += *got;
  unpacked_ += *got;
  std::memset(buffer_.data() + back_, 0, padding);
  return *got > 0;
}

Result<void> TraceInput::want(std::size_t bytes) {
  while (back_ - front_ < bytes) {
    const auto got = more();
    if (!got) return std::unexpected(got.error());
    if (!*got) return {};
  }
  return {};
}

Result<bool> TraceInput::skip(std::uint64_t bytes) {
  while (bytes > back_ - front_) {
    bytes -= back_ - front_;
    front_ = back_ = 0;
    if (!inflater_) {                  // no need to read what is skipped
      if (file_ < 0 && bytes > bytes_.size() - raw_) return false;
      struct stat status{};
      if (file_ >= 0 && fstat(file_, &status) == 0 && S_ISREG(status.st_mode)) {
        if (bytes > static_cast<std::uint64_t>(status.st_size) - raw_) return false;
        if (lseek(file_, static_cast<off_t>(bytes), SEEK_CUR) < 0)
          return std::unexpected(error_from_errno(errno, "cannot read the trace", name_));
      }
      if (file_ < 0 || S_ISREG(status.st_mode)) {
        raw_ += bytes;
        unpacked_ += bytes;
        bytes = 0;
      }
    }
    const auto got = more();
    if (!got) return std::unexpected(got.error());
    if (!*got) return bytes == 0;
  }
  front_ += bytes;
  return true;
}

std::string TraceInput::place(std::size_t ahead) const { return name_ + ": byte " + std::to_string(offset() + ahead); }

}  // namespace joulery
