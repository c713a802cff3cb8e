// How long the agent's store keeps what, from the settings: agent.store.keep_seconds, keep_minutes, keep_hours.
#pragma once

#include "config/settings.h"
#include "core/result.h"
#include "record/store/store.h"

namespace joulery {

// Where nothing is set: as StoreSettings has it. Errors: usage, naming the key and where it was set, for what is no time and for a
// finer level that is to be kept longer than a coarser one.
Result<StoreSettings> read_store_settings(const Settings& settings);

}  // namespace joulery
