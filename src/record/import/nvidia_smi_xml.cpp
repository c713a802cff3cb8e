#include "record/import/nvidia_smi_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "record/import/cells.h"
#include "record/import/nvidia_gpu.h"
#include "record/import/snapshots.h"
#include "record/import/wall_clock.h"

namespace joulery {
namespace {

// The elements of one document that have text, in order, as paths: "gpu/gpu_power_readings/power_draw".
struct Element {
  std::string path, text;
  std::size_t gpu = 0;  // which of the document's, from 1; 0 outside
};

constexpr std::size_t deepest = 16;

// nvidia-smi writes plain elements, one attribute (gpu id) and no entities that matter here. False: not well nested.
bool elements_of(std::string_view text, std::vector<Element>& out) {
  std::vector<std::string> open;
  std::size_t gpu = 0, at = 0;
  const auto path = [&] {
    std::string joined;
    for (std::size_t i = 1; i < open.size(); ++i) joined += (joined.empty() ? "" : "/") + open[i];
    return joined;
  };
  while ((at = text.find('<', at)) != std::string_view::npos) {
    const std::size_t end = text.find('>', at);
    if (end == std::string_view::npos) return false;
    const std::string_view tag = text.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.starts_with('?') || tag.starts_with('!') || tag.ends_with('/')) continue;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != cell_text(tag.substr(1))) return false;
      open.pop_back();
      continue;
    }
    if (open.size() == deepest) return false;
    open.emplace_back(tag.substr(0, tag.find_first_of(" \t\r\n")));
    if (open.size() == 2 && open.back() == "gpu") {
      ++gpu;
      const auto id = tag.find("id=\"");
      if (id != std::string_view::npos) out.push_back({"gpu/@id", std::string(tag.substr(id + 4, tag.find('"', id + 4) - id - 4)), gpu});
    }
    const std::string_view inner = cell_text(text.substr(at, text.find('<', at) - at));
    if (!inner.empty()) out.push_back({path(), std::string(inner), open.size() > 1 && open[1] == "gpu" ? gpu : 0});
  }
  return open.empty();
}

struct Place {
  std::string_view path;
  SmiReading reading;
};
// Older drivers' places first; the first that is there counts.
constexpr Place places[] = {
    {"gpu/power_readings/power_draw", SmiReading::draw},
    {"gpu/gpu_power_readings/power_draw", SmiReading::draw},
    {"gpu/gpu_power_readings/average_power_draw", SmiReading::average},
    {"gpu/gpu_power_readings/instant_power_draw", SmiReading::instant},
    {"gpu/module_power_readings/power_draw", SmiReading::module},
    {"gpu/module_power_readings/average_power_draw", SmiReading::module},
    {"gpu/utilization/gpu_util", SmiReading::utilisation},
    {"gpu/fb_memory_usage/used", SmiReading::memory},
    {"gpu/fb_memory_usage/total", SmiReading::memory_total},
    {"gpu/clocks/sm_clock", SmiReading::sm_clock},
};

// One GPU of one document.
struct Snapshot {
  std::map<std::string, std::string, std::less<>> text;  // by path
  std::string_view operator[](std::string_view path) const {
    const auto found = text.find(path);
    return found == text.end() ? std::string_view() : std::string_view(found->second);
  }
  std::string_view reading(SmiReading wanted) const {
    for (const Place& place : places)
      if (place.reading == wanted && text.contains(place.path)) return (*this)[place.path];
    return {};
  }
  std::vector<SmiReading> readings() const {
    std::vector<SmiReading> all;
    for (const Place& place : places) {
      if (!text.contains(place.path) || std::ranges::find(all, place.reading) != all.end()) continue;
      // A module's power is N/A on every card that is no module: then it is no channel.
      if (place.reading == SmiReading::module && !number_in((*this)[place.path])) continue;
      all.push_back(place.reading);
    }
    return all;
  }
};

struct Document {
  std::optional<WallTime> at;
  std::string driver;
  std::vector<Snapshot> gpus;
};

std::optional<Document> document_of(std::string_view text, Duration utc_offset) {
  std::vector<Element> elements;
  if (!elements_of(text, elements)) return std::nullopt;
  Document document;
  for (Element& element : elements) {
    if (element.path == "timestamp") document.at = parse_wall_time(element.text, utc_offset);
    if (element.path == "driver_version") document.driver = element.text;
    if (element.gpu == 0) continue;
    document.gpus.resize(std::max(document.gpus.size(), element.gpu));
    document.gpus[element.gpu - 1].text.try_emplace(std::move(element.path), std::move(element.text));
  }
  return document;
}

struct Card {
  LoggedDevice device;
  GpuGeneration gpu;
  std::vector<SmiChannel> channels;
};

Card card_of(const Snapshot& snapshot, const Document& document, std::size_t index, const ImportOptions& options) {
  Card card;
  const std::string name(snapshot["gpu/product_name"]), uuid(snapshot["gpu/uuid"]);
  card.gpu = gpu_generation(name);
  if (card.gpu.architecture == 0) card.gpu = gpu_generation(snapshot["gpu/product_architecture"]);
  if (card.gpu.architecture == 0) card.gpu = gpu_generation(options.gpu);
  card.gpu.driver = document.driver.empty() ? options.driver : driver_major(document.driver);
  card.channels = smi_channels(card.gpu, fmt::format("node/gpu/{}", index), snapshot.readings());
  card.device = {"nvidia-smi", uuid.empty() ? fmt::format("gpu {}", index) : uuid, {}, {}};
  if (!name.empty()) card.device.name += " " + name;
  for (const SmiChannel& channel : card.channels) card.device.channels.push_back(channel.channel);
  return card;
}

std::string key_of(const Snapshot& snapshot, std::size_t index) {
  for (const char* path : {"gpu/uuid", "gpu/@id"})
    if (const auto key = snapshot[path]; !key.empty()) return std::string(key);
  return std::to_string(index);
}

// The documents of a text that holds several one after the other.
Result<std::vector<Document>> documents_of(std::string_view text, Duration utc_offset) {
  constexpr std::string_view begin = "<nvidia_smi_log", end = "</nvidia_smi_log>";
  std::vector<Document> documents;
  for (std::size_t at = text.find(begin); at != std::string_view::npos; at = text.find(begin, at)) {
    std::size_t stop = text.find(end, at);
    const bool cut_off = stop == std::string_view::npos;
    if (cut_off && !documents.empty()) break;  // the last one was being written
    stop = cut_off ? text.size() : stop + end.size();
    auto document = document_of(text.substr(at, stop - at), utc_offset);
    if (!document) return fail(ErrorCode::format, "the XML is damaged", fmt::format("document {}", documents.size() + 1), "");
    documents.push_back(std::move(*document));
    at = stop;
  }
  if (documents.empty()) return fail(ErrorCode::format, "no document of nvidia-smi", "", "log with nvidia-smi -q -x -l 1");
  return documents;
}

}  // namespace

bool looks_like_nvidia_smi_xml(std::string_view text) { return text.substr(0, 4096).find("<nvidia_smi_log") != std::string_view::npos; }

Result<ImportedLog> read_nvidia_smi_xml(std::string_view text, const ImportOptions& options) {
  const auto documents = documents_of(text, options.utc_offset);
  if (!documents) return std::unexpected(documents.error());
  ImportedLog log;
  log.format = "nvidia-smi XML";
  const bool timed = std::ranges::all_of(*documents, [](const Document& d) { return d.at.has_value(); });
  std::map<std::string, Card> cards;
  std::vector<std::string> order;
  std::size_t went_back = 0;
  for (std::size_t i = 0; i < documents->size(); ++i) {
    const Document& document = (*documents)[i];
    const auto at = timed ? Result<WallTime>(*document.at) : assumed_time(i, documents->size(), options);
    if (!at) return std::unexpected(at.error());
    for (std::size_t g = 0; g < document.gpus.size(); ++g) {
      const std::string key = key_of(document.gpus[g], g);
      if (!cards.contains(key)) {
        cards.emplace(key, card_of(document.gpus[g], document, order.size(), options));
        order.push_back(key);
      }
      Card& card = cards.at(key);
      LoggedLine line{*at, {}};
      for (const SmiChannel& channel : card.channels)
        line.values.push_back(value_in(document.gpus[g].reading(channel.reading), channel.channel.unit, channel.scale));
      add_line(card.device, std::move(line), went_back);
    }
  }
  for (const std::string& key : order) {
    Card& card = cards.at(key);
    if (card.gpu.architecture == 0) log.notes.push_back("sensor-unknown: " + card.device.name);
    if (!card.device.channels.empty()) log.devices.push_back(std::move(card.device));
  }
  if (!timed) note_assumed_times(log, options);
  note_clock(log, went_back);
  return log;
}

}  // namespace joulery
