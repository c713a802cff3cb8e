// The layers on a terminal: in the summary of a run, and whole for `joulery ledger`.
#pragma once

#include <string>

#include "judge/report.h"
#include "publish/style.h"

namespace joulery {

// The layers that are known, with their delays; lines ended by newlines, at most `style.width` columns wide.
std::string layers_text(const Report& report, const TextStyle& style);

// All layers, missing ones with their reason, under a title.
std::string ledger_text(const Report& report, const TextStyle& style);

}  // namespace joulery
