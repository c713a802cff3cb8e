// A copy of the user's own trace in Chrome's JSON, byte for byte, with joules beside each event and counters of power:
// what ui.perfetto.dev and chrome://tracing open.
#pragma once

#include <functional>
#include <string_view>

#include "core/result.h"
#include "publish/profile/energy_finder.h"
#include "watch/profile/trace_input.h"

namespace joulery {

// Takes the next bytes of the copy; false where they cannot be written.
using PutBytes = std::function<bool(std::string_view)>;

// Streams: neither trace is ever whole in memory. Events that energy is known of get the arguments energy_j, energy_self_j,
// energy_quality and, where an operator's power could not be told apart, energy_not_told_apart. Errors: those of the input; io where `put` fails.
Result<void> copy_chrome_trace(TraceInput& input, const EnergyFinder& energy, const PutBytes& put);

// Any profile as such a trace, made anew: for formats that are not JSON.
Result<void> write_chrome_trace(const EnergyFinder& energy, const PutBytes& put);

// `"energy_j":1.234567,"energy_self_j":...,"energy_quality":"estimated"`
std::string energy_arguments(const EventJoules& joules);

}  // namespace joulery
