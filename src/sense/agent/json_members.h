// How the messages between an agent and its clients are made of JSON, and read without trusting a byte of it. For the sources of
// sense/agent/ alone: it names the JSON library.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "sense/agent/meter_messages.h"

namespace joulery {

inline constexpr std::size_t longest_name = 512;
inline constexpr std::int64_t longest_interval_ns = 3'600'000'000'000;
inline constexpr std::size_t head_size = 8;

// A head and what follows it; the JSON that follows the head of that word, a discarded value where there is none.
std::string with_json(const MeterHead& head, const nlohmann::json& what);
nlohmann::json json_of(std::string_view message, MeterWord word);

// Reads the members of an object; once one is missing or of another kind, nothing is good any more.
class Members {
 public:
  explicit Members(const nlohmann::json& object) : object_(object), good_(object.is_object()) {}
  std::string text(const char* name, std::size_t longest) {
    const nlohmann::json* found = find(name);
    if (!found || !found->is_string() || found->get_ref<const std::string&>().size() > longest) return good_ = false, std::string();
    return found->get<std::string>();
  }
  bool flag(const char* name) {
    const nlohmann::json* found = find(name);
    if (!found || !found->is_boolean()) return good_ = false, false;
    return found->get<bool>();
  }
  double number(const char* name, double most) {
    const nlohmann::json* found = find(name);
    const double value = found && found->is_number() ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();
    if (!(value >= 0 && value <= most)) return good_ = false, 0.0;
    return value;
  }
  std::int64_t whole(const char* name, std::int64_t most) {
    const nlohmann::json* found = find(name);
    if (!found || !found->is_number_integer() || (found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX))
      return good_ = false, 0;
    const auto value = found->get<std::int64_t>();
    if (value < 0 || value > most) return good_ = false, 0;
    return value;
  }
  std::uint64_t count(const char* name) {
    const nlohmann::json* found = find(name);
    if (!found || !found->is_number_unsigned()) return good_ = false, 0;
    return found->get<std::uint64_t>();
  }
  Duration duration(const char* name) { return nanoseconds(whole(name, longest_interval_ns)); }
  template <class Enum>
  Enum one_of(const char* name, Enum last) {
    return static_cast<Enum>(whole(name, static_cast<std::int64_t>(last)));
  }
  // What may be absent or null; nothing where it is.
  std::optional<std::int64_t> whole_or_nothing(const char* name, std::int64_t most) {
    const nlohmann::json* found = find(name);
    if (!found || found->is_null()) return std::nullopt;
    return whole(name, most);
  }
  bool has(const char* name) const { return find(name) != nullptr; }
  const nlohmann::json* array(const char* name, std::size_t longest) {
    const nlohmann::json* found = find(name);
    if (!found || !found->is_array() || found->size() > longest) return good_ = false, nullptr;
    return found;
  }
  void require(bool condition) { good_ = good_ && condition; }
  bool good() const { return good_; }

 private:
  const nlohmann::json* find(const char* name) const {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }
  const nlohmann::json& object_;
  bool good_;
};

}  // namespace joulery
