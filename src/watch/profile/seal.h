// Makes a profile that a reader has filled ready to be used: see the invariant of profile.h.
#pragma once

#include "watch/profile/profile.h"

namespace joulery {

// Sorts and nests each track, finds the steps, resolves which layer each event belongs to, and sets begin and end.
void seal(Profile& profile);

}  // namespace joulery
