// Whose joules: the energy of each component over one tick, split among those who used the machine.
//
// A component's energy has two parts. Its static part would have been burnt without any work; what the caller knows of it goes
// by policy. The rest is shared in proportion to what drives the component: processors, the board and what only a meter of
// the whole sees by CPU time as the scheduler counts it; memory by resident bytes; an accelerator by how much of it each one
// used. What nobody is known to have used is unattributed, and said so: it is never spread over those who are known.
//
// Invariant: for every component the shares, idle and unattributed sum to its energy, to the microjoule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/component.h"
#include "core/quantity.h"

namespace joulery {

// Who carries static energy.
enum class IdlePolicy : std::uint8_t {
  separate,      // nobody: a line of its own
  proportional,  // those who use the component, in proportion to their use
  reserved,      // those it was reserved for, by how much; what nobody reserved stays a line of its own
};

std::optional<IdlePolicy> parse_idle_policy(std::string_view text);  // "separate", "proportional", "reserved"

// What a component's dynamic energy is shared by.
enum class Driver : std::uint8_t { cpu, memory, accelerator };
Driver driver_of(const Component& component);

struct ComponentTick {
  Component component;
  Energy energy;
  std::optional<Energy> idle;  // its static part; empty while that is not known, and then nothing is taken for it
};

// What one consumer did over the tick. Accelerators by their position among the components.
struct ConsumerUse {
  Duration cpu;
  std::int64_t memory = 0;                                          // resident bytes, its share of what it shares
  std::vector<std::pair<std::size_t, double>> accelerators = {};    // weight of its use of each; comparable within one
  double reserved_cpu = 0, reserved_memory = 0;                     // shares 0..1 of the machine
  std::vector<std::pair<std::size_t, double>> reserved_accelerators = {};  // shares 0..1 of each
};

// One component's energy, split: `shares` beside the consumers.
struct ComponentSplit {
  std::vector<Energy> shares;
  Energy idle, unattributed;
};

// One split per component. `unattributed_cpu`: CPU time that was used, by whom is not known. Where no consumer's memory is
// known, memory is shared by CPU time.
std::vector<ComponentSplit> split_tick(std::span<const ComponentTick> components, std::span<const ConsumerUse> consumers,
                                       Duration unattributed_cpu, IdlePolicy policy);

}  // namespace joulery
