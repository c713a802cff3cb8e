#include "sense/rapl/rapl_units.h"

#include <algorithm>
#include <cmath>

namespace joulery {
namespace {

constexpr int fixed_esu = 16;  // 15.3 µJ

// Models of family 6 whose DRAM counter has the fixed unit.
constexpr int fixed_dram_models[] = {
    63,        // Haswell-EP
    79,  86,    // Broadwell-EP, Broadwell-DE
    85,        // Skylake-SP, Cascade Lake-SP
    87,  133,   // Xeon Phi: Knights Landing, Knights Mill
    106, 108,  // Ice Lake-SP, Ice Lake-D
};

bool has_fixed_dram_unit(std::string_view vendor, int family, int model) {
  return vendor == "GenuineIntel" && family == 6 && std::ranges::find(fixed_dram_models, model) != std::end(fixed_dram_models);
}

}  // namespace

double rapl_energy_unit(unsigned esu) { return std::ldexp(1.0, -static_cast<int>(std::min(esu, 31u))); }

double rapl_dram_unit(std::string_view vendor, int family, int model, unsigned esu) {
  return rapl_energy_unit(has_fixed_dram_unit(vendor, family, model) ? fixed_esu : esu);
}

std::optional<double> rapl_dram_unit_error(std::string_view vendor, int family, int model, double range_joules) {
  if (!has_fixed_dram_unit(vendor, family, model) || !(range_joules > 0)) return std::nullopt;
  const double claimed = range_joules / 4294967295.0;
  const double ratio = rapl_energy_unit(fixed_esu) / claimed;
  if (std::abs(ratio - 1.0) < 0.05) return std::nullopt;
  return ratio;
}

}  // namespace joulery
