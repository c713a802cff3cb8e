#include "sense/remote/json_number.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace joulery {
namespace {

using Json = nlohmann::json;

// One part of a pointer with ~1 for '/' and ~0 for '~' undone; nothing where a '~' stands alone.
std::optional<std::string> unescaped(std::string_view part) {
  std::string text;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '~') {
      text += part[i];
      continue;
    }
    if (++i == part.size() || (part[i] != '0' && part[i] != '1')) return std::nullopt;
    text += part[i] == '0' ? '~' : '/';
  }
  return text;
}

// A place in a list: digits without a leading zero.
const Json* element_of(const Json& list, const std::string& part) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
  const bool good = error == std::errc() && end == part.data() + part.size() && !(part.size() > 1 && part[0] == '0');
  return good && index < list.size() ? &list[index] : nullptr;
}

const Json* child_of(const Json& parent, const std::string& part) {
  if (parent.is_array()) return element_of(parent, part);
  if (!parent.is_object()) return nullptr;
  const auto found = parent.find(part);
  return found == parent.end() ? nullptr : &*found;
}

const Json* find(const Json& root, std::string_view pointer) {
  const Json* at = &root;
  while (at && !pointer.empty()) {
    pointer.remove_prefix(1);  // its '/'
    const std::string_view part = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(part.size());
    const auto name = unescaped(part);
    at = name ? child_of(*at, *name) : nullptr;
  }
  return at;
}

}  // namespace

bool is_json_pointer(std::string_view text) {
  if (!text.empty() && text.front() != '/') return false;
  return unescaped(text).has_value();
}

bool parse_decimal(std::string_view text, double& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(number);
}

Answer<double> number_at(std::string_view text, std::string_view pointer) {
  const Json root = Json::parse(text, nullptr, false);
  if (root.is_discarded()) return std::unexpected(Trouble{MissingReason::rubbish, "its answer is no JSON", "check url"});
  const Json* value = is_json_pointer(pointer) ? find(root, pointer) : nullptr;
  if (!value)
    return std::unexpected(Trouble{MissingReason::not_supported, fmt::format("its answer has nothing at {}", pointer), "check pointer"});
  double number = 0;
  if (value->is_number() && std::isfinite(number = value->get<double>())) return number;
  if (value->is_string() && parse_decimal(value->get_ref<const std::string&>(), number)) return number;
  return std::unexpected(Trouble{MissingReason::rubbish, fmt::format("what its answer has at {} is no number", pointer), "check pointer"});
}

}  // namespace joulery
