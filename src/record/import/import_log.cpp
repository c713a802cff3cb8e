#include "record/import/import_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/near_names.h"
#include "record/import/codecarbon_csv.h"
#include "record/import/nvidia_smi_csv.h"
#include "record/import/nvidia_smi_xml.h"
#include "record/import/perf_stat_csv.h"
#include "record/import/ptdaemon.h"
#include "record/import/rocm_smi_json.h"
#include "record/import/slurm_sacct.h"

namespace joulery {
namespace {

constexpr LogFormat formats[] = {
    {"nvidia-smi-csv", looks_like_nvidia_smi_csv, read_nvidia_smi_csv},
    {"nvidia-smi-xml", looks_like_nvidia_smi_xml, read_nvidia_smi_xml},
    {"rocm-smi-json", looks_like_rocm_smi_json, read_rocm_smi_json},
    {"perf-stat-csv", looks_like_perf_stat_csv, read_perf_stat_csv},
    {"ptdaemon", looks_like_ptdaemon, read_ptdaemon},
    {"codecarbon-csv", looks_like_codecarbon_csv, read_codecarbon_csv},
    {"slurm-sacct", looks_like_slurm_sacct, read_slurm_sacct},
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

bool tells_of_a_while(const LoggedDevice& device) { return device.lines.size() > 1 && device.lines.front().at < device.lines.back().at; }

}  // namespace

std::span<const LogFormat> log_formats() { return formats; }

Result<ImportedLog> import_log(std::string_view text, std::string_view format, const ImportOptions& options) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const auto chosen = choose(text, format);
  if (!chosen) return std::unexpected(chosen.error());
  auto log = (*chosen)->read(text, options);
  if (log && std::ranges::none_of(log->devices, tells_energy))
    return fail(ErrorCode::format, "the log tells neither power nor energy", std::string((*chosen)->name), "");
  if (log && !log->run && std::ranges::none_of(log->devices, tells_of_a_while))
    return fail(ErrorCode::format, "the log is of one moment, which has power but no energy", std::string((*chosen)->name),
                "log again and again into one file");
  return log;
}

}  // namespace joulery
