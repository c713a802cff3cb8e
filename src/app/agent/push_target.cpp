#include "app/agent/push_target.h"

#include <fmt/format.h>

#include <utility>

namespace joulery {
namespace {

constexpr std::int64_t most_queue_mib = 1 << 20;

Error wrong(const Settings& settings, const std::string& key, std::string what) {
  const Setting* setting = settings.find(key);
  return {ErrorCode::usage, std::move(what), setting ? setting->origin.describe() : key, ""};
}

// "team=vision" and so on.
Result<ExternalLabels> read_labels(const Settings& settings, const std::string& key) {
  const auto texts = settings.texts(key);
  if (!texts) return std::unexpected(texts.error());
  ExternalLabels labels;
  for (const std::string& text : texts->value_or(std::vector<std::string>())) {
    const auto equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (equals == std::string::npos || !is_label_name(name))
      return std::unexpected(wrong(settings, key, fmt::format("'{}' is no label: a label is written \"team=vision\"", text)));
    labels[name] = text.substr(equals + 1);
  }
  return labels;
}

Result<void> read_times(const Settings& settings, const std::string& section, PushTarget& target) {
  for (const auto& [name, time, least] : {std::tuple{".interval", &target.interval, milliseconds(100)},
                                          {".timeout", &target.timeout, milliseconds(10)},
                                          {".longest_pause", &target.longest_pause, milliseconds(10)}}) {
    const auto given = settings.duration(section + name);
    if (!given) return std::unexpected(given.error());
    if (*given && **given < least)
      return std::unexpected(wrong(settings, section + name, fmt::format("'{}{}' is too short", section, name)));
    *time = given->value_or(*time);
  }
  return {};
}

Result<PushTarget> read_target(const Settings& settings, const std::string& name, std::string& warning) {
  const std::string section = "agent.push." + name;
  PushTarget target;
  target.name = name;
  const auto kind = settings.text(section + ".kind"), url = settings.text(section + ".url");
  if (!kind) return std::unexpected(kind.error());
  if (!url) return std::unexpected(url.error());
  if (!*url) return fail(ErrorCode::usage, fmt::format("nobody says where '{}' is", name), section, fmt::format("set {}.url", section));
  target.url = **url;
  if (*kind && **kind != "remote-write" && **kind != "otlp")
    return std::unexpected(wrong(settings, section + ".kind", fmt::format("'{}' must be one of remote-write, otlp", section + ".kind")));
  if (kind->value_or("") == "otlp") target.kind = PushKind::otlp;
  if (const auto times = read_times(settings, section, target); !times) return std::unexpected(times.error());
  const auto mib = settings.whole(section + ".queue_mib", 1, most_queue_mib);
  if (!mib) return std::unexpected(mib.error());
  if (*mib) target.most_queued_bytes = static_cast<std::uint64_t>(**mib) << 20;
  auto labels = read_labels(settings, section + ".labels");
  if (!labels) return std::unexpected(labels.error());
  target.labels = *std::move(labels);
  auto access = read_http_access(settings, section, warning);
  if (!access) return std::unexpected(access.error());
  target.access = *std::move(access);
  return target;
}

}  // namespace

Result<std::vector<PushTarget>> read_push_targets(const Settings& settings, std::vector<std::string>& warnings) {
  std::vector<PushTarget> targets;
  for (const std::string& name : settings.names_below("agent.push")) {
    std::string warning;
    auto target = read_target(settings, name, warning);
    if (!target) return std::unexpected(target.error());
    if (!warning.empty()) warnings.push_back(std::move(warning));
    targets.push_back(*std::move(target));
  }
  return targets;
}

}  // namespace joulery
