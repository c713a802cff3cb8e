// Units in which a user may say that a remote meter counts, and how its numbers become whole counts of a channel.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sense/channel.h"
#include "sense/remote/remote_meter.h"
#include "sense/remote/remote_settings.h"

namespace joulery {

struct MeterUnit {
  Measurand measurand = Measurand::power;
  double si = 1.0;  // watts or joules of one
};
// W mW uW kW, J mJ uJ kJ MJ, Ws Wh kWh MWh; nothing for others.
std::optional<MeterUnit> parse_meter_unit(std::string_view text);

// How a number of the device becomes counts of the channel: `scale` times it is in `unit`, in steps of `step`.
struct Scaling {
  MeterUnit unit;
  double scale = 1.0;
  double step = 1e-3;  // of the unit; what an energy counter cannot tell: its channel's unit

  // A whole number of steps. Missing: rubbish, for what is not finite or no number of 64 bits.
  RemoteValue counts(double number) const;
};

// unit, scale and resolution of a section. Errors: usage, with the key's origin.
Result<Scaling> read_scaling(const Settings& settings, const std::string& section);

// One channel, "power" or "energy", of the section's component.
Channel channel_of(const RemoteSettings& remote, const Scaling& scaling);

}  // namespace joulery
