// A report as JSON, schema joulery.report/1 (data/schemas/report.json, explained in docs/formats/report.md).
// Invariant: every field of the schema is present; an unknown one is null and the `reason` beside it says why; the joules of
// the components that are no overlaps sum to energy.joules to the microjoule, for they are printed from whole microjoules.
#pragma once

#include <string>

#include "judge/report.h"
#include "publish/json_writer.h"

namespace joulery {

// Ends in a newline. `indent` 0 gives one line.
std::string report_json(const Report& report, int indent = 2);

// The same object as a value inside a larger document.
void write_report(JsonWriter& json, const Report& report);

}  // namespace joulery
