#include "watch/profile/proto_reader.h"

#include <algorithm>
#include <cstring>

namespace joulery {
namespace {

constexpr std::size_t longest_varint = 10;
constexpr std::size_t longest_head = 2 * longest_varint;   // tag and value

// Bytes taken; 0: more are needed; -1: no varint.
int read_varint(std::string_view bytes, std::uint64_t& value) {
  value = 0;
  for (std::size_t i = 0; i < std::min(bytes.size(), longest_varint); ++i) {
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) return static_cast<int>(i) + 1;
  }
  return bytes.size() < longest_varint ? 0 : -1;
}

template <class Fixed>
std::uint64_t fixed(std::string_view bytes) {
  Fixed value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// The field at the front of `bytes`, without the payload of a length-delimited one. As read_varint.
int read_head(std::string_view bytes, ProtoField& field) {
  std::uint64_t tag = 0;
  const int size = read_varint(bytes, tag);
  if (size <= 0) return size;
  field.number = static_cast<std::uint32_t>(tag >> 3);
  field.wire = static_cast<std::uint8_t>(tag & 7);
  if (tag >> 3 == 0 || tag >> 32 != 0) return -1;
  const std::string_view rest = bytes.substr(static_cast<std::size_t>(size));
  switch (field.wire) {
    case 0:
    case 2: {
      const int more = read_varint(rest, field.value);
      return more <= 0 ? more : size + more;
    }
    case 1:
      if (rest.size() < 8) return 0;
      field.value = fixed<std::uint64_t>(rest);
      return size + 8;
    case 5:
      if (rest.size() < 4) return 0;
      field.value = fixed<std::uint32_t>(rest);
      return size + 4;
    default: return -1;
  }
}

}  // namespace

bool ProtoBytes::next() {
  if (rest_.empty()) return false;
  const int size = read_head(rest_, field_);
  if (size <= 0) return ok_ = false;
  rest_.remove_prefix(static_cast<std::size_t>(size));
  bytes_ = {};
  if (field_.wire != 2) return true;
  if (field_.value > rest_.size()) return ok_ = false;
  bytes_ = rest_.substr(0, field_.value);
  rest_.remove_prefix(field_.value);
  return true;
}

Result<bool> ProtoStream::next(std::uint64_t end, ProtoField& field) {
  if (input_->offset() >= end) return false;
  if (const auto got = input_->want(longest_head); !got) return std::unexpected(got.error());
  const std::string_view window = input_->window();
  if (window.empty()) {
    if (end == until_the_end) return false;
    return fail(ErrorCode::format, "the trace is cut short", input_->place(), "was the profiler stopped before it had written it?");
  }
  const int size = read_head(window, field);
  if (size == 0)
    return fail(ErrorCode::format, "the trace is cut short", input_->place(), "was the profiler stopped before it had written it?");
  if (size < 0) return fail(ErrorCode::format, "the trace is not the protobuf that this reader knows", input_->place());
  if (end != until_the_end) {
    const std::uint64_t left = end - input_->offset();
    if (static_cast<std::uint64_t>(size) > left || (field.wire == 2 && field.value > left - static_cast<std::uint64_t>(size)))
      return fail(ErrorCode::format, "a field of the trace reaches beyond the message that holds it", input_->place());
  }
  input_->take(static_cast<std::size_t>(size));
  return true;
}

Result<std::string_view> ProtoStream::payload(const ProtoField& field) {
  const auto size = static_cast<std::size_t>(field.value);
  if (field.value > input_->limits().window)
    return fail(ErrorCode::format, "a part of the trace says that it is " + std::to_string(field.value) + " bytes long", input_->place());
  if (const auto got = input_->want(size); !got) return std::unexpected(got.error());
  if (input_->window().size() < size)
    return fail(ErrorCode::format, "the trace is cut short", input_->place(), "was the profiler stopped before it had written it?");
  return input_->window().substr(0, size);
}

Result<void> ProtoStream::skip(const ProtoField& field) {
  if (field.wire != 2) return {};
  const std::string place = input_->place();
  const auto gone = input_->skip(field.value);
  if (!gone) return std::unexpected(gone.error());
  if (!*gone)
    return fail(ErrorCode::format, "the trace is cut short: a part says that it is " + std::to_string(field.value) + " bytes long", place);
  return {};
}

}  // namespace joulery
