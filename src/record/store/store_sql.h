// Questions to a store in SQL, for `joulery query --sql`. Tables, over all days of the folder:
//
//   series(name, labels, unit, kind)                                              labels as a JSON object, each series once
//   rows, minutes, hours(name, labels, unit, kind, time_s, count, value, held_s)  what each level keeps; time_s since 1970
//
// value is in SI units: the total of a sum, the mean of a gauge (whose count is NULL). Days that have lost a level are not
// in its table. A minute or hour of a series comes once; a second comes as often as the clock showed it.
//
// Invariant: as record/select.h.
#pragma once

#include <string>

#include "record/sql.h"

namespace joulery {

// Conditions on name (=) and time_s spare the unpacking of what they exclude. Errors: as StoreReader::open; `usage` as query().
Result<void> query_store(const std::string& folder, const std::string& sql, SqlRows& rows);

}  // namespace joulery
