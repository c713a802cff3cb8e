#include "record/import/nvidia_smi_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "record/import/cells.h"
#include "record/import/nvidia_gpu.h"
#include "record/import/wall_clock.h"
#include "sense/parse_number.h"

namespace joulery {
namespace {

struct ColumnName {
  std::string_view name;
  SmiReading reading;
};
constexpr ColumnName column_names[] = {
    {"power.draw", SmiReading::draw},
    {"power.draw.average", SmiReading::average},
    {"power.draw.instant", SmiReading::instant},
    {"module.power.draw.average", SmiReading::module},
    {"utilization.gpu", SmiReading::utilisation},
    {"memory.used", SmiReading::memory},
    {"memory.total", SmiReading::memory_total},
    {"clocks.current.sm", SmiReading::sm_clock},
    {"clocks.sm", SmiReading::sm_clock},
};

// "power.draw [W]" -> "power.draw".
std::string_view without_unit(std::string_view title) { return cell_text(title.substr(0, title.find('['))); }

struct Columns {
  std::size_t count = 0;
  std::map<std::string, std::size_t, std::less<>> at;  // by title
  std::map<SmiReading, std::size_t> readings;

  std::optional<std::size_t> find(std::initializer_list<std::string_view> titles) const {
    for (const std::string_view title : titles)
      if (const auto found = at.find(title); found != at.end()) return found->second;
    return std::nullopt;
  }
};

Columns columns_of(std::string_view header) {
  Columns columns;
  const auto titles = split_cells(header, ',');
  columns.count = titles.size();
  for (std::size_t i = 0; i < titles.size(); ++i) columns.at.emplace(std::string(without_unit(titles[i])), i);
  for (const ColumnName& known : column_names)
    if (const auto found = columns.at.find(known.name); found != columns.at.end()) columns.readings.emplace(known.reading, found->second);
  return columns;
}

// One card while its lines are read.
struct Card {
  LoggedDevice device;
  GpuGeneration gpu;
  std::vector<std::size_t> columns;  // of the file, one per channel
  std::vector<double> scales;
};

class Reader {
 public:
  Reader(Columns columns, const ImportOptions& options) : columns_(std::move(columns)), options_(options) {
    time_ = *columns_.find({"timestamp"});
    identity_ = columns_.find({"uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "index"});
    index_ = columns_.find({"index"});
    name_ = columns_.find({"name", "gpu_name"});
    driver_ = columns_.find({"driver_version"});
  }

  // False: not a line of the table (nvidia-smi prints its errors among them).
  bool take(std::string_view line) {
    const auto cells = split_cells(line, ',');
    if (cells.size() != columns_.count) return false;
    const auto at = parse_wall_time(cells[time_], options_.utc_offset);
    if (!at) return false;
    Card& card = card_of(cells);
    LoggedLine row{*at, {}};
    for (std::size_t i = 0; i < card.columns.size(); ++i)
      row.values.push_back(value_in(cells[card.columns[i]], card.device.channels[i].unit, card.scales[i]));
    add_line(card.device, std::move(row), went_back_);
    return true;
  }

  ImportedLog finish() {
    ImportedLog log;
    log.format = "nvidia-smi CSV";
    for (const std::string& key : order_) {
      Card& card = cards_.at(key);
      if (card.gpu.architecture == 0) log.notes.push_back("sensor-unknown: " + card.device.name);
      if (correct_window(card.device, card.gpu)) log.notes.push_back("sensor-window-from-readings: " + card.device.name);
      log.devices.push_back(std::move(card.device));
    }
    if (!identity_) log.notes.emplace_back("gpu-unnamed");
    note_clock(log, went_back_);
    return log;
  }

 private:
  Card& card_of(const std::vector<std::string>& cells) {
    const std::string key = identity_ ? cells[*identity_] : "";
    if (const auto found = cards_.find(key); found != cards_.end()) return found->second;
    Card card;
    const std::string said = name_ ? cells[*name_] : options_.gpu;
    card.gpu = gpu_generation(said);
    card.gpu.driver = driver_ ? driver_major(cells[*driver_]) : options_.driver;
    const auto number = index_ ? parse_whole<unsigned>(cells[*index_]) : std::nullopt;
    const std::string component = fmt::format("node/gpu/{}", number ? *number : static_cast<unsigned>(order_.size()));
    card.device.kind = "nvidia-smi";
    card.device.name = key.empty() || number ? fmt::format("gpu {}", number.value_or(0)) : key;
    if (!said.empty()) card.device.name += " " + said;
    std::vector<SmiReading> readings;
    for (const auto& [reading, column] : columns_.readings) readings.push_back(reading);
    for (SmiChannel& channel : smi_channels(card.gpu, component, readings)) {
      card.columns.push_back(columns_.readings.at(channel.reading));
      card.scales.push_back(channel.scale);
      card.device.channels.push_back(std::move(channel.channel));
    }
    order_.push_back(key);
    return cards_.emplace(key, std::move(card)).first->second;
  }

  Columns columns_;
  const ImportOptions& options_;
  std::size_t time_ = 0;
  std::optional<std::size_t> identity_, index_, name_, driver_;
  std::map<std::string, Card> cards_;
  std::vector<std::string> order_;
  std::size_t went_back_ = 0;
};

std::string_view first_line(std::string_view text) { return next_line(text); }

}  // namespace

bool looks_like_nvidia_smi_csv(std::string_view text) {
  const std::string_view header = first_line(text);
  if (header.size() > 65536) return false;
  const Columns columns = columns_of(header);
  return columns.find({"timestamp"}) && (columns.find({"power.draw", "power.draw.average", "power.draw.instant"}) ||
                                         header.find("utilization.gpu") != std::string_view::npos);
}

Result<ImportedLog> read_nvidia_smi_csv(std::string_view text, const ImportOptions& options) {
  Columns columns = columns_of(next_line(text));
  if (!columns.find({"timestamp"}))
    return fail(ErrorCode::format, "the log has no times", "line 1", "log with --query-gpu=timestamp,uuid,name,power.draw");
  if (!columns.find({"power.draw", "power.draw.average", "power.draw.instant"}))
    return fail(ErrorCode::format, "the log has no power", "line 1", "log with --query-gpu=timestamp,uuid,name,power.draw");
  Reader reader(std::move(columns), options);
  std::size_t number = 1, refused = 0, first_refused = 0, taken = 0;
  while (!text.empty()) {
    ++number;
    const std::string_view line = cell_text(next_line(text));
    if (line.empty() || line.starts_with("timestamp")) continue;  // a log that was gone on with repeats its header
    if (reader.take(line))
      ++taken;
    else if (refused++ == 0)
      first_refused = number;
  }
  if (taken == 0)
    return fail(ErrorCode::format, "no line of the log is a reading", fmt::format("line {}", refused ? first_refused : number), "");
  ImportedLog log = reader.finish();
  if (refused > 0) log.notes.push_back(fmt::format("lines-left-out: {}, the first is line {}", refused, first_refused));
  return log;
}

}  // namespace joulery
