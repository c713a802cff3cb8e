// Frames: how a queue's files hold its payloads, so that what a crash has torn is known from what is whole.
//
//   4 bytes "JQF\n", 4 CRC-32 of all that follows, 4 length of the payload, 8 sequence number, the payload; little-endian.
//
// Invariant: a frame that is read back is one that was written, whole. Where bytes are damaged, reading goes on at the next
// frame that is whole: one bad sector costs the frames that it holds and no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace joulery {

struct Frame {
  std::uint64_t sequence = 0;
  std::string payload;
};

inline constexpr std::size_t frame_head_bytes = 20, most_frame_bytes = 64 << 20;

// `payload` of at most most_frame_bytes - frame_head_bytes.
std::string encode_frame(std::uint64_t sequence, std::string_view payload);

// Walks through the bytes of a file, from any frame of it to its end.
class FrameReader {
 public:
  explicit FrameReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  // The next whole frame; nothing at the end.
  std::optional<Frame> next();
  std::size_t position() const { return at_; }         // just after the frame that next() gave
  std::size_t damaged_bytes() const { return damaged_; }  // passed over so far, those after the last frame too once at the end

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0, damaged_ = 0;
};

}  // namespace joulery
