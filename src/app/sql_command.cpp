// `joulery sql FILE 'SELECT ...'`: a recording as tables.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/command.h"
#include "app/command_line.h"
#include "core/units.h"
#include "publish/csv.h"
#include "record/sql.h"

namespace joulery {
namespace {

// Rows as CSV under a header.
class CsvRows final : public SqlRows {
 public:
  void columns(std::span<const std::string> names) override {
    for (std::size_t i = 0; i < names.size(); ++i) fmt::print("{}{}", i == 0 ? "" : ",", csv_field(names[i]));
    fmt::print("\n");
  }
  bool row(std::span<const SqlValue> values) override {
    for (std::size_t i = 0; i < values.size(); ++i) fmt::print("{}{}", i == 0 ? "" : ",", field(values[i]));
    return std::fputc('\n', stdout) != EOF;
  }

 private:
  static std::string field(const SqlValue& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
    if (const auto* real = std::get_if<double>(&value)) return to_decimal(*real);
    if (const auto* text = std::get_if<std::string>(&value)) return csv_field(*text);
    return "";
  }
};

// One JSON object a line.
class JsonRows final : public SqlRows {
 public:
  void columns(std::span<const std::string> names) override { names_.assign(names.begin(), names.end()); }
  bool row(std::span<const SqlValue> values) override {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < values.size(); ++i)
      std::visit(
          [&](const auto& value) {
            if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
              object[names_[i]] = nullptr;
            else
              object[names_[i]] = value;
          },
          values[i]);
    fmt::print("{}\n", object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return std::ferror(stdout) == 0;
  }

 private:
  std::vector<std::string> names_;
};

}  // namespace

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
