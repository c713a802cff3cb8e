// `joulery places [TEXT]`: the places whose carbon intensity is known.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "app/command.h"
#include "app/command_line.h"
#include "factors/places.h"

namespace joulery {
namespace {

std::string lower(std::string_view text) {
  std::string low(text);
  std::ranges::transform(low, low.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return low;
}

bool matches(const Place& place, const std::string& wanted) {
  return lower(place.code).contains(wanted) || lower(place.alpha3).contains(wanted) || lower(place.name).contains(wanted) ||
         lower(place.aliases).contains(wanted);
}

}  // namespace

int places_command(std::vector<std::string> arguments) {
  CLI::App app("Lists the places whose carbon intensity is known, with year and source.", "joulery places");
  std::string text;
  app.add_option("TEXT", text, "only places whose code or name holds this");
  if (const auto code = parse(app, std::move(arguments))) return *code;
  const std::string wanted = lower(text);
  bool any = false;
  for (const Place& place : all_places()) {
    if (!matches(place, wanted)) continue;
    any = true;
    fmt::print("{:<26} {:>6.0f} g/kWh  {}  {:<32} {}\n", place.code, to_grams_per_kilowatt_hour(place.intensity), place.year, place.name,
               citation(place.source));
  }
  if (any) return 0;
  std::string near;
  for (const std::string& name : nearest_places(text, 3)) near += (near.empty() ? "" : ", ") + name;
  return complain("places",
                  {ErrorCode::not_found, fmt::format("no place matches '{}'", text), "",
                   near.empty() ? "joulery places lists them all" : "near: " + near},
                  1);
}

}  // namespace joulery
