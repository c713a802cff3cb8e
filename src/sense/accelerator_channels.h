// The channels that every accelerator has, whoever made it.
#pragma once

#include <string>
#include <utility>

#include "sense/channel.h"

namespace joulery {

inline Channel accelerator_channel(Component component, std::string name, Measurand measurand, Behaviour behaviour, double unit) {
  Channel channel;
  channel.component = std::move(component);
  channel.name = std::move(name);
  channel.measurand = measurand;
  channel.behaviour = behaviour;
  channel.unit = unit;
  return channel;
}

// No vendor but NVIDIA has been measured against external meters in numbers: cards estimate from currents within a few
// per cent, so their 90 % interval is set wide.
inline constexpr Accuracy accelerator_accuracy{.relative = 0.10, .absolute = watts(5)};

// `unit`: joules or watts a count.
inline Channel accelerator_energy(Component component, std::string name, double unit, Power max_power) {
  Channel channel = accelerator_channel(std::move(component), std::move(name), Measurand::energy, Behaviour::counter, unit);
  channel.accuracy = accelerator_accuracy;
  channel.max_power = max_power;
  return channel;
}
inline Channel accelerator_power(Component component, std::string name, double unit, Power max_power) {
  Channel channel = accelerator_channel(std::move(component), std::move(name), Measurand::power, Behaviour::gauge, unit);
  channel.accuracy = accelerator_accuracy;
  channel.max_power = max_power;
  return channel;
}

// Twice the largest accelerator sold, where a card tells no limit.
inline constexpr Power most_accelerator_power = watts(2400);

}  // namespace joulery
