// One power limit of the hardware, as a thing that can be turned and turned back.
//
// To add a kind of limit: write act/<kind>_knobs.{h,cpp} with one function that adds what the machine has, and a line in
// act/power_knobs.cpp.
//
// Invariant: what read() tells can be given to write() and puts the hardware back exactly.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/component.h"
#include "core/result.h"

namespace joulery {

// What the hardware holds, in its own whole numbers.
struct KnobState {
  std::int64_t limit_uw = 0;
  std::optional<bool> enabled;  // where the limit has a switch of its own
  friend bool operator==(const KnobState&, const KnobState&) = default;
};

// What does not change while the machine runs.
struct KnobFacts {
  std::string id;    // "rapl.powercap/intel-rapl:0/long_term": finds the knob again after a restart
  std::string kind;  // "rapl.powercap"
  Component component;
  std::string name;    // "long_term"
  bool usual = false;  // meant where the component is named alone
  std::optional<std::int64_t> least_uw, most_uw, standard_uw;
  std::optional<std::int64_t> window_us;
};

class PowerKnob {
 public:
  virtual ~PowerKnob() = default;
  virtual const KnobFacts& facts() const = 0;
  virtual Result<KnobState> read() = 0;
  // Only what differs from what is there is written. Errors: permission (also a firmware that has locked it), usage, io.
  virtual Result<void> write(const KnobState& state) = 0;
  // What a limit of so much would be.
  virtual KnobState limited_to(std::int64_t microwatts) const { return {microwatts, std::nullopt}; }
  // Why this process cannot set it; nothing where it can.
  virtual std::optional<Error> obstacle() const = 0;
  // What the driver keeps to, where it tells that apart from what was requested.
  virtual std::optional<std::int64_t> enforced_uw() { return std::nullopt; }
};

using PowerKnobs = std::vector<std::unique_ptr<PowerKnob>>;

}  // namespace joulery
