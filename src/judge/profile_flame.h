// A flame graph from a profile: the host's stacks (modules, Python functions, operators inside each other), each operator's joules, of host
// and devices together, over the stacks that it ran in, by their time.
//
// Invariant: the graph's joules are those of the account's operators and gaps, to the microjoule; what ran in no stack that the trace tells
// stands alone. Without energy it is the stacks' time.
#pragma once

#include <string>

#include "judge/flame.h"
#include "ledger/profile/profile_account.h"
#include "watch/profile/profile.h"

namespace joulery {

Flame profile_flame(const Profile& profile, const ProfileAccount& account, std::string title);

}  // namespace joulery
