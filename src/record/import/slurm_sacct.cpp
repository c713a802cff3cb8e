#include "record/import/slurm_sacct.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "record/import/cells.h"
#include "record/import/snapshots.h"
#include "record/import/wall_clock.h"
#include "sense/parse_number.h"

namespace joulery {
namespace {

// What the plug-ins behind it are certain to: RAPL's or a BMC's own error, and readings up to half a minute apart.
constexpr Accuracy accuracy{.relative = 0.1, .absolute = Power()};
constexpr double most_watts_a_node = 10'000;

struct Row {
  std::string id, name;
  std::optional<WallTime> begin, end;
  std::string raw, scaled;
  int nodes = 1;
  bool is_step() const { return id.find('.') != std::string::npos; }
  std::string job() const { return id.substr(0, id.find('.')); }
};

// "1.50K", "794", "12.3M".
std::expected<double, MissingReason> scaled_number(std::string_view cell) {
  double factor = 1;
  constexpr std::string_view prefixes = "KMGTP";
  if (!cell.empty())
    if (const auto at = prefixes.find(cell.back()); at != std::string_view::npos) {
      for (std::size_t i = 0; i <= at; ++i) factor *= 1000;
      cell.remove_suffix(1);
    }
  const auto number = number_in(cell);
  if (!number) return number;
  return *number * factor;
}

LoggedValue energy_of(const Row& row) {
  const auto joules_said = row.raw.empty() ? scaled_number(row.scaled) : scaled_number(row.raw);
  if (!joules_said) return {0, joules_said.error()};
  const double elapsed = to_seconds(*row.end - *row.begin);
  // Unset (-1, 4294967294), an underflow (near 2^64), nothing at all, or more than the nodes can burn.
  if (!(*joules_said > 0)) return {0, MissingReason::not_supported};
  if (*joules_said > elapsed * row.nodes * most_watts_a_node) return {0, MissingReason::rubbish};
  return {to_whole(*joules_said * 1e6), MissingReason::none};
}

std::vector<Row> rows_of(std::string_view text, Duration utc_offset) {
  const auto titles = split_cells(next_line(text), '|');
  std::vector<Row> rows;
  while (!text.empty()) {
    const std::string_view line = cell_text(next_line(text));
    if (line.empty()) continue;
    const auto cells = split_cells(line, '|');
    const auto cell = [&](std::string_view title) {
      const auto at = static_cast<std::size_t>(std::ranges::find(titles, title) - titles.begin());
      return at < cells.size() ? cells[at] : std::string();
    };
    Row row{cell("JobID"),
            cell("JobName"),
            parse_wall_time(cell("Start"), utc_offset),
            parse_wall_time(cell("End"), utc_offset),
            cell("ConsumedEnergyRaw"),
            cell("ConsumedEnergy")};
    row.nodes = std::max(1, parse_whole<int>(cell("NNodes")).value_or(1));
    if (!row.id.empty()) rows.push_back(std::move(row));
  }
  return rows;
}

Result<std::string> job_of(const std::vector<Row>& rows, const std::string& wanted) {
  std::vector<std::string> jobs;
  for (const Row& row : rows)
    if (std::ranges::find(jobs, row.job()) == jobs.end()) jobs.push_back(row.job());
  if (jobs.empty()) return fail(ErrorCode::format, "the file holds no job", "", "");
  if (!wanted.empty() && std::ranges::find(jobs, wanted) == jobs.end())
    return fail(ErrorCode::usage, "no such job in the file", wanted, fmt::format("it holds {}", jobs.front()));
  if (wanted.empty() && jobs.size() > 1)
    return fail(ErrorCode::usage, fmt::format("the file holds {} jobs", jobs.size()), "", fmt::format("say which: --job {}", jobs.front()));
  return wanted.empty() ? jobs.front() : wanted;
}

}  // namespace

bool looks_like_slurm_sacct(std::string_view text) {
  const auto titles = split_cells(next_line(text).substr(0, 65536), '|');
  return std::ranges::any_of(titles, [](const std::string& t) { return t == "JobID"; }) &&
         std::ranges::any_of(titles, [](const std::string& t) { return t.starts_with("ConsumedEnergy"); });
}

Result<ImportedLog> read_slurm_sacct(std::string_view text, const ImportOptions& options) {
  const auto rows = rows_of(text, options.utc_offset);
  const auto job = job_of(rows, options.job);
  if (!job) return std::unexpected(job.error());
  // The job's own line has the energy of its steps together; where it has none, each step is told by itself.
  std::vector<const Row*> told;
  for (const Row& row : rows)
    if (row.job() == *job && !row.is_step() && !(row.raw.empty() && row.scaled.empty())) told.push_back(&row);
  if (told.empty())
    for (const Row& row : rows)
      if (row.job() == *job && row.is_step() && !(row.raw.empty() && row.scaled.empty())) told.push_back(&row);
  if (told.empty())
    return fail(ErrorCode::format, "the job has no energy", *job,
                "Slurm keeps it where AcctGatherEnergyType is set: sacct -P -o JobID,Start,End,NNodes,ConsumedEnergyRaw");
  ImportedLog log;
  log.format = "Slurm sacct";
  log.command = {"slurm", "job", *job};
  if (!told.front()->name.empty()) log.command.push_back(told.front()->name);
  Channel channel = energy_channel(options.component.empty() ? "node" : options.component, accuracy);
  LoggedDevice device{"slurm", "job " + *job, {channel}, {}};
  std::int64_t sum = 0;
  for (const Row* row : told) {
    if (!row->begin || !row->end || *row->end <= *row->begin)
      return fail(ErrorCode::format, "no times of the job", row->id,
                  "ask for Start and End: sacct -P -o JobID,Start,End,NNodes,ConsumedEnergyRaw");
    const LoggedValue energy = energy_of(*row);
    if (!device.lines.empty() && *row->begin < device.lines.back().at)
      return fail(ErrorCode::unsupported, "steps of the job overlap", row->id, "import the job's own line");
    device.lines.push_back({*row->begin, {LoggedValue{sum, energy.reason}}});
    sum += energy.raw;
    device.lines.push_back({*row->end, {LoggedValue{sum, energy.reason}}});
  }
  log.run = LoggedInterval{device.lines.front().at, device.lines.back().at};
  log.devices.push_back(std::move(device));
  log.notes.emplace_back("slurm-exclusive");
  return log;
}

}  // namespace joulery
