// One SELECT of a user on a database whose tables are ready: what `joulery sql` and `joulery query --sql` have in common.
//
// Invariant: nothing that is asked changes the database, opens another file, or loads code.
#pragma once

#include <string>

#include "core/result.h"
#include "record/database.h"
#include "record/sql.h"

namespace joulery {

// Virtual tables must have been used once before (SELECT 1 FROM t LIMIT 0): SQLite declares them with CREATE TABLE, which is
// refused from here on. Errors: `usage` where the statement is not one SELECT or cannot be understood.
Result<void> select(Database& database, const std::string& sql, SqlRows& rows);

}  // namespace joulery
