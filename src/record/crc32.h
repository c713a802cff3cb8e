// CRC-32 as in zlib, PNG and Ethernet (reflected polynomial 0xEDB88320): every language has it, so that a reader
// of recordings is easily written anywhere.
#pragma once

#include <cstdint>
#include <span>

namespace joulery {

std::uint32_t crc32(std::span<const std::uint8_t> bytes);

}  // namespace joulery
