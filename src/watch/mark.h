// What a program says of itself while it runs: steps, points, work done, business figures.
#pragma once

#include <cstdint>
#include <string>

#include "core/time.h"

namespace joulery {

// The numbers are stored in rings and recordings: only append.
enum class MarkKind : std::uint8_t {
  step_begin,  // value: units of work that this step holds (samples), 0 where not said
  step_end,    // closes the innermost open step of the same name and thread
  point,       // a named moment, value free: ("epoch", 3)
  kpi,         // a business figure: ("accuracy", 0.93)
  work,        // value units of work of kind `name` were done by now: ("token", 512)
};

struct Mark {
  MonoTime time;
  std::int32_t pid = 0, tid = 0;
  MarkKind kind = MarkKind::point;
  std::string name;
  double value = 0;
};

// The unit of a step's work: steps whose name is "step" count samples.
inline constexpr const char* default_step_name = "step";
inline constexpr const char* default_work_unit = "sample";

}  // namespace joulery
