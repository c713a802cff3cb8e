#include "record/sql.h"

#include "record/decoded_tables.h"
#include "record/open_recording.h"
#include "record/select.h"
#include "record/stored_chunk.h"

namespace joulery {
namespace {

Result<DecodedSource> describe_source(Database& database) {
  DecodedSource source;
  source.database = &database;
  auto devices = read_devices(database);
  if (!devices) return std::unexpected(devices.error());
  auto names = read_mark_names(database);
  if (!names) return std::unexpected(names.error());
  const auto clocks = read_clock_maps(database);
  if (!clocks) return std::unexpected(clocks.error());
  source.devices = std::move(*devices);
  source.mark_names = std::move(*names);
  source.start = clocks->front().mono;
  return source;
}

std::string views(MonoTime start) {
  const auto since = [&](const std::string& ns) { return "(" + ns + " - " + std::to_string(start.ns) + ") * 1e-9"; };
  return "PRAGMA temp_store=MEMORY;"
         "CREATE TEMP VIEW processes AS SELECT " +
         since("mono_ns") +
         " AS t_s, mono_ns, pid, start_ticks, parent, name, cpu_ns * 1e-9 AS cpu_s"
         " FROM process_sample JOIN process ON process.id = process;"
         "CREATE TEMP VIEW device_processes AS SELECT " +
         since("mono_ns") +
         " AS t_s, mono_ns, device, component, pid, memory, busy, memory_busy, encoder, decoder FROM device_process;"
         "CREATE TEMP VIEW events AS SELECT " +
         since("begin_ns") + " AS begin_s, " + since("end_ns") +
         " AS end_s, kind, detail, count FROM event;"
         "PRAGMA query_only=1;"
         // Connects the tables, which the authoriser would forbid later: SQLite declares them with CREATE TABLE.
         "SELECT 1 FROM samples LIMIT 0; SELECT 1 FROM marks LIMIT 0;";
}

class Collect final : public SqlRows {
 public:
  void columns(std::span<const std::string> names) override { table.columns.assign(names.begin(), names.end()); }
  bool row(std::span<const SqlValue> values) override {
    table.rows.emplace_back(values.begin(), values.end());
    return true;
  }
  SqlTable table;
};

}  // namespace

Result<void> query(const std::string& path, const std::string& sql, SqlRows& rows) {
  // Declared first, so that the tables outlive the connection that uses them.
  DecodedSource source;
  std::unique_ptr<VirtualTable> samples, marks;
  auto database = open_recording_database(path);
  if (!database) return std::unexpected(database.error());
  auto described = describe_source(*database);
  if (!described) return std::unexpected(described.error());
  source = std::move(*described);
  samples = samples_table(source);
  marks = marks_table(source);
  if (auto done = add_table(*database, "samples", *samples); !done) return done;
  if (auto done = add_table(*database, "marks", *marks); !done) return done;
  if (auto done = database->execute(views(source.start)); !done) return done;
  return select(*database, sql, rows);
}

Result<SqlTable> query(const std::string& path, const std::string& sql) {
  Collect collect;
  if (auto done = query(path, sql, collect); !done) return std::unexpected(done.error());
  return std::move(collect.table);
}

}  // namespace joulery
