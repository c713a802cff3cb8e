// Protobuf's wire format read from a streaming input, field by field, without a schema compiler and without a message in
// memory: messages of gigabytes pass through a window.
//
// Invariant: no length that a file declares is believed before the bytes are there; a field that would reach beyond the
// message that holds it is an error that names the byte.
#pragma once

#include <cstdint>
#include <string_view>

#include "watch/profile/trace_input.h"

namespace joulery {

struct ProtoField {
  std::uint32_t number = 0;
  std::uint8_t wire = 0;          // 0 varint, 1 eight bytes, 2 length-delimited, 5 four bytes
  std::uint64_t value = 0;        // of a number, or the length of what follows
};

// Fields of messages that are in memory as a whole: the small ones.
class ProtoBytes {
 public:
  explicit ProtoBytes(std::string_view bytes) : rest_(bytes) {}
  // The next field; false at the end, and at what is no field (then ok() is false).
  bool next();
  const ProtoField& field() const { return field_; }
  std::string_view bytes() const { return bytes_; }   // of a length-delimited field
  bool ok() const { return ok_; }
  std::size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_, bytes_;
  ProtoField field_;
  bool ok_ = true;
};

// Fields of a message that streams.
class ProtoStream {
 public:
  explicit ProtoStream(TraceInput& input) : input_(&input) {}

  // The next field of the message that ends at the input's offset `end`; false at its end. Errors: format.
  Result<bool> next(std::uint64_t end, ProtoField& field);
  // The payload of a length-delimited field, whole; valid until the input is touched again. Errors: format where it is
  // longer than the window may be, or cut short.
  Result<std::string_view> payload(const ProtoField& field);
  void take(std::string_view payload) { input_->take(payload.size()); }
  // Goes past a field's payload. Errors: format where the input ends before.
  Result<void> skip(const ProtoField& field);
  std::uint64_t offset() const { return input_->offset(); }
  TraceInput& input() { return *input_; }

 private:
  TraceInput* input_;
};

// Ends a message that nobody has measured: at the end of the input.
inline constexpr std::uint64_t until_the_end = ~std::uint64_t{0};

}  // namespace joulery
