// What a plug may publish, and what an SNMP device may write for a number: a finite value or a reason why there is none.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sense/remote/json_number.h"
#include "sense/remote/meter_unit.h"
#include "sense/room/snmp_value.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

// The first line is a JSON pointer, the rest the payload.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace joulery;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\n');
  const std::string_view pointer = text.substr(0, end);
  const std::string_view payload = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  if (is_json_pointer(pointer)) {
    const auto number = number_at(payload, pointer);
    require(!number || std::isfinite(*number));
    if (number) Scaling{}.counts(*number);
  }
  if (const auto oid = parse_snmp_oid(pointer)) require(oid->size() >= 2 && oid->size() <= 128 && parse_snmp_oid(to_text(*oid)) == oid);
  const auto number = number_of({SnmpValue::Kind::text, 0, 0, std::string(payload)});
  require(!number || std::isfinite(*number));
  return 0;
}
