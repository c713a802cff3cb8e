// What an SNMP device answers to a question for numbers, whatever carries it: the network or a script in a test. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.h"
#include "sense/trouble.h"

namespace joulery {

using SnmpOid = std::vector<std::uint32_t>;

// "1.3.6.1.4.1.318" or ".1.3.6.1.4.1.318": numbers only, 2 to 128 of them; nothing for anything else.
std::optional<SnmpOid> parse_snmp_oid(std::string_view text);
std::string to_text(const SnmpOid& oid);
SnmpOid operator+(SnmpOid oid, std::span<const std::uint32_t> more);

struct SnmpValue {
  enum class Kind : std::uint8_t {
    absent,     // the device has no such object or instance
    whole,      // an integer, gauge or time
    counter32,  // whole, and wraps at 2^32
    real,       // an opaque float or double
    text,       // octets: some devices write numbers so
    other,      // an address, a name: no number
  };
  Kind kind = Kind::absent;
  std::int64_t whole = 0;  // a 64-bit counter keeps its bits
  double real = 0;
  std::string text = {};
};

// The value as a finite number; nothing where it is absent or none. A text may have a unit after white space: "12.3 W".
std::optional<double> number_of(const SnmpValue& value);

// One device. get() answers in the order of `oids`, within about `limit`, and never throws.
class SnmpTransport {
 public:
  virtual ~SnmpTransport() = default;
  virtual Answer<std::vector<SnmpValue>> get(std::span<const SnmpOid> oids, Duration limit) = 0;
};

}  // namespace joulery
