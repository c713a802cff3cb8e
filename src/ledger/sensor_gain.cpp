#include "ledger/sensor_gain.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/units.h"

namespace joulery {
namespace {

using Json = nlohmann::ordered_json;

constexpr double least_factor = 0.5, greatest_factor = 2;

bool is_power(const EnergySource& source) {
  return source.channel.behaviour == Behaviour::gauge && source.channel.measurand == Measurand::power;
}
bool credible(double factor) { return factor >= least_factor && factor <= greatest_factor; }

}  // namespace

Result<std::vector<SensorGain>> learn_gains(const Timeline& timeline, const std::string& component, Energy metered,
                                            const std::string& source) {
  std::vector<SensorGain> gains;
  for (const EnergySource& sensor : timeline.sources) {
    if (!is_power(sensor) || sensor.channel.component.path() != component) continue;
    const Span span = sensor.track.energy(timeline.run);
    if (!span.energy || span.partial)
      return fail(ErrorCode::usage, "part of the run has no reading of the sensor", component, "learn from a run that was read throughout");
    const double factor = span.energy->value > Energy{} ? metered / span.energy->value : 0;
    if (!credible(factor))
      return fail(ErrorCode::usage,
                  fmt::format("the meter's {} and the sensor's {} are no gain", to_text(metered), to_text(span.energy->value)), component,
                  "both must be of the same device over the same time");
    gains.push_back({sensor.device, sensor.channel.name, factor, source});
  }
  if (gains.empty()) return fail(ErrorCode::usage, "the recording has no power sensor of that component", component, "see joulery report");
  return gains;
}

std::vector<std::string> apply_gains(Timeline& timeline, const std::vector<SensorGain>& gains) {
  std::vector<std::string> flags;
  for (EnergySource& source : timeline.sources) {
    const auto gain = std::ranges::find_if(
        gains, [&](const SensorGain& g) { return is_power(source) && g.device == source.device && g.channel == source.channel.name; });
    if (gain == gains.end()) continue;
    source.track.scale(gain->factor, accuracy_with_gain);
    flags.push_back(
        fmt::format("sensor-gain: {} {}: ×{:.4f}, {}", source.channel.component.path(), source.channel.name, gain->factor, gain->source));
  }
  return flags;
}

std::string to_json(const std::vector<SensorGain>& gains) {
  Json all = Json::array();
  for (const SensorGain& gain : gains)
    all.push_back({{"device", gain.device}, {"channel", gain.channel}, {"factor", gain.factor}, {"source", gain.source}});
  return Json{{"gains", all}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::vector<SensorGain>> gains_from_json(std::string_view text) {
  const auto refuse = [](const char* what) { return fail(ErrorCode::format, what, "", "learn it again with joulery calibrate --sensor"); };
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object() || !json.contains("gains") || !json["gains"].is_array())
    return refuse("the file of sensor gains is damaged");
  std::vector<SensorGain> gains;
  for (const Json& one : json["gains"]) {
    const auto is = [&](const char* name, bool (Json::*kind)() const noexcept) { return one.contains(name) && (one[name].*kind)(); };
    if (!one.is_object() || !is("device", &Json::is_string) || !is("channel", &Json::is_string) || !is("factor", &Json::is_number) ||
        !is("source", &Json::is_string))
      return refuse("an entry in the file of sensor gains is damaged");
    SensorGain gain{one["device"].get<std::string>(), one["channel"].get<std::string>(), one["factor"].get<double>(),
                    one["source"].get<std::string>()};
    if (!credible(gain.factor)) return refuse("a factor in the file of sensor gains is out of range");
    gains.push_back(std::move(gain));
  }
  return gains;
}

}  // namespace joulery
