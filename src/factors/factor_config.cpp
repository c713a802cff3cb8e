#include "factors/factor_config.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "core/near_names.h"
#include "factors/toml_ascii.h"

namespace joulery {
namespace {

constexpr std::string_view section_names[] = {"carbon", "cost"};
constexpr std::string_view carbon_keys[] = {"place", "g_per_kwh", "pue"};
constexpr std::string_view cost_keys[] = {"per_kwh", "currency"};

std::string position(std::string_view file, const toml::source_region& region) {
  return fmt::format("{}, line {}, column {}", file, region.begin.line, region.begin.column);
}

// An error where the table holds a key that is none of `known`.
std::optional<Error> unknown_key(const toml::table& table, std::span<const std::string_view> known, std::string_view file) {
  for (const auto& [key, value] : table) {
    if (std::ranges::find(known, key.str()) != known.end()) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    const std::string name = from_ascii_spelling(key.str()), near = nearest_name(name, names);
    return Error{ErrorCode::usage, fmt::format("unknown key '{}' in the configuration", name), position(file, key.source()),
                 near.empty() ? fmt::format("known are {}", fmt::join(names, ", ")) : fmt::format("did you mean '{}'?", near)};
  }
  return std::nullopt;
}

std::unexpected<Error> wrong_type(const toml::node& node, std::string_view key, std::string_view wanted, std::string_view file) {
  return fail(ErrorCode::usage, fmt::format("'{}' must be {}", key, wanted), position(file, node.source()));
}

// A text value as the user wrote it; nothing where the value is no text.
std::optional<std::string> text_in(const toml::node& node) {
  const auto spelling = node.value_exact<std::string_view>();
  return spelling ? std::optional(from_ascii_spelling(*spelling)) : std::nullopt;
}

std::optional<double> number_in(const toml::node& node) {
  if (const auto whole = node.value_exact<std::int64_t>()) return static_cast<double>(*whole);
  return node.value_exact<double>();
}

// A section of the file; null where it is absent.
Result<const toml::table*> section(const toml::table& root, std::string_view name, std::span<const std::string_view> keys,
                                   std::string_view file) {
  const toml::node* node = root.get(name);
  if (node == nullptr) return nullptr;
  const toml::table* table = node->as_table();
  if (table == nullptr) return wrong_type(*node, name, fmt::format("a section, [{}]", name), file);
  if (auto error = unknown_key(*table, keys, file)) return std::unexpected(*std::move(error));
  return table;
}

// A value's own error, with the place in the file instead of the text.
std::unexpected<Error> at(Error error, const toml::node& node, std::string_view file) {
  error.where = position(file, node.source());
  return std::unexpected(std::move(error));
}

Result<CarbonIntensity> intensity_in(const toml::node& node, std::string_view file) {
  if (const auto number = number_in(node)) return parse_carbon_intensity(fmt::format("{}", *number));
  if (const auto text = text_in(node)) return parse_carbon_intensity(*text);
  return wrong_type(node, "g_per_kwh", "a number of g/kWh, or a text with a unit", file);
}

Result<CarbonChoice> carbon_in(const toml::table* table, std::string_view file) {
  CarbonChoice choice;
  if (table == nullptr) return choice;
  if (const toml::node* node = table->get("place")) {
    choice.place = text_in(*node);
    if (!choice.place) return wrong_type(*node, "place", "a text", file);
  }
  if (const toml::node* node = table->get("g_per_kwh")) {
    auto intensity = intensity_in(*node, file);
    if (!intensity) return at(intensity.error(), *node, file);
    choice.intensity = *intensity;
    choice.intensity_source = file;
  }
  if (const toml::node* node = table->get("pue")) {
    choice.pue = number_in(*node);
    if (!choice.pue) return wrong_type(*node, "pue", "a number", file);
  }
  return choice;
}

Result<std::optional<Tariff>> tariff_in(const toml::table* table, std::string_view file) {
  if (table == nullptr) return std::nullopt;
  const toml::node *price = table->get("per_kwh"), *currency = table->get("currency");
  if (price == nullptr && currency == nullptr) return std::nullopt;
  if (price == nullptr || currency == nullptr)
    return fail(ErrorCode::usage, "[cost] needs both 'per_kwh' and 'currency'", position(file, table->source()));
  const auto number = number_in(*price);
  if (!number) return wrong_type(*price, "per_kwh", "a number", file);
  const auto code = text_in(*currency);
  if (!code) return wrong_type(*currency, "currency", "a text", file);
  auto tariff = parse_tariff(fmt::format("{} {}", *number, *code), std::string(file));
  if (!tariff) return at(tariff.error(), *price, file);
  return *std::move(tariff);
}

}  // namespace

Result<FactorConfig> parse_factor_config(std::string_view text, std::string_view name) {
  if (const std::size_t line = line_beyond_ascii(text))
    return fail(ErrorCode::format, "cannot read the configuration: a letter beyond ASCII outside quotes",
                fmt::format("{}, line {}", name, line));
  const toml::parse_result parsed = toml::parse(ascii_spelling(text), name);
  if (!parsed)
    return fail(ErrorCode::format, fmt::format("cannot read the configuration: {}", parsed.error().description()),
                position(name, parsed.error().source()));
  const toml::table& root = parsed.table();
  if (auto error = unknown_key(root, section_names, name)) return std::unexpected(*std::move(error));
  const auto carbon = section(root, "carbon", carbon_keys, name);
  if (!carbon) return std::unexpected(carbon.error());
  const auto cost = section(root, "cost", cost_keys, name);
  if (!cost) return std::unexpected(cost.error());
  auto choice = carbon_in(*carbon, name);
  if (!choice) return std::unexpected(choice.error());
  auto tariff = tariff_in(*cost, name);
  if (!tariff) return std::unexpected(tariff.error());
  return FactorConfig{*std::move(choice), *std::move(tariff)};
}

Result<FactorConfig> read_factor_config(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return FactorConfig{};
  if (fd < 0) return std::unexpected(error_from_errno(errno, "cannot read the configuration", path));
  std::string text;
  std::array<char, 4096> buffer{};
  ssize_t got = 0;
  while ((got = read(fd, buffer.data(), buffer.size())) > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
  const int reason = errno;
  close(fd);
  if (got < 0) return std::unexpected(error_from_errno(reason, "cannot read the configuration", path));
  return parse_factor_config(text, path);
}

}  // namespace joulery
