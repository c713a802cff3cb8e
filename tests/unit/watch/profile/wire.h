// Protobuf messages put together by hand for the tests of the readers.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace joulery::wire {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out += static_cast<char>(value);
}
inline std::string number(std::uint32_t field, std::uint64_t value) { return varint(std::uint64_t{field} << 3) + varint(value); }
inline std::string bytes(std::uint32_t field, std::string_view value) {
  return varint(std::uint64_t{field} << 3 | 2) + varint(value.size()) + std::string(value);
}
inline std::string real(std::uint32_t field, double value) {
  std::string out = varint(std::uint64_t{field} << 3 | 1);
  for (int i = 0; i < 8; ++i) out += static_cast<char>(std::bit_cast<std::uint64_t>(value) >> (8 * i));
  return out;
}

}  // namespace joulery::wire
