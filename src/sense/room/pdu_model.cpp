#include "sense/room/pdu_model.h"

#include <fmt/format.h>

#include <cmath>

namespace joulery {
namespace {

constexpr double watt_hour = 3600;
constexpr std::uint32_t active_power = 5, active_energy = 8;  // PDU2-MIB, SensorTypeEnumeration
constexpr std::int64_t unit_watt = 3, unit_watt_hour = 5;     // PDU2-MIB, SensorUnitsEnumeration

constexpr PduModel models[] = {
    {"apc-rpdu2", "APC rack PDU, second generation: the whole unit", PduModel::Part::unit},
    {"raritan-pdu2", "Raritan PX2 and later: an outlet, or an inlet", PduModel::Part::outlet_or_inlet},
    {"raritan-px1", "Raritan PX, first generation: an outlet", PduModel::Part::outlet},
};

using Parts = std::vector<std::uint32_t>;
const SnmpOid apc_device{1, 3, 6, 1, 4, 1, 318, 1, 1, 26, 4, 3, 1};
const SnmpOid raritan{1, 3, 6, 1, 4, 1, 13742};

std::vector<PduValue> apc(const PduPlace& place) {
  constexpr double hundredth_kilowatt = 10, tenth_kilowatt_hour = 100 * watt_hour;
  return {{apc_device + Parts{5, place.unit}, Measurand::power, hundredth_kilowatt, {}, {}},
          {apc_device + Parts{9, place.unit}, Measurand::energy, tenth_kilowatt_hour, {}, {}}};
}

std::vector<PduValue> raritan_pdu2(const PduPlace& place) {
  const bool outlet = place.outlet.has_value();
  const SnmpOid measured = raritan + (outlet ? Parts{6, 5, 4, 3, 1, 4} : Parts{6, 5, 2, 3, 1, 4});
  const SnmpOid configured = raritan + (outlet ? Parts{6, 3, 5, 4, 1} : Parts{6, 3, 3, 4, 1});
  const auto value = [&](std::uint32_t type, Measurand measurand) {
    const Parts which{place.unit, outlet ? *place.outlet : *place.inlet, type};
    return PduValue{measured + which, measurand, measurand == Measurand::power ? 1 : watt_hour, configured + Parts{7} + which,
                    configured + Parts{6} + which};
  };
  return {value(active_power, Measurand::power), value(active_energy, Measurand::energy)};
}

std::vector<PduValue> raritan_px1(const PduPlace& place) {
  const SnmpOid outlet = raritan + Parts{4, 1, 2, 2, 1};
  return {{outlet + Parts{7, *place.outlet}, Measurand::power, 1, {}, {}},
          {outlet + Parts{31, *place.outlet}, Measurand::energy, watt_hour, {}, {}}};
}

}  // namespace

std::span<const PduModel> pdu_models() { return models; }

const PduModel* find_pdu_model(std::string_view name) {
  for (const PduModel& model : models)
    if (model.name == name) return &model;
  return nullptr;
}

std::expected<std::vector<PduValue>, std::string> pdu_values(const PduModel& model, const PduPlace& place) {
  using enum PduModel::Part;
  if (model.part == unit && (place.outlet || place.inlet))
    return std::unexpected(fmt::format("{} is read as a whole unit: for an outlet or inlet give its own OID instead", model.name));
  if (model.part == outlet && (!place.outlet || place.inlet))
    return std::unexpected(fmt::format("{} needs 'outlet' and no 'inlet'", model.name));
  if (model.part == outlet_or_inlet && place.outlet.has_value() == place.inlet.has_value())
    return std::unexpected(fmt::format("{} needs either 'outlet' or 'inlet'", model.name));
  switch (model.part) {
    case unit: return apc(place);
    case outlet: return raritan_px1(place);
    case outlet_or_inlet: return raritan_pdu2(place);
  }
  return std::vector<PduValue>();
}

std::optional<double> raritan_unit(Measurand measurand, std::int64_t digits, std::int64_t unit_code) {
  const bool power = measurand == Measurand::power;
  if (digits < 0 || digits > 9 || unit_code != (power ? unit_watt : unit_watt_hour)) return std::nullopt;
  return (power ? 1 : watt_hour) * std::pow(10.0, -static_cast<double>(digits));
}

}  // namespace joulery
