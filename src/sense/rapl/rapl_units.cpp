#include "sense/rapl/rapl_units.h"

#include <algorithm>
#include <cmath>
#include <span>

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

// Models of family 6 whose platform counter counts whole joules.
constexpr int joule_psys_models[] = {
    143,  // Sapphire Rapids
    207,  // Emerald Rapids
};

// Models of family 6 whose ESU says microjoules times a power of two.
constexpr int microjoule_models[] = {
    55,      // Silvermont: Bay Trail
    74, 90,  // Silvermont in phones: Merrifield, Moorefield
    76,      // Airmont: Cherry Trail, Braswell
};

bool is_one_of(std::span<const int> models, std::string_view vendor, int family, int model) {
  return vendor == "GenuineIntel" && family == 6 && std::ranges::find(models, model) != models.end();
}

// The true unit over the claimed one, where they differ.
std::optional<double> unit_error(double unit, double range_joules) {
  if (!(range_joules > 0)) return std::nullopt;
  const double ratio = unit / (range_joules / 4294967295.0);
  if (std::abs(ratio - 1.0) < 0.05) return std::nullopt;
  return ratio;
}

}  // namespace

double rapl_energy_unit(unsigned esu) { return std::ldexp(1.0, -static_cast<int>(std::min(esu, 31u))); }

double rapl_dram_unit(std::string_view vendor, int family, int model, unsigned esu) {
  return rapl_energy_unit(is_one_of(fixed_dram_models, vendor, family, model) ? fixed_esu : esu);
}

std::optional<double> rapl_dram_unit_error(std::string_view vendor, int family, int model, double range_joules) {
  if (!is_one_of(fixed_dram_models, vendor, family, model)) return std::nullopt;
  return unit_error(rapl_energy_unit(fixed_esu), range_joules);
}

double rapl_package_unit(std::string_view vendor, int family, int model, unsigned esu) {
  if (is_one_of(microjoule_models, vendor, family, model)) return 1e-6 * std::ldexp(1.0, static_cast<int>(std::min(esu, 31u)));
  return rapl_energy_unit(esu);
}

double rapl_psys_unit(std::string_view vendor, int family, int model, unsigned esu) {
  return is_one_of(joule_psys_models, vendor, family, model) ? 1.0 : rapl_package_unit(vendor, family, model, esu);
}

std::optional<double> rapl_psys_unit_error(std::string_view vendor, int family, int model, double range_joules) {
  if (!is_one_of(joule_psys_models, vendor, family, model)) return std::nullopt;
  return unit_error(1.0, range_joules);
}

}  // namespace joulery
