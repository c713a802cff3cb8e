// One request to a management controller (BMC) and its reply, whatever carries them: the kernel's device, the network or a
// script in a test. Numbers and layouts: Intelligent Platform Management Interface Specification 2.0, revision 1.1.
//
// Invariant: a reply's data begins after the completion code, and is only to be read where that code is 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/quantity.h"
#include "sense/trouble.h"

namespace joulery {

struct IpmiRequest {
  std::uint8_t net_fn = 0, command = 0;  // net_fn: even, the reply's is one greater
  std::vector<std::uint8_t> data = {};
  std::uint8_t lun = 0;                  // the unit behind the controller, 0 to 3
  friend bool operator==(const IpmiRequest&, const IpmiRequest&) = default;
};

struct IpmiReply {
  std::uint8_t completion = 0;
  std::vector<std::uint8_t> data = {};
};

// What carries messages. exchange() returns within about `limit` and never throws.
class IpmiTransport {
 public:
  virtual ~IpmiTransport() = default;
  virtual Answer<IpmiReply> exchange(const IpmiRequest& request, Duration limit) = 0;
};

// The trouble that a completion code other than 0 stands for (table 5-2 of the specification).
Trouble completion_trouble(std::uint8_t completion);

// exchange(), and a completion code other than 0 is trouble too.
Answer<std::vector<std::uint8_t>> ask(IpmiTransport& transport, const IpmiRequest& request, Duration limit);

// Little-endian numbers at an offset; the caller has looked at the length.
constexpr unsigned le16(std::span<const std::uint8_t> bytes, std::size_t at) { return bytes[at] | unsigned{bytes[at + 1]} << 8; }
constexpr std::uint32_t le32(std::span<const std::uint8_t> bytes, std::size_t at) {
  return le16(bytes, at) | std::uint32_t{le16(bytes, at + 2)} << 16;
}

}  // namespace joulery
