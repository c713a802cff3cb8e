// Quantities from any bytes: no crash, no undefined behaviour, and what is printed of a quantity that was read is read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/units.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace joulery;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto power = parse_power(text); power && !parse_power(to_text(*power))) std::abort();
  if (auto energy = parse_energy(text); energy && !parse_energy(to_text(*energy))) std::abort();
  if (auto span = parse_duration(text)) (void)to_text(*span);
  return 0;
}
