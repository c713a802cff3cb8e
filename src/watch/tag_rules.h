// The rules by which whoever keeps the machine gives tags to its processes, from the settings: [tags.NAME].
//
// A rule gives one tag: a fixed value, or that of a variable in the process' environment. In the order of their names; of rules that
// give the same tag the last one that fits wins.
//
// Invariant: a rule that is not whole (no value, two, a tag that would pass for a fact) is an error, never half a rule.
#pragma once

#include <vector>

#include "config/settings.h"
#include "core/result.h"
#include "watch/workloads.h"

namespace joulery {

// Errors: usage, with the key and where it was set.
Result<std::vector<TagRule>> read_tag_rules(const Settings& settings);

}  // namespace joulery
