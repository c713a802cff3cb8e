#include "sense/remote/meter_unit.h"

#include <fmt/format.h>

#include <cmath>

namespace joulery {
namespace {

struct Row {
  std::string_view name;
  MeterUnit unit;
};
constexpr Row rows[] = {
    {"W", {Measurand::power, 1}},        {"mW", {Measurand::power, 1e-3}},  {"uW", {Measurand::power, 1e-6}},
    {"kW", {Measurand::power, 1e3}},     {"J", {Measurand::energy, 1}},     {"mJ", {Measurand::energy, 1e-3}},
    {"uJ", {Measurand::energy, 1e-6}},   {"kJ", {Measurand::energy, 1e3}},  {"MJ", {Measurand::energy, 1e6}},
    {"Ws", {Measurand::energy, 1}},      {"Wh", {Measurand::energy, 3600}}, {"kWh", {Measurand::energy, 3.6e6}},
    {"MWh", {Measurand::energy, 3.6e9}},
};

constexpr double most_counts = 9.2e18;  // of a 64-bit number

}  // namespace

std::optional<MeterUnit> parse_meter_unit(std::string_view text) {
  for (const Row& row : rows)
    if (row.name == text) return row.unit;
  return std::nullopt;
}

RemoteValue Scaling::counts(double number) const {
  const double value = number * scale / step;
  if (!std::isfinite(value) || std::abs(value) > most_counts) return std::unexpected(MissingReason::rubbish);
  return to_whole(value);
}

Result<Scaling> read_scaling(const Settings& settings, const std::string& section) {
  Scaling scaling;
  const std::string unit_key = section + ".unit";
  const auto unit = settings.text(unit_key);
  if (!unit) return std::unexpected(unit.error());
  if (*unit) {
    const auto known = parse_meter_unit(**unit);
    if (!known)
      return fail(ErrorCode::usage, fmt::format("no such unit: '{}'", **unit), settings.find(unit_key)->origin.describe(),
                  "W, mW, uW, kW, J, mJ, uJ, kJ, MJ, Ws, Wh, kWh or MWh");
    scaling.unit = *known;
  }
  for (const auto& [name, to] : {std::pair{".scale", &scaling.scale}, {".resolution", &scaling.step}}) {
    const auto number = settings.number(section + name);
    if (!number) return std::unexpected(number.error());
    if (!*number) continue;
    if (**number <= 0 || **number > 1e12)
      return fail(ErrorCode::usage, fmt::format("'{}{}' must lie above 0", section, name),
                  settings.find(section + name)->origin.describe());
    *to = **number;
  }
  return scaling;
}

Channel channel_of(const RemoteSettings& remote, const Scaling& scaling) {
  const bool energy = scaling.unit.measurand == Measurand::energy;
  Channel channel;
  channel.component = remote.component;
  channel.name = energy ? "energy" : "power";
  channel.measurand = scaling.unit.measurand;
  channel.behaviour = energy ? Behaviour::counter : Behaviour::gauge;
  channel.unit = scaling.unit.si * scaling.step;
  channel.update_period = remote.update_period;
  channel.accuracy = remote.accuracy;
  channel.max_power = remote.max_power;
  return channel;
}

}  // namespace joulery
