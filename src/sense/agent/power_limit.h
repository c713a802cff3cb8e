// A power limit of the machine as it is told to whoever asks: by this process, or by an agent over its socket.
//
// Powers are whole microwatts, as the kernel counts them; nothing where the hardware does not tell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/component.h"

namespace joulery {

struct PowerLimit {
  Component component;                       // node/cpu/package-0
  std::string name;                          // "long_term"; "" where the component has only one
  std::string kind;                          // "rapl.powercap", "nvml", "hwmon"
  bool usual = false;                        // meant where a component is named alone
  std::optional<std::int64_t> now_uw;        // as requested by whoever set it last
  std::optional<std::int64_t> enforced_uw;   // what the driver keeps to, where it tells it apart
  std::optional<std::int64_t> least_uw, most_uw, standard_uw;
  std::optional<std::int64_t> window_us;     // the mean over this time is limited
  bool in_force = true;                      // false: the limit is there, and switched off
  bool settable = false;                     // by whom the list was asked for
  std::string reason, remedy;                // why it is not; one command a line
  std::string holder;                        // who holds it now; "" where nobody does
  friend bool operator==(const PowerLimit&, const PowerLimit&) = default;
};

// What is asked for: "node/gpu/0=250W", "node/cpu/package-0:short_term=90W".
struct LimitRequest {
  Component component;
  std::string name;  // "": the usual limit of the component
  std::int64_t microwatts = 0;
  friend bool operator==(const LimitRequest&, const LimitRequest&) = default;
};

// What came of it: each read back from the hardware.
struct LimitTaken {
  std::string name;                         // of the limit that was set
  std::int64_t before_uw = 0;               // what it was
  std::int64_t asked_uw = 0;
  std::int64_t took_uw = 0;                 // what the hardware took
  std::optional<std::int64_t> enforced_uw;  // what it keeps to, where it tells it apart
  friend bool operator==(const LimitTaken&, const LimitTaken&) = default;
};

// What became of one change that was to be undone.
struct Undone {
  bool settled = true;    // false: it is still to be undone, by whoever looks next
  bool as_before = true;  // the value from before is back
  std::string text;       // "node/gpu/0: back at 700 W"
  friend bool operator==(const Undone&, const Undone&) = default;
};

// "node/gpu/0", "node/cpu/package-0:short_term".
inline std::string limit_address(const Component& component, const std::string& name) {
  return name.empty() ? component.path() : component.path() + ":" + name;
}

}  // namespace joulery
