// toml++ as this project takes it. Every file that reads TOML includes this: the header's functions differ by its settings,
// and the linker would mix them.
#pragma once

// toml++ 3.3 asserts that malformed values do not come, and goes on to say what is wrong with them where it may.
#define TOML_ASSERT(expr) static_assert(true)

#include <toml++/toml.h>
