// Grams of CO2 equivalent of an energy. What is measured is IT energy and stays so; grams (and money, tariff.h) belong
// to the energy that the site drew for it: IT energy times PUE. Location-based yearly averages, never market-based.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/quality.h"
#include "core/quantity.h"
#include "core/result.h"

namespace joulery {

// Power usage effectiveness: energy of the whole site over that of its IT equipment; at least 1.
struct Pue {
  double value = 1.0;
  std::string source;        // who says so
  std::string note;          // "no PUE given: ..." where 1.0 stands for "unknown"
};

struct CarbonFactor {
  CarbonIntensity intensity;
  std::string place;         // "Sweden"
  std::string code;          // "SE"; "" where only a figure was given
  std::string source;
  std::optional<int> year;   // to which the figure belongs; empty where it was given without one
  std::string note;          // what a reader must know: "no place given: the world's average"
  Pue pue;
};

// What flags and configuration say; an empty part is chosen by the rules of choose_carbon_factor().
struct CarbonChoice {
  std::optional<std::string> place;
  std::optional<CarbonIntensity> intensity;  // wins over the place's own
  std::string intensity_source;              // "--carbon-intensity"; where `intensity` is given
  std::optional<double> pue;                 // wins over the provider's
};

// The place's factor; a figure that was given, as given; with neither, the world's average with a note. PUE: the one
// given, else the cloud provider's, else 1.0 with a note.
// Errors: usage, for a place that we do not know (with near names) and a PUE below 1.
Result<CarbonFactor> choose_carbon_factor(const CarbonChoice& choice);

struct CarbonMass {
  Carbon grams, low, high;   // low and high from the energy's 90 % interval; the factor's own uncertainty is not in them
};

CarbonMass carbon_of(const Estimate& it_energy, const CarbonFactor& factor);
// What the site drew for an IT energy.
Energy site_energy(Energy it_energy, const Pue& pue);

// "334", "334 g/kWh", "0.334 kgCO2e/kWh", "412.5lb/MWh" (412.5 * 453.59237 / 1000 = 187.107 g/kWh); g/kWh where no unit
// is written. Errors: usage; also for a figure that no grid has (negative, above 10 kg/kWh), which is most often a wrong unit.
Result<CarbonIntensity> parse_carbon_intensity(std::string_view text);

}  // namespace joulery
