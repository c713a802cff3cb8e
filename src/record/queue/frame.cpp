#include "record/queue/frame.h"

#include <algorithm>
#include <array>

#include "record/crc32.h"

namespace joulery {
namespace {

using Span = std::span<const std::uint8_t>;

constexpr std::array<std::uint8_t, 4> marker{'J', 'Q', 'F', '\n'};
constexpr std::size_t sum_at = 4, length_at = 8, sequence_at = 12;

void put_number(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

std::uint64_t number_in(Span bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

// The size of the whole frame at the front, 0 where there is none.
std::size_t whole_frame(Span rest, Frame& frame) {
  if (rest.size() < frame_head_bytes || !std::equal(marker.begin(), marker.end(), rest.begin())) return 0;
  const std::uint64_t length = number_in(rest.subspan(length_at, 4));
  if (length > rest.size() - frame_head_bytes) return 0;
  if (number_in(rest.subspan(sum_at, 4)) != crc32(rest.subspan(length_at, frame_head_bytes - length_at + length))) return 0;
  const Span payload = rest.subspan(frame_head_bytes, length);
  frame.sequence = number_in(rest.subspan(sequence_at, 8));
  frame.payload.assign(payload.begin(), payload.end());
  return frame_head_bytes + length;
}

}  // namespace

std::string encode_frame(std::uint64_t sequence, std::string_view payload) {
  std::string summed;
  summed.reserve(frame_head_bytes + payload.size());
  put_number(summed, payload.size(), 4);
  put_number(summed, sequence, 8);
  summed += payload;
  std::string frame(marker.begin(), marker.end());
  put_number(frame, crc32({reinterpret_cast<const std::uint8_t*>(summed.data()), summed.size()}), 4);
  return frame + summed;
}

std::optional<Frame> FrameReader::next() {
  Frame frame;
  for (std::size_t at = at_; at < bytes_.size(); ++at) {
    at = static_cast<std::size_t>(std::find(bytes_.begin() + static_cast<std::ptrdiff_t>(at), bytes_.end(), marker[0]) - bytes_.begin());
    const std::size_t size = whole_frame(bytes_.subspan(at), frame);
    if (size == 0) continue;
    damaged_ += at - at_;
    at_ = at + size;
    return frame;
  }
  damaged_ += bytes_.size() - at_;
  at_ = bytes_.size();
  return std::nullopt;
}

}  // namespace joulery
