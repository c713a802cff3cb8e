#include "record/crc32.h"

#include <gtest/gtest.h>

#include <string_view>

namespace joulery {
namespace {

std::uint32_t of(std::string_view text) { return crc32({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}); }

// The check value of CRC-32/ISO-HDLC in the catalogue of parametrised CRC algorithms; the others from Python's zlib.crc32.
TEST(Crc32, KnownValues) {
  EXPECT_EQ(of("123456789"), 0xCBF43926u);
  EXPECT_EQ(of(""), 0u);
  EXPECT_EQ(of("a"), 0xE8B7BE43u);
  EXPECT_EQ(of("The quick brown fox jumps over the lazy dog"), 0x414FA339u);
}

}  // namespace
}  // namespace joulery
