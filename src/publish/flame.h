// A flame graph told: as a list, folded stacks, JSON, and a picture (publish/flame_picture.h).
// Invariant: nothing that comes from outside (names of functions) can break a line, a tag or a string.
#pragma once

#include <string>

#include "judge/flame.h"
#include "publish/style.h"

namespace joulery {

// The functions that burn the most by themselves, at most `most` of them.
std::string flame_text(const Flame& flame, const TextStyle& style, std::size_t most = 25);

// A line per stack, "outer;inner 1234": microjoules, or the weight (whole samples, microseconds) where there is no energy. What
// flamegraph.pl, speedscope and inferno read. A ';' in a name becomes ':'.
std::string flame_folded(const Flame& flame);

// Schema joulery.flame/1 (data/schemas/flame.json).
std::string flame_json(const Flame& flame);

}  // namespace joulery
