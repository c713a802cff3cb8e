#include "record/import/import_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/near_names.h"
#include "record/import/nvidia_smi_csv.h"

namespace joulery {
namespace {

constexpr LogFormat formats[] = {
    {"nvidia-smi-csv", looks_like_nvidia_smi_csv, read_nvidia_smi_csv},
};

std::string known_names() {
  std::string text;
  for (const LogFormat& format : formats) text += (text.empty() ? "" : ", ") + std::string(format.name);
  return text;
}

Result<const LogFormat*> choose(std::string_view text, std::string_view name) {
  std::vector<std::string> names;
  for (const LogFormat& format : formats) {
    if (name.empty() ? format.looks_like(text) : format.name == name) return &format;
    names.emplace_back(format.name);
  }
  if (name.empty()) return fail(ErrorCode::format, "no log of a kind that can be imported", "", "known are " + known_names());
  const std::string nearest = nearest_name(name, names);
  return fail(ErrorCode::usage, fmt::format("no format '{}'", name), "",
              nearest.empty() ? "known are " + known_names() : fmt::format("did you mean {}?", nearest));
}

bool tells_energy(const LoggedDevice& device) {
  return std::ranges::any_of(device.channels,
                             [](const Channel& c) { return c.measurand == Measurand::power || c.measurand == Measurand::energy; });
}

}  // namespace

std::span<const LogFormat> log_formats() { return formats; }

Result<ImportedLog> import_log(std::string_view text, std::string_view format, const ImportOptions& options) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const auto chosen = choose(text, format);
  if (!chosen) return std::unexpected(chosen.error());
  auto log = (*chosen)->read(text, options);
  if (log && std::ranges::none_of(log->devices, tells_energy))
    return fail(ErrorCode::format, "the log tells neither power nor energy", std::string((*chosen)->name), "");
  return log;
}

}  // namespace joulery
