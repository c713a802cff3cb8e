// Sensor data records: how a management controller describes its sensors, and what the raw byte of one is worth. Only the
// full sensor record (type 01h) tells of watts; layouts are those of sections 35.14, 36.3 and 43.1 of the IPMI specification
// 2.0. Pure functions of bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sense/node/ipmi_message.h"

namespace joulery {

// value = linearise((m * raw + b * 10^b_exponent) * 10^result_exponent), section 36.3.
struct SdrFactors {
  int m = 1, b = 0;                         // 10 bits, two's complement
  int b_exponent = 0, result_exponent = 0;  // 4 bits, two's complement
  enum class Format : std::uint8_t { is_unsigned, ones_complement, twos_complement, none } format = Format::is_unsigned;
  std::uint8_t linearisation = 0;           // 0 linear, 1 ln ... 11 cube root; 0x70 and above: not linear, factors for each raw value
  int tolerance = 0;                        // in half counts
  double accuracy = 0;                      // of the reading, 0.01 is 1 %
};

struct WattSensor {
  std::string name;                         // the record's own text, without white space at its ends: "PSU1 Power In"
  std::uint8_t number = 0, owner = 0, lun = 0;
  std::uint8_t entity = 0, entity_instance = 0;  // 10 is a power supply, 7 the system board, 19 the power unit
  SdrFactors factors;
};

// The sensor that one record (header and all) describes; nothing where it is no analogue sensor of plain watts: another type
// of record, another unit, a rate (watts per second), or a record cut short.
std::optional<WattSensor> parse_watt_sensor(std::span<const std::uint8_t> record);

// The value of a raw byte; nothing where the factors do not give a finite number (a logarithm of 0, an unknown formula).
std::optional<double> sensor_value(const SdrFactors& factors, std::uint8_t raw);

// Half the width of the sensor's own uncertainty in its unit, near `raw`: half a count and the record's tolerance.
double sensor_step(const SdrFactors& factors, std::uint8_t raw);

// Get Sensor Reading (netfn 04h, command 2Dh).
IpmiRequest sensor_reading_request(const WattSensor& sensor);
// The raw byte of its reply. Errors: gone where the reading is unavailable or scanning is switched off, rubbish where the
// reply is too short.
Answer<std::uint8_t> parse_sensor_reading(std::span<const std::uint8_t> data);

}  // namespace joulery
