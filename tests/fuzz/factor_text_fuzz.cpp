// Texts that people write for grams and money: intensities, tariffs, places. Whatever they hold, the
// answer is a value in its range or an error that says so.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "factors/carbon.h"
#include "factors/places.h"
#include "factors/tariff.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  using namespace joulery;
  switch (data[0] % 3) {
    case 0:
      if (const auto value = parse_carbon_intensity(text))
        require(to_grams_per_kilowatt_hour(*value) >= 0 && to_grams_per_kilowatt_hour(*value) <= 10'000);
      break;
    case 1:
      if (const auto value = parse_tariff(text, "")) require(value->price.base_units() >= 0 && value->currency.code().size() == 3);
      break;
    default:
      if (const auto match = find_place(text))
        require(match->place != nullptr);
      else
        require(match.error().code == ErrorCode::usage);
  }
  return 0;
}
