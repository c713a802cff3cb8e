// The figures that a program is told of itself (joulery/joulery.h), from the sum that LiveEnergy keeps.
#pragma once

#include "app/live_energy.h"
#include "joulery/joulery.h"

namespace joulery {

joulery_energy told_energy(MonoTime begin, const LiveEnergy::Sum& sum);

}  // namespace joulery
