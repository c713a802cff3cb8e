#include "factors/places.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "core/near_names.h"
#include "factors/amount_text.h"

namespace joulery {
namespace {

// Letters with an accent of Latin-1 (U+00C0 to U+00FF), without it.
constexpr std::string_view plain_letters = "aaaaaaaceeeeiiiidnooooo ouuuuytsaaaaaaaceeeeiiiidnooooo ouuuuyty";

// Lower case, without accents; white space at the ends is dropped and '_' read as '-'.
std::string folded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    if (byte == 0xC3 && next >= 0x80 && next <= 0xBF) {
      result += plain_letters[next - 0x80];
      ++i;
    } else if (byte >= 'A' && byte <= 'Z') {
      result += static_cast<char>(byte - 'A' + 'a');
    } else {
      result += byte == '_' ? '-' : text[i];
    }
  }
  const std::size_t begin = result.find_first_not_of(" \t"), end = result.find_last_not_of(" \t");
  return begin == std::string::npos ? "" : result.substr(begin, end - begin + 1);
}

// A name as it is compared: nothing but letters and digits, so that "West Europe" and "westeurope" are one.
std::string letters_of(std::string_view text) {
  std::string result;
  for (const char c : folded(text))
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80) result += c;
  return result;
}

// Calls `use` with each name of the place; stops and returns true when it does.
template <class Use>
bool any_name(const Place& place, Use&& use) {
  if (use(place.name)) return true;
  for (std::size_t at = 0; at < place.aliases.size();) {
    const std::size_t end = std::min(place.aliases.find('|', at), place.aliases.size());
    if (use(place.aliases.substr(at, end - at))) return true;
    at = end + 1;
  }
  return false;
}

// "eu-west-1" of "aws:eu-west-1": what people write when they know their own cloud; the code itself for other places.
std::string_view bare_code(const Place& place) { return place.code.substr(place.code.find(':') + 1); }

bool has_code(const Place& place, std::string_view folded_text) {
  return folded(place.code) == folded_text || (!place.alpha3.empty() && folded(place.alpha3) == folded_text) ||
         (place.kind == PlaceKind::cloud_region && folded(bare_code(place)) == folded_text);
}

const Place* exact_place(std::string_view text) {
  const std::string code = folded(text), letters = letters_of(text);
  if (letters.empty()) return nullptr;
  for (const Place& place : all_places())
    if (has_code(place, code)) return &place;
  for (const Place& place : all_places()) {
    // "Azure West Europe" and "West Europe" alike.
    const auto same = [&](std::string_view name) {
      return letters_of(name) == letters ||
             (place.kind == PlaceKind::cloud_region && letters_of(name.substr(name.find(' ') + 1)) == letters);
    };
    if (any_name(place, same)) return &place;
  }
  return nullptr;
}

std::vector<const Place*> subregions_of(const Place& country) {
  std::vector<const Place*> found;
  for (const Place& place : all_places())
    if (place.kind == PlaceKind::subregion && place.parent == country.code) found.push_back(&place);
  return found;
}

std::string label(const Place& place) { return fmt::format("{} ({})", place.name, place.code); }

struct Parts {
  std::string_view country, region;
};

// "Sweden, Stockholm county", "SWE/stockholm county", "SE-AB" (ISO 3166-2); no region where it is none of these.
Parts split(std::string_view text) {
  std::size_t at = text.find_first_of(",/");
  // ISO 3166-2: two letters, a hyphen, one to three letters or digits. Anything longer is no region's code but a misspelt one.
  const bool code = text.size() >= 4 && text.size() <= 6 && text[2] == '-' &&
                    std::ranges::all_of(text.substr(3), [](unsigned char c) { return std::isalnum(c); });
  if (at == std::string_view::npos && code) at = 2;
  if (at == std::string_view::npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::unexpected<Error> unknown(std::string_view text, std::string_view kind, const std::vector<std::string>& near) {
  return fail(ErrorCode::usage, fmt::format("unknown {} '{}'", kind, text), "",
              near.empty() ? "write a country (SE, SWE, Sweden), a state (US-CA) or a cloud region (aws:eu-west-1)"
                           : fmt::format("did you mean {}?", fmt::join(near, ", ")));
}

Result<PlaceMatch> region_of(const Place& country, std::string_view region) {
  const auto candidates = subregions_of(country);
  const std::string letters = letters_of(region), code = letters_of(country.code) + letters;
  for (const Place* place : candidates) {
    const auto same = [&](std::string_view name) { return letters_of(name) == letters; };
    if (letters_of(place->code) == code || any_name(*place, same)) return PlaceMatch{place, ""};
  }
  if (candidates.empty()) return PlaceMatch{&country, fmt::format("no figure for '{}': the average of {}", trimmed(region), country.name)};
  std::vector<std::string> names;
  for (const Place* place : candidates) names.emplace_back(place->name);
  return unknown(trimmed(region), fmt::format("region of {}", country.name), near_names(trimmed(region), names, 3));
}

// Smallest distance of the text to any code or name of the place, nothing where all are further than `limit`; a name
// that begins with the text counts as near.
std::optional<std::size_t> distance_to(const Place& place, const std::string& letters, std::size_t limit) {
  std::size_t best = limit + 1;
  const auto consider = [&](std::string_view name) {
    const std::string candidate = letters_of(name);
    if (candidate.empty()) return false;
    if (letters.size() >= 3 && candidate.starts_with(letters)) best = std::min<std::size_t>(best, 1);
    const std::size_t difference = std::max(letters.size(), candidate.size()) - std::min(letters.size(), candidate.size());
    if (difference < best) best = std::min(best, edit_distance(letters, candidate));
    return false;
  };
  any_name(place, consider);
  consider(place.code);
  consider(place.alpha3);
  if (place.kind == PlaceKind::cloud_region) {
    consider(bare_code(place));
    consider(place.name.substr(place.name.find(' ') + 1));
  }
  return best > limit ? std::nullopt : std::optional(best);
}

}  // namespace

const Place& world_average() { return all_places().front(); }

std::string citation(std::string_view source_id) {
  for (const FactorSource& source : all_factor_sources())
    if (source.id == source_id) return fmt::format("{}, {}", source.title, source.publisher);
  return std::string(source_id);
}

std::vector<std::string> nearest_places(std::string_view text, std::size_t count) {
  const std::string letters = letters_of(text);
  const std::size_t limit = std::max<std::size_t>(2, letters.size() / 3);
  const auto places = all_places();
  std::vector<std::pair<std::size_t, std::size_t>> ranked;  // distance, then the table's order
  for (std::size_t i = 0; i < places.size(); ++i)
    if (const auto distance = distance_to(places[i], letters, limit)) ranked.emplace_back(*distance, i);
  std::ranges::sort(ranked);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(count, ranked.size()); ++i) names.push_back(label(places[ranked[i].second]));
  return names;
}

Result<PlaceMatch> find_place(std::string_view text) {
  constexpr std::size_t longest = 100;  // no place has a longer name; keeps the search for near ones short
  if (text.size() > longest) return fail(ErrorCode::usage, "the name of a place is too long", std::string(text.substr(0, longest)) + "...");
  if (const Place* place = exact_place(text)) return PlaceMatch{place, ""};
  const Parts parts = split(text);
  const Place* country = parts.region.empty() ? nullptr : exact_place(parts.country);
  if (country != nullptr && country->kind == PlaceKind::country && !letters_of(parts.region).empty())
    return region_of(*country, parts.region);
  return unknown(text, "place", nearest_places(text, 5));
}

}  // namespace joulery
