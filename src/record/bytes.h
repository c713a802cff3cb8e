// Bytes in and out, as recordings hold them: little-endian, whole numbers as LEB128 varints.
//
// Invariant: a reader never looks beyond its span; after a failed read ok() is false and every value is 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace joulery {

using Bytes = std::vector<std::uint8_t>;

// Small magnitudes of either sign become small unsigned numbers: 0 -1 1 -2 2 -> 0 1 2 3 4.
constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) { return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1)); }

inline void put_varint(Bytes& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::uint8_t>(value | 0x80));
  out.push_back(static_cast<std::uint8_t>(value));
}
inline void put_signed(Bytes& out, std::int64_t value) { put_varint(out, zigzag(value)); }

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  std::span<const std::uint8_t> rest() const { return rest_; }  // what was not read yet
  std::uint8_t byte() {
    const auto one = take(1);
    return one.empty() ? std::uint8_t{0} : one[0];
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
      if (next < 0x80) return ok_ ? value : 0;
    }
    ok_ = false;  // more than ten bytes
    return 0;
  }
  std::int64_t signed_varint() { return unzigzag(varint()); }
  // The next `count` bytes, or none (and ok() false) where there are fewer.
  std::span<const std::uint8_t> take(std::uint64_t count) {
    if (!ok_ || count > rest_.size()) {
      ok_ = false;
      return {};
    }
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

 private:
  std::span<const std::uint8_t> rest_;
  bool ok_ = true;
};

}  // namespace joulery
