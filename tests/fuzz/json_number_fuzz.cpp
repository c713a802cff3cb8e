// A JSON pointer, a line feed, and a text: the answer is a finite number or says why not.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sense/remote/json_number.h"
#include "sense/remote/meter_unit.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace joulery;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto line = text.find('\n');
  if (line == std::string_view::npos) return 0;
  const auto number = number_at(text.substr(line + 1), text.substr(0, line));
  if (number && !std::isfinite(*number)) std::abort();
  if (!number && number.error().what.empty()) std::abort();
  if (number) (void)Scaling{{Measurand::energy, 3.6e6}, 1e9, 1e-3}.counts(*number);
  return 0;
}
