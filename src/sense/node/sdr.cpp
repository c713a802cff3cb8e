#include "sense/node/sdr.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "sense/parse_number.h"

namespace joulery {
namespace {

constexpr std::uint8_t full_record = 0x01, unit_watts = 6, sensor_event = 0x04, get_sensor_reading = 0x2D;
// Offsets into a full record; the specification counts from 1.
constexpr std::size_t type_at = 3, owner_at = 5, lun_at = 6, number_at = 7, entity_at = 8, instance_at = 9, event_type_at = 13,
                      units_at = 20, base_unit_at = 21, linearisation_at = 23, m_at = 24, b_at = 26, accuracy_at = 28, exponents_at = 29,
                      name_length_at = 47, name_at = 48;
constexpr std::uint8_t threshold_event_type = 0x01;

// The lowest `bits` of `value` in two's complement.
constexpr int signed_bits(unsigned value, unsigned bits) {
  const unsigned sign = 1U << (bits - 1);
  return static_cast<int>((value & (2 * sign - 1)) ^ sign) - static_cast<int>(sign);
}

// Ten bits: the low eight in one byte, the high two at the top of the next.
constexpr int ten_bits(std::span<const std::uint8_t> record, std::size_t at) {
  return signed_bits(record[at] | (record[at + 1] & 0xC0U) << 2, 10);
}

SdrFactors factors_of(std::span<const std::uint8_t> record) {
  SdrFactors f;
  f.format = static_cast<SdrFactors::Format>(record[units_at] >> 6);
  f.linearisation = record[linearisation_at] & 0x7FU;
  f.m = ten_bits(record, m_at);
  f.tolerance = record[m_at + 1] & 0x3F;
  f.b = ten_bits(record, b_at);
  const unsigned accuracy = (record[b_at + 1] & 0x3FU) | (record[accuracy_at] & 0xF0U) << 2;
  f.accuracy = accuracy * 1e-4 * std::pow(10.0, (record[accuracy_at] >> 2) & 3);  // in 1/100 per cent
  f.result_exponent = signed_bits(record[exponents_at] >> 4, 4);
  f.b_exponent = signed_bits(record[exponents_at], 4);
  return f;
}

std::string packed_text(std::span<const std::uint8_t> bytes, bool bcd) {
  constexpr std::string_view digits = "0123456789 -.:,_";
  std::string text;
  if (bcd) {
    for (const std::uint8_t byte : bytes) text += {digits[byte >> 4], digits[byte & 15]};
    return text;
  }
  unsigned held = 0, count = 0;  // six bits a letter, lowest first, from the space on
  for (const std::uint8_t byte : bytes)
    for (held |= unsigned{byte} << count, count += 8; count >= 6; held >>= 6, count -= 6) text += static_cast<char>(' ' + (held & 0x3F));
  return text;
}

// The type/length byte and what follows (section 43.15): Unicode, BCD plus, 6-bit ASCII, 8-bit ASCII.
std::string name_of(std::span<const std::uint8_t> record) {
  const std::size_t length = std::min<std::size_t>(record[name_length_at] & 0x1F, record.size() - name_at);
  const auto bytes = record.subspan(name_at, length);
  const unsigned coding = record[name_length_at] >> 6;
  std::string text = coding == 1 || coding == 2 ? packed_text(bytes, coding == 1) : std::string(bytes.begin(), bytes.end());
  for (char& c : text)
    if (c < ' ' || c > '~') c = ' ';
  return std::string(trim_start(trim_end(text)));
}

std::optional<int> raw_number(SdrFactors::Format format, std::uint8_t raw) {
  switch (format) {
    case SdrFactors::Format::is_unsigned: return raw;
    case SdrFactors::Format::ones_complement: return raw & 0x80 ? static_cast<int>(raw) - 255 : raw;
    case SdrFactors::Format::twos_complement: return signed_bits(raw, 8);
    case SdrFactors::Format::none: break;
  }
  return std::nullopt;
}

double linearised(std::uint8_t formula, double x) {
  switch (formula) {
    case 0: return x;
    case 1: return std::log(x);
    case 2: return std::log10(x);
    case 3: return std::log2(x);
    case 4: return std::exp(x);
    case 5: return std::pow(10.0, x);
    case 6: return std::exp2(x);
    case 7: return 1 / x;
    case 8: return x * x;
    case 9: return x * x * x;
    case 10: return std::sqrt(x);
    case 11: return std::cbrt(x);
    default: return NAN;
  }
}

}  // namespace

std::optional<WattSensor> parse_watt_sensor(std::span<const std::uint8_t> record) {
  if (record.size() < name_at || record[type_at] != full_record || record[event_type_at] != threshold_event_type) return std::nullopt;
  const std::uint8_t units = record[units_at];
  const bool rate_or_ratio = (units & 0x3F) != 0;  // rate unit, modifier unit, percentage
  if (record[base_unit_at] != unit_watts || rate_or_ratio || units >> 6 == 3) return std::nullopt;
  WattSensor sensor;
  sensor.name = name_of(record);
  sensor.number = record[number_at];
  sensor.owner = record[owner_at];
  sensor.lun = record[lun_at] & 3;
  sensor.entity = record[entity_at];
  sensor.entity_instance = record[instance_at] & 0x7F;
  sensor.factors = factors_of(record);
  return sensor;
}

std::optional<double> sensor_value(const SdrFactors& f, std::uint8_t raw) {
  const auto number = raw_number(f.format, raw);
  if (!number) return std::nullopt;
  const double value =
      linearised(f.linearisation, (f.m * *number + f.b * std::pow(10.0, f.b_exponent)) * std::pow(10.0, f.result_exponent));
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

double sensor_step(const SdrFactors& f, std::uint8_t raw) {
  const auto here = sensor_value(f, raw);
  const auto beside = sensor_value(f, raw == 0x7F || raw == 0xFF ? raw - 1 : raw + 1);  // not across the turn of a signed byte
  return here && beside ? std::abs(*beside - *here) * (0.5 + f.tolerance * 0.5) : 0.0;
}

IpmiRequest sensor_reading_request(const WattSensor& sensor) { return {sensor_event, get_sensor_reading, {sensor.number}, sensor.lun}; }

Answer<std::uint8_t> parse_sensor_reading(std::span<const std::uint8_t> data) {
  if (data.size() < 2) return std::unexpected(Trouble{MissingReason::rubbish, "the reply to Get Sensor Reading is too short"});
  const bool scanning = data[1] & 0x40, unavailable = data[1] & 0x20;
  if (!scanning || unavailable) return std::unexpected(Trouble{MissingReason::gone, "the sensor has no reading at present"});
  return data[0];
}

}  // namespace joulery
