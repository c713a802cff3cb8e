#include "record/import/perf_stat_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "record/import/cells.h"
#include "record/import/snapshots.h"
#include "record/import/wall_clock.h"
#include "sense/parse_number.h"

namespace joulery {
namespace {

constexpr std::string_view event_prefix = "power/energy-";
constexpr Accuracy accuracy{.relative = 0.05, .absolute = Power()};

struct Domain {
  std::string_view event;    // after the prefix, before the slash
  const char* of_machine;    // all sockets together
  const char* of_socket;     // with the socket's number behind it, and `below` after that
  const char* below;
};
constexpr Domain domains[] = {
    {"pkg", "node/cpu", "node/cpu/package-", ""},
    {"cores", "node/cpu/core", "node/cpu/package-", "/core"},
    {"gpu", "node/cpu/uncore", "node/cpu/package-", "/uncore"},
    {"ram", "node/dram", "node/dram/package-", ""},
    {"psys", "node/platform", "node/platform", ""},
};

// A line's number, its decimal comma made a point.
std::expected<double, MissingReason> number_of(std::string cell, char separator) {
  if (separator != ',') std::ranges::replace(cell, ',', '.');
  return number_in(cell);
}

struct Count {
  std::string event, socket;             // "pkg", "0" or ""
  std::optional<double> at;              // seconds since the start, with -I
  std::expected<double, MissingReason> joules = 0;
  double ran_ns = 0;
};

std::optional<Count> count_in(std::string_view line) {
  const std::size_t event = line.find(event_prefix);
  if (event == std::string_view::npos || event == 0) return std::nullopt;
  const char separator = line[event - 1];
  const auto cells = split_cells(line, separator);
  const auto named = std::ranges::find_if(cells, [](const std::string& c) { return c.starts_with(event_prefix); });
  const auto e = static_cast<std::size_t>(named - cells.begin());
  if (named == cells.end() || e < 2) return std::nullopt;
  Count count;
  count.event = named->substr(event_prefix.size(), named->find('/', event_prefix.size()) - event_prefix.size());
  for (std::size_t i = 0; i + 2 < e; ++i) {
    const bool group = cells[i].size() > 1 && cells[i][0] == 'S' && cells[i][1] >= '0' && cells[i][1] <= '9';
    if (group) {
      count.socket = cells[i].substr(1, cells[i].find_first_not_of("0123456789", 1) - 1);
      break;  // how many CPUs it counts follows
    }
    if (const auto at = number_of(cells[i], separator)) count.at = *at;
  }
  count.joules = number_of(cells[e - 2], separator);
  if (e + 1 < cells.size()) count.ran_ns = number_of(cells[e + 1], separator).value_or(0);
  return count;
}

std::string component_of(const Count& count) {
  const auto domain = std::ranges::find(domains, std::string_view(count.event), &Domain::event);
  if (domain == std::end(domains)) return {};
  if (count.socket.empty() || count.event == "psys") return domain->of_machine;
  return std::string(domain->of_socket) + count.socket + domain->below;
}

// One event of one socket while its lines are read. Energy that was not counted in an interval is lost: the counter then goes on
// from below, as one does that was reset.
class Series {
 public:
  Series(const Count& count, WallTime start) : start_(start) {
    Channel channel = energy_channel(component_of(count), accuracy);
    if (count.event == "psys") channel.scope = Scope::platform;
    device.kind = "perf-stat";
    device.name = std::string(event_prefix) + count.event + "/" + (count.socket.empty() ? "" : " S" + count.socket);
    device.channels = {std::move(channel)};
    device.lines.push_back({start_, {LoggedValue{}}});
    epochs_.push_back(0);
  }
  bool take(const Count& count) {
    const double end = count.at.value_or(count.ran_ns * 1e-9);
    if (!(end > 0) || end > 1e9) return false;
    LoggedLine line{start_ + seconds(end), {}};
    if (line.at <= device.lines.back().at) return false;
    if (!count.joules || *count.joules < 0 || total_ + *count.joules > most_joules) {
      line.values = {LoggedValue{0, count.joules ? MissingReason::rubbish : count.joules.error()}};
      sums_.push_back(0);
    } else {
      total_ += *count.joules;
      sums_.back() += to_whole(*count.joules * 1e6);
      line.values = {LoggedValue{sums_.back(), MissingReason::none}};
    }
    device.lines.push_back(std::move(line));
    epochs_.push_back(sums_.size() - 1);
    return true;
  }
  // Each epoch above all that come after it.
  LoggedDevice finish() {
    std::vector<std::int64_t> base(sums_.size(), 0);
    for (std::size_t k = base.size() - 1; k > 0; --k) base[k - 1] = base[k] + sums_[k] + 1;
    for (std::size_t i = 0; i < device.lines.size(); ++i)
      if (LoggedValue& value = device.lines[i].values[0]; value.reason == MissingReason::none) value.raw += base[epochs_[i]];
    return std::move(device);
  }
  LoggedDevice device;

 private:
  static constexpr double most_joules = 1e12;  // twice that many microjoules still fit
  WallTime start_;
  double total_ = 0;
  std::vector<std::int64_t> sums_{0};  // microjoules of each epoch, between losses
  std::vector<std::size_t> epochs_;    // of each line
};

}  // namespace

bool looks_like_perf_stat_csv(std::string_view text) {
  for (int line = 0; line < 64 && !text.empty(); ++line)
    if (count_in(next_line(text).substr(0, 4096))) return true;
  return false;
}

Result<ImportedLog> read_perf_stat_csv(std::string_view text, const ImportOptions& options) {
  ImportedLog log;
  log.format = "perf stat CSV";
  log.has_wall_clock = false;
  WallTime start;
  std::map<std::string, Series> series;
  std::size_t refused = 0, first_refused = 0, number = 0;
  while (!text.empty()) {
    ++number;
    const std::string_view line = cell_text(next_line(text));
    constexpr std::string_view started = "# started on ";
    if (line.starts_with(started))
      if (const auto at = parse_wall_time(line.substr(started.size()), options.utc_offset); at && series.empty()) {
        start = *at;
        log.has_wall_clock = true;
      }
    if (line.empty() || line.starts_with('#')) continue;
    const auto count = count_in(line);
    if (!count || component_of(*count).empty()) continue;  // other events stand beside energy
    auto& one = series.try_emplace(count->event + "/" + count->socket, *count, start).first->second;
    if (!one.take(*count) && refused++ == 0) first_refused = number;
  }
  for (auto& [key, one] : series)
    if (one.device.lines.size() > 1) log.devices.push_back(one.finish());
  if (log.devices.empty())
    return fail(ErrorCode::format, "no energy that perf counted over a time",
                fmt::format("line {}", std::max<std::size_t>(first_refused, 1)), "");
  if (refused > 0) log.notes.push_back(fmt::format("lines-left-out: {}, the first is line {}", refused, first_refused));
  return log;
}

}  // namespace joulery
