// Walks through a controller's sensor data records and picks the sensors that read watts. A controller has hundreds of records
// and answers each question in milliseconds, so of most records only the head is fetched, and the walk has a time limit.
#pragma once

#include <vector>

#include "core/time.h"
#include "sense/node/ipmi_message.h"
#include "sense/node/sdr.h"

namespace joulery {

// All watt sensors that the controller itself owns (its own address, 20h), up to `deadline`: what was found by then counts.
// Errors: those of the first exchange, for example not_supported where the controller keeps no records.
Answer<std::vector<WattSensor>> find_watt_sensors(IpmiTransport& transport, MonoTime deadline);

}  // namespace joulery
