// Protobuf's wire format, as far as monitoring needs it: varints, fixed 64-bit numbers, texts and nested messages
// (protobuf.dev, "Encoding"). A few dozen lines in place of a library, a schema compiler and their versions.
//
// Invariant: what is in bytes() is a whole message at any time outside a body of message(). Two of them one after the other are
// their merge, in which repeated fields follow each other: so batches are made of ready messages.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace joulery {

class ProtobufWriter {
 public:
  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

  // Fields are written even where the value is the default: a member of a oneof is only there when it is written.
  void varint(std::uint32_t field, std::uint64_t value) {
    tag(field, 0);
    put_varint(value);
  }
  void fixed64(std::uint32_t field, std::uint64_t value) {
    tag(field, 1);
    for (int shift = 0; shift < 64; shift += 8) bytes_.push_back(static_cast<char>(value >> shift & 0xff));
  }
  void real(std::uint32_t field, double value) { fixed64(field, std::bit_cast<std::uint64_t>(value)); }
  void text(std::uint32_t field, std::string_view value) {
    tag(field, 2);
    put_varint(value.size());
    bytes_ += value;
  }
  // `body()` writes the fields of the nested message into this writer.
  template <class Body>
  void message(std::uint32_t field, Body&& body) {
    tag(field, 2);
    const std::size_t begin = bytes_.size();
    body();
    char length[10];
    std::size_t digits = 0;
    for (std::uint64_t left = bytes_.size() - begin;; left >>= 7) {
      length[digits++] = static_cast<char>(left < 0x80 ? left : (left & 0x7f) | 0x80);
      if (left < 0x80) break;
    }
    bytes_.insert(begin, length, digits);
  }

 private:
  void tag(std::uint32_t field, std::uint32_t wire_type) { put_varint(std::uint64_t{field} << 3 | wire_type); }
  void put_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>((value & 0x7f) | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  std::string bytes_;
};

}  // namespace joulery
