// One thing that a meter reports: where it burns, what is read, in which unit, how the number behaves and how
// far it may be trusted. A channel is data; the rules that use it live in meter/ (counters, gaps) and ledger/.
#pragma once

#include <cstdint>
#include <string>

#include "core/component.h"
#include "core/quantity.h"

namespace joulery {

// What a reading is about, and so its SI unit: joule, watt, second of busy CPU, byte, ratio 0..1, hertz, bit mask, second
// of CPU that was there to be used, busy or not; watt that may be burnt at most, byte moved over a link, byte moved a second,
// second in which something held. The numbers are stored in recordings: only append.
enum class Measurand : std::uint8_t {
  energy,
  power,
  busy_time,
  memory,
  utilisation,
  frequency,
  events,
  cpu_time,
  power_limit,
  traffic,
  bandwidth,
  duration,
};

// How successive readings relate, which decides how an interval is summarised.
enum class Behaviour : std::uint8_t {
  counter,   // only grows, until it wraps: differences count
  gauge,     // a value at an instant: integrate or average
  constant,  // the same for the whole recording
  label,     // a code, not a quantity: never averaged
};

// What a channel's joules contain: itself alone, or more than its place in the tree says.
enum class Scope : std::uint8_t {
  component,  // exactly this component and what lies below it
  platform,   // the whole platform (RAPL psys, a module of CPU and GPU): overlaps, never added
};

// The sensor's own error, as half-widths of a 90 % interval: of the value, plus a fixed part.
struct Accuracy {
  double relative = 0.0;  // 0.05 is ±5 % of the value
  Power absolute;         // at any load
  friend bool operator==(const Accuracy&, const Accuracy&) = default;
};

struct Channel {
  Component component;
  std::string name;                            // unique within its meter: "energy", "power", "busy"
  Measurand measurand = Measurand::energy;
  Behaviour behaviour = Behaviour::counter;
  double unit = 1.0;                           // SI units per count: 1e-6 for a counter of microjoules
  std::uint64_t range = 0;                     // greatest value of a counter; it wraps to 0 after it; 0: never wraps
  Duration update_period;                      // how often the device refreshes the value; 0: at every read
  Duration averaging_window;                   // a power gauge is the mean of this long before the reading; 0: an instant
  Scope scope = Scope::component;
  Accuracy accuracy;
  Power max_power;                             // the most this component can burn; 0: not known
  bool always_burns = false;                   // a healthy counter of this component never stands still for a second
  friend bool operator==(const Channel&, const Channel&) = default;
};

}  // namespace joulery
