#include "record/import/ptdaemon.h"

#include <fmt/format.h>

#include "record/import/cells.h"
#include "record/import/wall_clock.h"
#include "sense/parse_number.h"

namespace joulery {
namespace {

// The analysers that SPEC accepts are certain to 1 %; a sample above that is an error of the run.
constexpr Accuracy accuracy{.relative = 0.01, .absolute = Power()};

Channel channel_of(const std::string& component) {
  Channel channel;
  channel.component = Component(component.empty() ? "wall" : component);
  channel.name = "power";
  channel.measurand = Measurand::power;
  channel.behaviour = Behaviour::gauge;
  channel.unit = 1e-3;
  channel.update_period = seconds(1);
  channel.accuracy = accuracy;
  return channel;
}

// The cell after the one named, the first time it stands there: later ones are the meter's channels, the first is their sum.
std::string_view after(const std::vector<std::string>& cells, std::string_view name) {
  for (std::size_t i = 0; i + 1 < cells.size(); i += 2)
    if (cells[i] == name) return cells[i + 1];
  return {};
}

}  // namespace

bool looks_like_ptdaemon(std::string_view text) {
  const std::string_view line = next_line(text);
  return line.starts_with("Time,") && line.find(",Watts,") != std::string_view::npos;
}

Result<ImportedLog> read_ptdaemon(std::string_view text, const ImportOptions& options) {
  ImportedLog log;
  log.format = "SPEC PTDaemon";
  LoggedDevice device{"ptdaemon", "power analyser", {channel_of(options.component)}, {}};
  std::size_t went_back = 0, number = 0;
  while (!text.empty()) {
    ++number;
    const std::string_view line = cell_text(next_line(text));
    if (line.empty()) continue;
    const auto cells = split_cells(line, ',');
    const auto at = parse_wall_time(after(cells, "Time"), options.utc_offset);
    if (!at) return fail(ErrorCode::format, "no sample of PTDaemon", fmt::format("line {}", number), "");
    LoggedValue watts = value_in(after(cells, "Watts"), device.channels[0].unit);
    if (watts.reason == MissingReason::none && watts.raw == 0) watts = {0, MissingReason::rubbish};
    add_line(device, {*at, {watts}}, went_back);
  }
  log.devices.push_back(std::move(device));
  note_clock(log, went_back);
  return log;
}

}  // namespace joulery
