// Which layer of the model each event belongs to: from the modules that are open around an operator, for the backward
// pass from the operator's forward counterpart, for kernels and runtime calls from the operator that launched them.
#pragma once

#include "watch/profile/profile.h"

namespace joulery {

// Fills ProfileEvent::layer where the reader could not, over tracks that are sorted and nest. Gives runtime calls and
// kernels the `external` of their operator, where only their correlation tells it.
void find_layers(Profile& profile);

}  // namespace joulery
