// The power that a management controller says the whole system draws: the Get Power Reading command of the Data Center
// Manageability Interface Specification 1.5 (section 6.6.1). Pure functions of bytes.
#pragma once

#include <cstdint>
#include <span>

#include "core/quantity.h"
#include "sense/node/ipmi_message.h"

namespace joulery {

struct DcmiPower {
  Power current, least, greatest, mean;  // the latter three over `period`
  std::uint32_t time = 0;                // the controller's own clock, seconds since 1970 as it believes
  Duration period;                       // the time over which the statistics were taken
  bool active = false;                   // power measurement is switched on
};

// "System power statistics": the one mode that every controller with DCMI has.
IpmiRequest dcmi_power_request();

// `data` begins after the completion code: DC, four powers of 16 bits, time, period, state. A controller whose measurement is
// switched off answers 0 W and state 0, which is no reading: not_supported. Errors: rubbish where it is no such reply.
Answer<DcmiPower> parse_dcmi_power(std::span<const std::uint8_t> data);

}  // namespace joulery
