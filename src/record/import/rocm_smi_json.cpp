#include "record/import/rocm_smi_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "record/import/cells.h"
#include "record/import/snapshots.h"
#include "sense/parse_number.h"

namespace joulery {
namespace {

using Json = nlohmann::json;

struct Field {
  std::initializer_list<const char*> names;  // as versions call it
  const char* channel;
  Measurand measurand;
  Behaviour behaviour;
  double unit, scale;
};
const Field fields[] = {
    {{"Accumulated Energy (uJ)"}, "energy", Measurand::energy, Behaviour::counter, 1e-6, 1e-6},
    {{"Average Graphics Package Power (W)", "Current Socket Graphics Package Power (W)"},
     "power",
     Measurand::power,
     Behaviour::gauge,
     1e-3,
     1},
    {{"GPU use (%)"}, "utilisation", Measurand::utilisation, Behaviour::gauge, 1e-2, 1e-2},
    {{"VRAM Total Used Memory (B)"}, "memory", Measurand::memory, Behaviour::gauge, 1, 1},
};

// The driver's own average and refresh are not documented: an instant, with a data sheet's usual error.
constexpr Accuracy accuracy{.relative = 0.05, .absolute = watts(3)};

// The text of a field, "" where the card has none. Values are strings; some versions write numbers.
std::string text_of(const Json& card, const Field& field) {
  for (const char* name : field.names) {
    const auto found = card.find(name);
    if (found == card.end()) continue;
    return found->is_string() ? found->get<std::string>() : found->is_number() ? found->dump() : std::string();
  }
  return {};
}

bool has(const Json& card, const Field& field) {
  return std::ranges::any_of(field.names, [&](const char* name) { return card.contains(name); });
}

// The objects of a text that holds several one after the other; empty where one is damaged.
std::vector<Json> objects_in(std::string_view text) {
  std::vector<Json> objects;
  std::size_t begin = 0;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      if (depth++ == 0) begin = i;
    } else if (c == '}' && depth > 0 && --depth == 0) {
      Json object = Json::parse(text.substr(begin, i + 1 - begin), nullptr, false);
      if (object.is_discarded()) return {};
      objects.push_back(std::move(object));
    }
  }
  return depth == 0 ? std::move(objects) : std::vector<Json>();
}

LoggedDevice device_of(const std::string& name, const Json& card) {
  LoggedDevice device{"rocm-smi", name, {}, {}};
  if (const auto id = card.find("Unique ID"); id != card.end() && id->is_string()) device.name += " " + id->get<std::string>();
  for (const Field& field : fields) {
    if (!has(card, field)) continue;
    Channel channel;
    channel.component = Component("node/gpu/" + name.substr(4));
    channel.name = field.channel;
    channel.measurand = field.measurand;
    channel.behaviour = field.behaviour;
    channel.unit = field.unit;
    if (field.measurand == Measurand::energy || field.measurand == Measurand::power) channel.accuracy = accuracy;
    device.channels.push_back(std::move(channel));
  }
  return device;
}

std::vector<LoggedValue> values_of(const LoggedDevice& device, const Json& card) {
  std::vector<LoggedValue> values;
  for (const Channel& channel : device.channels) {
    const Field& field = *std::ranges::find_if(fields, [&](const Field& f) { return channel.name == f.channel; });
    values.push_back(value_in(text_of(card, field), field.unit, field.scale));
  }
  return values;
}

bool is_card(std::string_view name) { return name.starts_with("card") && parse_whole<unsigned>(name.substr(4)).has_value(); }

}  // namespace

bool looks_like_rocm_smi_json(std::string_view text) {
  text = cell_text(text.substr(0, 65536));
  return text.starts_with('{') && text.find("\"card") != std::string_view::npos;
}

Result<ImportedLog> read_rocm_smi_json(std::string_view text, const ImportOptions& options) {
  const auto snapshots = objects_in(text);
  if (snapshots.empty())
    return fail(ErrorCode::format, "the JSON is damaged", "", "log with rocm-smi --showpower --showenergycounter --json");
  ImportedLog log;
  log.format = "rocm-smi JSON";
  std::map<std::string, LoggedDevice> cards;
  for (std::size_t i = 0; i < snapshots.size(); ++i) {
    const auto at = assumed_time(i, snapshots.size(), options);
    if (!at) return std::unexpected(at.error());
    for (const auto& [name, card] : snapshots[i].items()) {
      if (!is_card(name) || !card.is_object()) continue;
      LoggedDevice& device = cards.try_emplace(name, device_of(name, card)).first->second;
      device.lines.push_back({*at, values_of(device, card)});
    }
  }
  for (auto& [name, device] : cards)
    if (!device.channels.empty()) log.devices.push_back(std::move(device));
  if (text.find("(Secondary die)") != std::string_view::npos) log.notes.emplace_back("covered-by-sibling");
  note_assumed_times(log, options);
  return log;
}

}  // namespace joulery
