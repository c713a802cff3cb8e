// Where the power distribution units that are known keep the power and the energy of a unit, an inlet or an outlet, and in what
// steps. A table: the next model is a row.
//
// Sources: APC's PowerNet-MIB (rPDU2DeviceStatusTable: hundredths of a kilowatt, tenths of a kilowatt-hour), Raritan's PDU2-MIB
// (measurements tables with their decimal digits and units in the configuration tables) and PDU-MIB (the first PX generation).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sense/channel.h"
#include "sense/room/snmp_value.h"

namespace joulery {

// Which part of a unit feeds what is measured. Indices count from 1; `unit` is the unit's own in a chain of several.
struct PduPlace {
  std::uint32_t unit = 1;
  std::optional<std::uint32_t> outlet, inlet;
};

struct PduValue {
  SnmpOid oid;
  Measurand measurand = Measurand::power;
  double unit = 1;                          // SI units per count, before any decimal digits
  std::optional<SnmpOid> digits, unit_code; // where the device says how many decimal digits and which unit
};

struct PduModel {
  std::string_view name, what;  // "apc-rpdu2", "APC rack PDU of the second generation"
  enum class Part : std::uint8_t { unit, outlet, outlet_or_inlet } part;
};

std::span<const PduModel> pdu_models();
const PduModel* find_pdu_model(std::string_view name);

// What to ask a model for. Errors (as text): an outlet or inlet that the model does not measure, or none where it needs one.
std::expected<std::vector<PduValue>, std::string> pdu_values(const PduModel& model, const PduPlace& place);

// SI units per count from what the device says: 10^-digits of a unit of PDU2-MIB's SensorUnits (3 watt, 5 watt-hour). Nothing
// where that is another unit than `measurand` has, or no sensible number of digits (0 to 9).
std::optional<double> raritan_unit(Measurand measurand, std::int64_t digits, std::int64_t unit_code);

}  // namespace joulery
