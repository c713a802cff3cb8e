#include "sense/room/snmp_value.h"

#include <charconv>
#include <cmath>

#include "sense/parse_number.h"

namespace joulery {
namespace {

constexpr std::size_t least_parts = 2, most_parts = 128;

std::optional<double> number_in(std::string_view text) {
  text = trim_start(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (!rest.empty() && rest.front() != ' ' && rest.front() != '\0') return std::nullopt;
  return value;
}

}  // namespace

std::optional<SnmpOid> parse_snmp_oid(std::string_view text) {
  if (text.starts_with('.')) text.remove_prefix(1);
  SnmpOid oid;
  while (oid.size() < most_parts) {
    const std::size_t dot = text.find('.');
    const std::string_view word = text.substr(0, dot);
    if (word.empty() || word.back() < '0' || word.back() > '9') return std::nullopt;
    const auto part = parse_whole<std::uint32_t>(word);
    if (!part) return std::nullopt;
    oid.push_back(*part);
    if (dot == std::string_view::npos) return oid.size() < least_parts ? std::nullopt : std::optional(std::move(oid));
    text.remove_prefix(dot + 1);
  }
  return std::nullopt;
}

std::string to_text(const SnmpOid& oid) {
  std::string text;
  for (const std::uint32_t part : oid) text += (text.empty() ? "" : ".") + std::to_string(part);
  return text;
}

SnmpOid operator+(SnmpOid oid, std::span<const std::uint32_t> more) {
  oid.insert(oid.end(), more.begin(), more.end());
  return oid;
}

std::optional<double> number_of(const SnmpValue& value) {
  switch (value.kind) {
    case SnmpValue::Kind::whole:
    case SnmpValue::Kind::counter32: return static_cast<double>(value.whole);
    case SnmpValue::Kind::real: return std::isfinite(value.real) ? std::optional(value.real) : std::nullopt;
    case SnmpValue::Kind::text: return number_in(value.text);
    default: return std::nullopt;
  }
}

}  // namespace joulery
