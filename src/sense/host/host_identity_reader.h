// Reads a machine's name and the identity of its boot.
#pragma once

#include "core/host_identity.h"
#include "sense/machine.h"

namespace joulery {

// Never fails: what cannot be read stays "".
HostIdentity read_host_identity(const Machine& machine);

}  // namespace joulery
