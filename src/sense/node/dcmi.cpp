#include "sense/node/dcmi.h"

namespace joulery {
namespace {

constexpr std::uint8_t group_extension = 0x2C, dcmi_group = 0xDC, get_power_reading = 0x02, statistics_mode = 0x01;
constexpr std::size_t reply_size = 18;
constexpr std::uint8_t active_bit = 0x40;

}  // namespace

IpmiRequest dcmi_power_request() { return {group_extension, get_power_reading, {dcmi_group, statistics_mode, 0, 0}}; }

Answer<DcmiPower> parse_dcmi_power(std::span<const std::uint8_t> data) {
  if (data.size() < reply_size || data[0] != dcmi_group)
    return std::unexpected(Trouble{MissingReason::rubbish, "the reply to Get Power Reading is none of DCMI's"});
  DcmiPower power;
  power.current = watts(le16(data, 1));
  power.least = watts(le16(data, 3));
  power.greatest = watts(le16(data, 5));
  power.mean = watts(le16(data, 7));
  power.time = le32(data, 9);
  power.period = milliseconds(le32(data, 13));
  power.active = (data[17] & active_bit) != 0;
  if (!power.active && power.current == watts(0))
    return std::unexpected(Trouble{MissingReason::not_supported, "the controller's power measurement is not active"});
  return power;
}

}  // namespace joulery
