#include "record/virtual_table.h"

#include <sqlite3.h>

#include <bit>
#include <cstring>
#include <string>

namespace joulery {
namespace {

struct Table : sqlite3_vtab {
  const VirtualTable* table = nullptr;
};
struct Cursor : sqlite3_vtab_cursor {
  std::unique_ptr<TableCursor> cursor;
};

TableCursor& of(sqlite3_vtab_cursor* cursor) { return *static_cast<Cursor*>(cursor)->cursor; }

int report(sqlite3_vtab_cursor* cursor, const Result<void>& result) {
  if (result) return SQLITE_OK;
  sqlite3_free(cursor->pVtab->zErrMsg);
  cursor->pVtab->zErrMsg = sqlite3_mprintf("%s", result.error().line().c_str());
  return SQLITE_ERROR;
}

int connect(sqlite3* db, void* user, int, const char* const*, sqlite3_vtab** out, char**) {
  auto table = std::make_unique<Table>();
  table->table = static_cast<const VirtualTable*>(user);
  const int rc = sqlite3_declare_vtab(db, table->table->declaration());
  if (rc != SQLITE_OK) return rc;
  sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
  *out = table.release();
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<Table*>(table);
  return SQLITE_OK;
}

// The comparison that a constraint of SQLite asks for; false where none of ours.
bool comparison(unsigned char op, Comparison& how) {
  switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ: how = Comparison::equal; return true;
    case SQLITE_INDEX_CONSTRAINT_LT:
    case SQLITE_INDEX_CONSTRAINT_LE: how = Comparison::less; return true;
    case SQLITE_INDEX_CONSTRAINT_GT:
    case SQLITE_INDEX_CONSTRAINT_GE: how = Comparison::greater; return true;
    default: return false;
  }
}

// The plan as text: the used columns in hexadecimal, then for each filter ";column,comparison", in the order of arguments.
int best_index(sqlite3_vtab* table, sqlite3_index_info* info) {
  const VirtualTable& of_table = *static_cast<Table*>(table)->table;
  char used[24];
  sqlite3_snprintf(sizeof used, used, "%llx", info->colUsed);
  std::string plan = used;
  int arguments = 0;
  double rows = 1e8;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    Comparison how{};
    if (constraint.usable == 0 || !comparison(constraint.op, how) || constraint.iColumn < 0) continue;
    if (!of_table.can_filter(constraint.iColumn) || std::strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0) continue;
    info->aConstraintUsage[i].argvIndex = ++arguments;
    plan += ";" + std::to_string(constraint.iColumn) + "," + std::to_string(static_cast<int>(how));
    rows /= how == Comparison::equal ? 10 : 2;
  }
  info->estimatedCost = rows;
  info->estimatedRows = static_cast<sqlite3_int64>(rows) + 1;
  info->idxStr = sqlite3_mprintf("%s", plan.c_str());
  info->needToFreeIdxStr = 1;
  return info->idxStr == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}

int open_cursor(sqlite3_vtab* table, sqlite3_vtab_cursor** out) {
  auto cursor = std::make_unique<Cursor>();
  cursor->cursor = static_cast<Table*>(table)->table->cursor();
  *out = cursor.release();
  return SQLITE_OK;
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

int start(sqlite3_vtab_cursor* cursor, int, const char* plan, int count, sqlite3_value** values) {
  char* at = nullptr;
  const std::uint64_t used = std::strtoull(plan, &at, 16);
  std::vector<Filter> filters;
  for (int i = 0; i < count && *at == ';'; ++i) {
    Filter filter;
    filter.column = static_cast<int>(std::strtol(at + 1, &at, 10));
    filter.how = static_cast<Comparison>(std::strtol(at + 1, &at, 10));
    filter.value = values[i];
    filters.push_back(filter);
  }
  return report(cursor, of(cursor).start(filters, used));
}

int advance(sqlite3_vtab_cursor* cursor) { return report(cursor, of(cursor).advance()); }
int done(sqlite3_vtab_cursor* cursor) { return of(cursor).done() ? 1 : 0; }
int give(sqlite3_vtab_cursor* cursor, sqlite3_context* result, int column) {
  of(cursor).give(column, result);
  return SQLITE_OK;
}
int rowid(sqlite3_vtab_cursor*, sqlite3_int64* id) {
  *id = 0;
  return SQLITE_OK;
}

sqlite3_module make_module() {
  sqlite3_module made{};
  made.iVersion = 1;
  made.xConnect = connect;  // no xCreate: there without being created, and only so
  made.xBestIndex = best_index;
  made.xDisconnect = made.xDestroy = disconnect;
  made.xOpen = open_cursor;
  made.xClose = close_cursor;
  made.xFilter = start;
  made.xNext = advance;
  made.xEof = done;
  made.xColumn = give;
  made.xRowid = rowid;
  return made;
}

const sqlite3_module module = make_module();

}  // namespace

Result<void> add_table(Database& database, const char* name, const VirtualTable& table) {
  // SQLite hands the pointer back as it is and changes nothing behind it.
  void* user = const_cast<VirtualTable*>(&table);
  if (sqlite3_create_module_v2(database.handle(), name, &module, user, nullptr) == SQLITE_OK) return {};
  return std::unexpected(Database::error(database.handle(), "cannot show the samples as a table"));
}

void give_text(sqlite3_context* result, std::string_view text) {
  sqlite3_result_text64(result, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

}  // namespace joulery
