// How TensorFlow's, JAX's and XLA's profiles name planes and lines: which are devices, and which only tell the time of
// others once more.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

namespace joulery {

// The ordinal of "/device:GPU:0", "/device:TPU:3 (pid 5)"; nothing for a host's plane.
inline std::optional<int> device_of_plane(std::string_view plane) {
  const std::size_t at = plane.find("/device:");
  if (at == std::string_view::npos) return std::nullopt;
  plane.remove_prefix(at + 8);
  const std::size_t colon = plane.find(':');
  if (colon == std::string_view::npos || plane.starts_with("CPU")) return std::nullopt;
  int ordinal = 0;
  if (std::from_chars(plane.data() + colon + 1, plane.data() + plane.size(), ordinal).ec != std::errc() || ordinal < 0) return std::nullopt;
  return ordinal;
}

// Lines that XProf derives from others, or that hold others' time. "XLA Ops" is work on a TPU, and a copy on a GPU, whose
// streams are there: the reader decides.
inline bool is_summary_line(std::string_view line) {
  static constexpr std::array<std::string_view, 12> summaries{
      "Steps",       "XLA Modules", "Async XLA Ops",         "Framework Ops",  "Framework Name Scope", "Source code",
      "Source Code", "XLA TraceMe", "TensorFlow Name Scope", "TensorFlow Ops", "Launch Stats",         "Host Offload Ops"};
  return std::ranges::find(summaries, line) != summaries.end();
}
inline constexpr std::string_view xla_ops_line = "XLA Ops";

// The type in "scope/Op:Type", TensorFlow's name of an operator; "" for other names.
inline std::string_view op_type(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == name.size()) return {};
  const std::string_view type = name.substr(colon + 1);
  if (name[colon - 1] == ':' || !((type[0] >= 'A' && type[0] <= 'Z') || type[0] == '_')) return {};
  const bool plain = std::ranges::all_of(
      type, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; });
  return plain && name.substr(0, colon).find(' ') == std::string_view::npos ? type : std::string_view{};
}

// True of names of copies of memory, and of setting it.
inline bool is_copy(std::string_view name) {
  for (const std::string_view word : {"Memcpy", "memcpy", "Memset", "memset", "copy-start", "infeed", "outfeed"})
    if (name.find(word) != std::string_view::npos) return true;
  return false;
}

}  // namespace joulery
