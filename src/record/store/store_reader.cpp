#include "record/store/store_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "record/store/day_scan.h"

namespace joulery {
namespace {

constexpr std::int64_t most_points = 50'000'000;  // of all series together

struct Cell {
  std::int64_t count = 0, held = 0;
  bool any = false;
};
using Cells = std::vector<Cell>;

struct Grid {
  std::int64_t from_ms = 0, to_ms = 0, base_ms = 0, step_ms = 0;  // step 0: one for all
  std::size_t steps = 1;
  std::size_t of(std::int64_t begin_ms) const {
    if (step_ms == 0 || begin_ms < base_ms) return 0;
    return std::min(static_cast<std::size_t>((begin_ms - base_ms) / step_ms), steps - 1);
  }
  WallTime begin(std::size_t step) const {
    const std::int64_t ms = step_ms == 0 ? from_ms : base_ms + static_cast<std::int64_t>(step) * step_ms;
    return {ms * 1'000'000};
  }
};

Result<Grid> grid_for(const StoreQuery& query) {
  Grid grid;
  grid.from_ms = floor_to(query.from.ns + 999'999, 1'000'000) / 1'000'000;
  grid.to_ms = std::max(grid.from_ms, floor_to(query.to.ns + 999'999, 1'000'000) / 1'000'000);
  const std::int64_t step = query.step.base_units();
  if (step < 0 || step % 1'000'000 != 0)
    return fail(ErrorCode::usage, "a step is a whole number of milliseconds", fmt::format("{} ns", step));
  grid.step_ms = step / 1'000'000;
  if (grid.step_ms == 0) return grid;
  grid.base_ms = floor_to(grid.from_ms, grid.step_ms);
  const std::int64_t steps = (grid.to_ms - grid.base_ms + grid.step_ms - 1) / grid.step_ms;
  if (steps > most_points)
    return fail(ErrorCode::usage, "more steps than can be answered", fmt::format("{}", steps), "ask for a longer step");
  grid.steps = static_cast<std::size_t>(std::max<std::int64_t>(steps, 1));
  return grid;
}

struct Segment {
  Level level = Level::raw;
  std::int64_t begin_ms = 0, end_ms = 0;
};

// Covers [begin, end) with slots of `level` where whole ones fit, and finer ones at the ends, none finer than `finest`.
void cover(Level level, Level finest, std::int64_t begin_ms, std::int64_t end_ms, std::vector<Segment>& out) {
  if (begin_ms >= end_ms) return;
  if (level <= finest) return out.push_back({finest, begin_ms, end_ms});
  const std::int64_t slot = slot_ms(level), first = floor_to(begin_ms + slot - 1, slot), last = floor_to(end_ms, slot);
  const auto finer = static_cast<Level>(static_cast<std::uint8_t>(level) - 1);
  if (first >= last) return cover(finer, finest, begin_ms, end_ms, out);
  cover(finer, finest, begin_ms, first, out);
  out.push_back({level, first, last});
  cover(finer, finest, last, end_ms, out);
}

// The coarsest level whose slots fit into the steps.
Level level_for(std::int64_t step_ms) {
  if (step_ms % hour_ms == 0) return Level::hour;
  return step_ms % slot_ms(Level::minute) == 0 ? Level::minute : Level::raw;
}

// What series add up to: themselves, or a group.
SeriesKey group_of(const KeyView& key, const std::optional<std::vector<std::string>>& by) {
  if (!by) return owned(key);
  SeriesKey group{std::string(key.name), {}, key.unit, key.kind};
  for (const std::string& label : *by) group.labels[label] = std::string(key.label(label));
  return group;
}

struct KeyOrder {
  bool operator()(const SeriesKey& a, const SeriesKey& b) const {
    return std::tie(a.name, a.labels, a.unit, a.kind) < std::tie(b.name, b.labels, b.unit, b.kind);
  }
};

// A label value that every wanted key has, as a text to look for in packed keys; "" where there is none.
std::string_view sure_text(const SeriesMatcher& series) {
  for (const auto& label : series.labels) {
    const bool plain = label.pattern.find_first_of("*?") == std::string::npos;
    if (!label.negated && plain && !label.pattern.empty()) return label.pattern;
  }
  return series.name.find_first_of("*?") == std::string::npos ? std::string_view(series.name) : std::string_view();
}

// Adds rows of one day's file to the groups.
class Gather final : public RowSink {
 public:
  Gather(const Grid& grid, std::vector<Cells>& groups, Cells& covered) : grid_(grid), groups_(groups), covered_(covered) {}
  void start_day(std::unordered_map<std::int64_t, std::size_t> group_of) { group_of_ = std::move(group_of); }
  void rows(const ScannedRows& rows) override {
    Cells* cells = &covered_;
    if (rows.number != 0) {
      const auto at = group_of_.find(rows.number);
      if (at == group_of_.end()) return;
      cells = &groups_[at->second];
    }
    for (std::size_t i = 0; i < rows.counts.size(); ++i) {
      Cell& cell = (*cells)[grid_.of(rows.begin_ms[i])];
      cell.count = static_cast<std::int64_t>(static_cast<std::uint64_t>(cell.count) + static_cast<std::uint64_t>(rows.counts[i]));
      cell.held += rows.held_ms[i];
      cell.any = true;
    }
  }

 private:
  const Grid& grid_;
  std::vector<Cells>& groups_;
  Cells& covered_;
  std::unordered_map<std::int64_t, std::size_t> group_of_;
};

class Answering {
 public:
  Answering(const StoreQuery& query, const Grid& grid)
      : query_(query), grid_(grid), covered_(grid.steps), gather_(grid_, groups_, covered_), level_(level_for(grid.step_ms)) {}

  Result<void> add_day(const std::string& path, std::int64_t day);
  StoreAnswer answer();
  void note(std::string text) { answer_.notes.push_back(std::move(text)); }

 private:
  Result<std::vector<std::int64_t>> wanted_in(const SeriesCatalogue& catalogue, SeriesKinds& kinds);
  Result<void> scan(Database& database, DayScan& scan, std::int64_t begin_ms, std::int64_t end_ms);
  std::vector<StorePoint> points(const Cells& cells, bool is_group) const;

  const StoreQuery& query_;
  const Grid grid_;
  std::map<SeriesKey, std::size_t, KeyOrder> index_;  // into groups_
  std::vector<Cells> groups_;
  Cells covered_;
  Gather gather_;
  const Level level_;
  StoreTools tools_;
  StoreAnswer answer_;
};

Result<std::vector<std::int64_t>> Answering::wanted_in(const SeriesCatalogue& catalogue, SeriesKinds& kinds) {
  std::vector<std::int64_t> wanted;
  std::unordered_map<std::int64_t, std::size_t> group_of_number;
  bool too_many = false;
  catalogue.each(sure_text(query_.series), [&](std::int64_t number, const KeyView& key) {
    if (!query_.series.matches(key)) return;
    const auto [at, is_new] = index_.try_emplace(group_of(key, query_.by), groups_.size());
    if (is_new) groups_.emplace_back(grid_.steps);
    too_many = too_many || static_cast<std::int64_t>(groups_.size() * grid_.steps) > most_points;
    group_of_number.emplace(number, at->second);
    wanted.push_back(number);
    if (static_cast<std::size_t>(number) >= kinds.size()) kinds.resize(static_cast<std::size_t>(number) + 1, SeriesKind::sum);
    kinds[static_cast<std::size_t>(number)] = key.kind;
  });
  if (too_many) return fail(ErrorCode::usage, "more points than can be answered", "", "ask for a longer step, or fewer series");
  std::sort(wanted.begin(), wanted.end());
  gather_.start_day(std::move(group_of_number));
  return wanted;
}

Result<void> Answering::scan(Database& database, DayScan& scan, std::int64_t begin_ms, std::int64_t end_ms) {
  const auto finest = finest_level(database);
  if (!finest) return std::unexpected(finest.error());
  std::vector<Segment> segments;
  cover(std::max(level_, *finest), *finest, begin_ms, end_ms, segments);
  for (const Segment& segment : segments) {
    if (auto done = scan.blocks(segment.level, segment.begin_ms, segment.end_ms, gather_); !done) return done;
  }
  const std::int64_t slot = slot_ms(*finest);
  if (level_ < *finest || begin_ms % slot != 0 || end_ms % slot != 0)
    note(fmt::format("{} is kept by the {} only", day_file_name(day_of(begin_ms)), name_of(*finest)));
  return scan.tails(Level::raw, begin_ms, end_ms, gather_);
}

Result<void> Answering::add_day(const std::string& path, std::int64_t day) {
  auto database = open_day_for_reading(path);
  if (!database) return std::unexpected(database.error());
  const auto catalogue = SeriesCatalogue::read(*database, tools_.squeezer);
  if (!catalogue) return std::unexpected(catalogue.error());
  SeriesKinds kinds;
  auto wanted = wanted_in(*catalogue, kinds);
  if (!wanted) return std::unexpected(wanted.error());
  DayScan rows(*database, kinds, std::move(*wanted), tools_);
  const auto done = scan(*database, rows, std::max(grid_.from_ms, day * day_ms), std::min(grid_.to_ms, (day + 1) * day_ms));
  answer_.damaged += rows.damaged() + catalogue->unreadable();
  return done;
}

// In a group members come and go: only the ticks of the step say over what time its energy came.
std::vector<StorePoint> Answering::points(const Cells& cells, bool is_group) const {
  std::vector<StorePoint> points;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!cells[i].any) continue;
    points.push_back({grid_.begin(i), cells[i].count, milliseconds(is_group ? covered_[i].held : cells[i].held)});
  }
  return points;
}

StoreAnswer Answering::answer() {
  for (const auto& [key, at] : index_) {
    auto made = points(groups_[at], query_.by && key.kind == SeriesKind::sum);
    if (!made.empty()) answer_.series.push_back({key, std::move(made)});
  }
  answer_.covered = points(covered_, false);
  return std::move(answer_);
}

// A day that expired since the folder was read, or that is damaged, is no reason to give no answer.
bool spoils_only_its_day(const Error& error) { return error.code != ErrorCode::newer_format && error.code != ErrorCode::permission; }

}  // namespace

double total_of(const SeriesKey& key, const StorePoint& point) {
  if (key.kind == SeriesKind::mean) return rate_of(key, point).value_or(0);
  return static_cast<double>(point.count) * key.unit;
}

std::optional<double> rate_of(const SeriesKey& key, const StorePoint& point) {
  const double held = static_cast<double>(point.held.base_units()) * 1e-6;
  if (held <= 0) return std::nullopt;
  return static_cast<double>(point.count) * key.unit / held * (key.kind == SeriesKind::mean ? 1 : 1000);
}

Duration StoreAnswer::covered_time() const {
  Duration sum;
  for (const StorePoint& point : covered) sum += point.held;
  return sum;
}

Result<StoreReader> StoreReader::open(const std::string& folder) {
  auto days = days_in(folder);
  if (!days) return std::unexpected(days.error());
  return StoreReader(folder, std::move(*days));
}

Result<StoreAnswer> StoreReader::query(const StoreQuery& query) const {
  const auto grid = grid_for(query);
  if (!grid) return std::unexpected(grid.error());
  Answering answering(query, *grid);
  for (const std::int64_t day : days_) {
    if ((day + 1) * day_ms <= grid->from_ms || day * day_ms >= grid->to_ms) continue;
    const auto done = answering.add_day(folder_ + "/" + day_file_name(day), day);
    if (done) continue;
    if (!spoils_only_its_day(done.error()) || done.error().where.empty()) return std::unexpected(done.error());
    answering.note(done.error().line());
  }
  return answering.answer();
}

Result<std::vector<SeriesKey>> StoreReader::list(const SeriesMatcher& series, WallTime from, WallTime to) const {
  std::map<SeriesKey, bool, KeyOrder> found;
  StoreTools tools;
  for (const std::int64_t day : days_) {
    if ((day + 1) * day_ms * 1'000'000 <= from.ns || day * day_ms * 1'000'000 >= to.ns) continue;
    auto database = open_day_for_reading(folder_ + "/" + day_file_name(day));
    if (!database && !spoils_only_its_day(database.error())) return std::unexpected(database.error());
    if (!database) continue;
    const auto catalogue = SeriesCatalogue::read(*database, tools.squeezer);
    if (!catalogue) continue;
    catalogue->each(sure_text(series), [&](std::int64_t, const KeyView& key) {
      if (series.matches(key)) found.try_emplace(owned(key));
    });
  }
  std::vector<SeriesKey> keys;
  for (const auto& [key, unused] : found) keys.push_back(key);
  return keys;
}

}  // namespace joulery
