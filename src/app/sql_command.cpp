// `joulery sql FILE 'SELECT ...'`: a recording as tables.
#include "app/command.h"
#include "app/command_line.h"
#include "app/sql_rows.h"
#include "record/sql.h"

namespace joulery {

int sql_command(std::vector<std::string> arguments) {
  CLI::App app(
      "Asks a recording in SQL.\n`samples` holds every reading decoded; `marks`, `processes`, `events` and `metadata` hold the rest.",
      "joulery sql");
  std::string file, text;
  bool json = false;
  app.add_option("FILE", file, "a recording made by joulery run")->required();
  app.add_option("QUERY", text, "one SELECT")->required();
  app.add_flag("--json", json, "one JSON object a line instead of CSV");
  if (const auto code = parse(app, std::move(arguments))) return *code;
  CsvRows csv;
  JsonRows lines;
  const auto asked = json ? query(file, text, lines) : query(file, text, csv);
  if (!asked) return complain("sql", asked.error(), asked.error().code == ErrorCode::usage ? exit_usage : 1);
  return 0;
}

}  // namespace joulery
