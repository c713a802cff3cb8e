#include "factors/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "config/toml.h"
#include "config/toml_ascii.h"
#include "core/near_names.h"
#include "core/units.h"
#include "factors/whole_file.h"

namespace joulery {
namespace {

constexpr double most_watts = 1e6;
constexpr const char* give_again = "measure again with the wall meter and run joulery calibrate --idle W --max W";
const std::array<std::string, 4> keys = {"idle_watts", "max_watts", "half_watts", "source"};

Result<void> known_keys(const toml::table& table, const std::string& path) {
  for (const auto& [key, value] : table) {
    const std::string name = from_ascii_spelling(key.str());
    if (std::ranges::find(keys, name) != keys.end()) continue;
    const std::string near = nearest_name(name, keys);
    return fail(ErrorCode::format, fmt::format("unknown key \"{}\" in the calibration", name), path,
                near.empty() ? "known are idle_watts, max_watts, half_watts and source" : fmt::format("did you mean {}?", near));
  }
  return {};
}

// A whole or a broken number of watts; nothing where the key is absent.
Result<std::optional<Power>> power_of(const toml::table& table, const char* key, const std::string& path) {
  const toml::node* node = table.get(key);
  if (!node) return std::optional<Power>();
  const auto value = node->is_number() ? node->value<double>() : std::nullopt;
  if (!value) return fail(ErrorCode::format, fmt::format("{} is not a number of watts", key), path, give_again);
  return std::optional(watts(*value));
}

std::string file_text(const Calibration& c) {
  toml::table table;
  table.insert("idle_watts", to_watts(c.idle));
  table.insert("max_watts", to_watts(c.max));
  if (c.half) table.insert("half_watts", to_watts(*c.half));
  if (!c.source.empty()) table.insert("source", ascii_spelling(c.source));
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << "# What a wall meter showed of this machine; written by joulery calibrate.\n" << table << "\n";
  return from_ascii_spelling(text.str());
}

}  // namespace

Result<Calibration> checked(Calibration c) {
  for (const auto& [name, power] : {std::pair{"idle", std::optional(c.idle)}, {"half", c.half}, {"max", std::optional(c.max)}}) {
    const double value = power ? to_watts(*power) : 1.0;
    if (!std::isfinite(value) || value <= 0 || value > most_watts) {
      return fail(ErrorCode::usage, fmt::format("{} of {} W is no power of a machine", name, to_decimal(value)), "",
                  "give watts above 0 and at most 1 MW");
    }
  }
  const auto refuse = [](const char* low, Power a, const char* high, Power b) {
    const std::string from = to_decimal(to_watts(a)), to = to_decimal(to_watts(b));
    return fail(ErrorCode::usage, fmt::format("{} ({} W) is not below {} ({} W)", low, from, high, to), "", give_again);
  };
  if (c.idle >= c.max) return refuse("idle", c.idle, "max", c.max);
  if (c.half && c.idle >= *c.half) return refuse("idle", c.idle, "half", *c.half);
  if (c.half && *c.half >= c.max) return refuse("half", *c.half, "max", c.max);
  return c;
}

Result<Calibration> parse_calibration(std::string_view text, const std::string& path) {
  if (const std::size_t line = unfit_line(text)) {
    return fail(ErrorCode::format,
                "the calibration is no TOML: a section without a name, a control character, or a letter beyond ASCII outside quotes",
                fmt::format("{}:{}", path, line), give_again);
  }
  const toml::parse_result parsed = toml::parse(ascii_spelling(text), path);
  if (!parsed) {
    return fail(ErrorCode::format, fmt::format("the calibration is no TOML: {}", parsed.error().description()),
                fmt::format("{}:{}", path, parsed.error().source().begin.line), give_again);
  }
  const toml::table& table = parsed.table();
  if (auto known = known_keys(table, path); !known) return std::unexpected(known.error());
  const auto idle = power_of(table, "idle_watts", path), max = power_of(table, "max_watts", path);
  const auto half = power_of(table, "half_watts", path);
  for (const auto* each : {&idle, &max, &half}) {
    if (!*each) return std::unexpected(each->error());
  }
  if (!*idle || !*max) {
    return fail(ErrorCode::format, fmt::format("{} is missing in the calibration", *idle ? "max_watts" : "idle_watts"), path, give_again);
  }
  const toml::node* source = table.get("source");
  if (source && !source->is_string()) return fail(ErrorCode::format, "source is not a text", path, give_again);
  auto good = checked({**idle, **max, *half, source ? from_ascii_spelling(source->value_or(std::string_view())) : std::string()});
  if (!good) return fail(ErrorCode::format, good.error().what, path, good.error().hint);
  return good;
}

Result<Calibration> read_calibration(const std::string& path) {
  const auto text = read_whole_file(path, "the calibration", give_again);
  if (!text) return std::unexpected(text.error());
  return parse_calibration(*text, path);
}

Result<void> write_calibration(const std::string& path, const Calibration& calibration) {
  const auto good = checked(calibration);
  if (!good) return std::unexpected(good.error());
  return write_whole_file(path, file_text(*good), "the calibration");
}

}  // namespace joulery
