// The places whose electricity we know: countries, some of their states and provinces, cloud regions, the world.
// The table ships inside the program (data/carbon_intensity.csv, built by scripts/build_carbon_table), so that no
// answer ever needs a network. A place that is not in it is refused with the nearest names, never guessed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.h"
#include "core/result.h"

namespace joulery {

enum class PlaceKind : std::uint8_t { world, country, subregion, cloud_region };

struct Place {
  PlaceKind kind = PlaceKind::world;
  std::string_view code;       // "SE", "US-CA", "aws:eu-west-1"; unique
  std::string_view alpha3;     // "SWE"; "" where it is no country
  std::string_view name;       // "Sweden"
  std::string_view aliases;    // other names, separated by '|'
  std::string_view parent;     // code of the place in which it lies; "" for countries
  CarbonIntensity intensity;   // yearly average of the grid, location-based
  int year = 0;                // to which the figure belongs
  std::string_view source;     // id of a FactorSource
  double pue = 0;              // 0 where none is known
  std::string_view pue_source;
};

struct FactorSource {
  std::string_view id, title, publisher, licence, origin;
};

// World first, then countries, subregions, cloud regions.
std::span<const Place> all_places();
std::span<const FactorSource> all_factor_sources();

const Place& world_average();
// "title, publisher"; the id itself where it is unknown.
std::string citation(std::string_view source_id);

struct PlaceMatch {
  const Place* place = nullptr;
  std::string note;            // "no figure for 'stockholm county': the average of Sweden"; "" where it fits exactly
};

// ISO codes ("SE", "SWE"), English names, "US-CA", "US/California", "Sweden, Stockholm county", cloud regions with or
// without their provider ("aws:eu-west-1", "eu-west-1", "West Europe"); case and accents do not matter.
// A region of a country for which we hold no regions gives the country, with a note.
// Errors: usage, with the nearest names as the hint.
Result<PlaceMatch> find_place(std::string_view text);

// Names and codes nearest to `text`, as "Sweden (SE)", nearest first; at most `count`, none where nothing is near.
std::vector<std::string> nearest_places(std::string_view text, std::size_t count);

}  // namespace joulery
