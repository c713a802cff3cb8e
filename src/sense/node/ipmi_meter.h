// What a management controller tells of power, over any transport: DCMI's whole-node power, and the sensors that read watts.
// The same meter serves the kernel's device, the network and a script in a test.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sense/meter.h"
#include "sense/node/ipmi_message.h"
#include "sense/node/sdr.h"

namespace joulery {

// What was found on one controller.
struct IpmiPower {
  bool dcmi = false;
  Trouble no_dcmi;              // why, where `dcmi` is false
  std::vector<WattSensor> sensors;
  bool any() const { return dcmi || !sensors.empty(); }
};

// Asks the controller what it has, for as long as `limit`. Errors: the carrier's own, where nothing came back at all.
Answer<IpmiPower> look_for_power(IpmiTransport& transport, Duration limit);

// The channels of what was found: DCMI as "power" of `whole`, then each sensor. A sensor named as the whole system's is a gauge of
// `whole` too; any other is a part that may overlap others, below node/board. `max_power` is not known.
std::vector<Channel> ipmi_channels(const IpmiPower& power, const Component& whole);

// A meter over `transport`. After a failed exchange the rest of the round has the same reason, so that a controller that
// does not answer costs one time limit and not one for each sensor.
std::unique_ptr<Meter> make_ipmi_meter(std::unique_ptr<IpmiTransport> transport, const IpmiPower& power, const Component& whole);

}  // namespace joulery
