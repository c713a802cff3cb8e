#include "publish/flame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "publish/columns.h"
#include "publish/json_writer.h"
#include "publish/numbers.h"
#include "publish/utf8.h"

namespace joulery {
namespace {

std::string folded_name(std::string_view name) {
  std::string text = printable(name);
  std::ranges::replace(text, ';', ':');
  return text;
}

std::int64_t folded_weight(const Flame& flame, const FlameFrame& frame) {
  if (flame.has_energy) return frame.self.base_units();
  return to_whole(frame.self_weight * (flame.unit == "s" ? 1e6 : 1));
}

void fold(const Flame& flame, const FlameFrame& frame, std::string& path, std::string& out) {
  if (const std::int64_t weight = folded_weight(flame, frame); weight > 0 && !path.empty()) out += fmt::format("{} {}\n", path, weight);
  for (const auto& [name, child] : frame.children) {
    const std::size_t length = path.size();
    if (!path.empty()) path += ';';
    path += folded_name(name);
    fold(flame, child, path, out);
    path.resize(length);
  }
}

void write_frame(JsonWriter& json, const Flame& flame, std::string_view name, const FlameFrame& frame) {
  json.begin_object().key("name").text(name).key("kind").text(name_of(frame.kind));
  if (flame.has_energy) json.key("joules").energy(frame.energy).key("self_joules").energy(frame.self);
  json.key("weight").number(frame.weight).key("self_weight").number(frame.self_weight);
  json.key("children").begin_array();
  for (const auto& [child_name, child] : frame.children) write_frame(json, flame, child_name, child);
  json.end_array().end_object();
}

double share(const Flame& flame, Energy energy, double weight) {
  if (flame.has_energy) return flame.root.energy > Energy{} ? energy / flame.root.energy : 0;
  return flame.root.weight > 0 ? weight / flame.root.weight : 0;
}

std::string amount(const Flame& flame, Energy energy, double weight) {
  if (flame.has_energy) return to_text(energy);
  return flame.unit == "s" ? to_text(seconds(weight)) : grouped(to_whole(weight));
}

}  // namespace

std::string flame_text(const Flame& flame, const TextStyle& style, std::size_t most) {
  const std::vector<FlameFunction> functions = flame.functions();
  std::string out =
      fmt::format("{:>10} {:>7}  {:>10} {:>7}  {}\n", "self", "", "with calls", "", flame.has_energy ? "energy of" : "time of");
  const std::size_t shown = std::min(most, functions.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const FlameFunction& f = functions[i];
    const int room = std::max(10, style.width - 41);
    out += fmt::format("{} {:>7}  {} {:>7}  {}\n", padded(amount(flame, f.self, f.self_weight), 10, true),
                       percent(share(flame, f.self, f.self_weight)), padded(amount(flame, f.energy, f.weight), 10, true),
                       percent(share(flame, f.energy, f.weight)), clipped(printable(f.name, style.unicode), room, style.unicode));
  }
  if (shown < functions.size()) out += fmt::format("{:>40}{} more\n", "", functions.size() - shown);
  for (const std::string& note : flame.notes) {
    std::string front = "note: ";
    for (const std::string& line : wrapped(printable(note, style.unicode), std::max(20, style.width - 6))) {
      out += front + line + "\n";
      front = "      ";
    }
  }
  return out;
}

std::string flame_folded(const Flame& flame) {
  std::string out, path;
  fold(flame, flame.root, path, out);
  return out;
}

std::string flame_json(const Flame& flame) {
  JsonWriter json(0);
  json.begin_object().key("schema").text("joulery.flame/1").key("title").text(flame.title).key("unit").text(flame.unit);
  json.key("joules");
  if (flame.has_energy)
    json.energy(flame.root.energy);
  else
    json.null();
  json.key("functions").begin_array();
  for (const FlameFunction& f : flame.functions()) {
    json.begin_object().key("name").text(f.name).key("kind").text(name_of(f.kind));
    if (flame.has_energy) json.key("joules").energy(f.energy).key("self_joules").energy(f.self);
    json.key("weight").number(f.weight).key("self_weight").number(f.self_weight).end_object();
  }
  json.end_array().key("root");
  write_frame(json, flame, "all", flame.root);
  json.key("notes").begin_array();
  for (const std::string& note : flame.notes) json.text(note);
  json.end_array().end_object();
  return json.str() + "\n";
}

}  // namespace joulery
