#include "record/import/codecarbon_csv.h"

#include <fmt/format.h>

#include <algorithm>

#include "record/import/cells.h"
#include "record/import/snapshots.h"
#include "record/import/wall_clock.h"
#include "sense/parse_number.h"

namespace joulery {
namespace {

struct Part {
  std::string_view column;
  const char* component;
  double relative;  // RAM is always a constant there, and the CPU's watts often are: neither is worth more than this
};
constexpr Part parts[] = {
    {"cpu_energy", "node/cpu", 0.5},
    {"gpu_energy", "node/gpu", 0.1},
    {"ram_energy", "node/dram", 0.5},
};

class Row {
 public:
  Row(const std::vector<std::string>& titles, const std::vector<std::string>& cells) : titles_(titles), cells_(cells) {}
  std::string_view operator[](std::string_view title) const {
    const auto at = static_cast<std::size_t>(std::ranges::find(titles_, title) - titles_.begin());
    return at < cells_.size() ? std::string_view(cells_[at]) : std::string_view();
  }

 private:
  const std::vector<std::string>& titles_;
  const std::vector<std::string>& cells_;
};

Result<ImportedLog> log_of(const Row& row, std::size_t number, const ImportOptions& options) {
  const auto end = parse_wall_time(row["timestamp"], options.utc_offset);
  const auto duration = number_in(row["duration"]);
  const std::string where = fmt::format("line {}", number);
  if (!end) return fail(ErrorCode::format, "no time in the column timestamp", where, "");
  if (!duration || !(*duration > 0) || *duration > 1e9) return fail(ErrorCode::format, "no seconds in the column duration", where, "");
  ImportedLog log;
  log.format = "CodeCarbon emissions.csv";
  log.run = LoggedInterval{*end - seconds(*duration), *end};
  if (const auto project = row["project_name"]; !project.empty()) log.command = {"codecarbon", std::string(project)};
  for (const Part& part : parts) {
    LoggedValue energy = value_in(row[part.column], 1e-6, joules_per_kilowatt_hour);
    if (energy.reason == MissingReason::none && energy.raw == 0) energy.reason = MissingReason::not_supported;
    log.devices.push_back(
        energy_over("codecarbon", std::string(part.column), energy_channel(part.component, {part.relative, Power()}), *log.run, energy));
  }
  log.notes.emplace_back("codecarbon-values");
  return log;
}

}  // namespace

bool looks_like_codecarbon_csv(std::string_view text) {
  const auto titles = split_cells(next_line(text).substr(0, 65536), ',');
  const auto has = [&](std::string_view title) { return std::ranges::find(titles, title) != titles.end(); };
  return has("timestamp") && has("duration") && has("cpu_energy") && has("ram_energy");
}

Result<ImportedLog> read_codecarbon_csv(std::string_view text, const ImportOptions& options) {
  const auto titles = split_cells(next_line(text), ',');
  std::size_t number = 1, rows = 0, last_number = 0;
  std::vector<std::string> last;
  while (!text.empty()) {
    ++number;
    const std::string_view line = cell_text(next_line(text));
    if (line.empty()) continue;
    last = split_cells(line, ',');
    last_number = number;
    ++rows;
  }
  if (rows == 0) return fail(ErrorCode::format, "the file holds no run", "", "");
  auto log = log_of(Row(titles, last), last_number, options);
  if (log && rows > 1) log->notes.push_back(fmt::format("rows-left-out: {}", rows - 1));
  return log;
}

}  // namespace joulery
