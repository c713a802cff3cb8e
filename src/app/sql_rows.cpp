#include "app/sql_rows.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/units.h"
#include "publish/csv.h"

namespace joulery {
namespace {

std::string field(const SqlValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value)) return to_decimal(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return csv_field(*text);
  return "";
}

}  // namespace

void CsvRows::columns(std::span<const std::string> names) {
  for (std::size_t i = 0; i < names.size(); ++i) fmt::print("{}{}", i == 0 ? "" : ",", csv_field(names[i]));
  fmt::print("\n");
}

bool CsvRows::row(std::span<const SqlValue> values) {
  for (std::size_t i = 0; i < values.size(); ++i) fmt::print("{}{}", i == 0 ? "" : ",", field(values[i]));
  return std::fputc('\n', stdout) != EOF;
}

bool JsonRows::row(std::span<const SqlValue> values) {
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

}  // namespace joulery
