// The names by which a recording's tables hold enumerations. Only append: recordings hold these words.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "sense/channel.h"
#include "watch/mark.h"

namespace joulery {

// One table of words per enumeration, in the order of its values.
template <class Enum>
struct RecordedNames;
template <>
struct RecordedNames<Measurand> {
  static constexpr std::array<std::string_view, 12> all = {"energy", "power",    "busy_time",   "memory",  "utilisation", "frequency",
                                                           "events", "cpu_time", "power_limit", "traffic", "bandwidth",   "duration"};
  static_assert(all.size() == static_cast<std::size_t>(Measurand::duration) + 1);
};
template <>
struct RecordedNames<Behaviour> {
  static constexpr std::array<std::string_view, 4> all = {"counter", "gauge", "constant", "label"};
};
template <>
struct RecordedNames<Scope> {
  static constexpr std::array<std::string_view, 2> all = {"component", "platform"};
};
template <>
struct RecordedNames<MarkKind> {
  static constexpr std::array<std::string_view, 5> all = {"step_begin", "step_end", "point", "kpi", "work"};
};

template <class Enum>
constexpr std::string_view recorded_name(Enum value) {
  return RecordedNames<Enum>::all[static_cast<std::size_t>(value)];
}

template <class Enum>
constexpr std::optional<Enum> from_recorded_name(std::string_view name) {
  const auto& all = RecordedNames<Enum>::all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace joulery
