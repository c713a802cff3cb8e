// What a wall meter showed of this machine: at rest, at full load and, if measured, at half load. With it the estimate
// starts from this machine instead of from its kind (`joulery calibrate`).
//
// Invariant: 0 < idle < half < max, with half optional; a value that breaks it is never written or returned.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/quantity.h"
#include "core/result.h"

namespace joulery {

struct Calibration {
  Power idle, max;
  std::optional<Power> half;
  std::string source;  // in the user's words: "wall meter, 2 May"; "" where not told
  friend bool operator==(const Calibration&, const Calibration&) = default;
};

// The same values, or a `usage` error that says which relation does not hold. Each above 0 W and at most 1 MW.
Result<Calibration> checked(Calibration calibration);

// A calibration as TOML:  idle_watts = 55.0   max_watts = 210   half_watts = 120   source = "wall meter"
// `where` names the text in errors. Errors: `format` for text that is no TOML, a key that is not known (with the nearest
// one), a value of another kind, a missing value, and values that checked() refuses.
Result<Calibration> parse_calibration(std::string_view text, const std::string& where);

// The same from the file at `path`; `not_found` where there is none.
Result<Calibration> read_calibration(const std::string& path);

// Writes the file whole or not at all: beside it first, then renamed over it. Folders on the way are made.
Result<void> write_calibration(const std::string& path, const Calibration& calibration);

}  // namespace joulery
