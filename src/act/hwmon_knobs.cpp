#include "act/hwmon_knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "sense/hwmon/hwmon_places.h"
#include "sense/hwmon/hwmon_rails.h"
#include "sense/parse_number.h"

namespace joulery {
namespace {

constexpr std::string_view kind = "hwmon";

// What limits, by driver. Sources: Documentation/ABI/testing/sysfs-class-hwmon, -intel-i915-hwmon and -intel-xe-hwmon, and
// Documentation/gpu/amdgpu of Linux. "" fits any driver; the first row that fits counts.
struct Item {
  std::string_view driver, item, least, most, standard;
};
constexpr Item items[] = {
    {"i915", "max", "", "rated_max", ""},
    {"xe", "max", "", "rated_max", ""},
    {"", "cap", "cap_min", "cap_max", "cap_default"},
};

class HwmonKnob final : public PowerKnob {
 public:
  HwmonKnob(KnobFacts facts, KnobFile limit) : facts_(std::move(facts)), limit_(std::move(limit)) {}
  const KnobFacts& facts() const override { return facts_; }
  Result<KnobState> read() override {
    const auto limit = limit_.read();
    if (!limit) return std::unexpected(limit.error());
    return KnobState{*limit, std::nullopt};
  }
  Result<void> write(const KnobState& state) override { return limit_.write(state.limit_uw); }
  std::optional<Error> obstacle() const override { return limit_.obstacle(); }

 private:
  KnobFacts facts_;
  KnobFile limit_;
};

std::optional<std::int64_t> told(const Machine& machine, const std::string& path, std::string_view item) {
  if (item.empty()) return std::nullopt;
  const auto value = machine.read_integer(path + std::string(item));
  return value && *value > 0 ? std::optional(*value) : std::nullopt;
}

// What the sensor is called: its label, else its number's name ("power1").
std::string name_of(const Machine& machine, const std::string& path, const std::string& sensor) {
  const std::string label = machine.read_or_empty(path + "label", 64);
  return label.empty() ? sensor : label;
}

bool has_usual(const PowerKnobs& knobs, const Component& component) {
  return std::ranges::any_of(knobs, [&](const auto& knob) { return knob->facts().usual && knob->facts().component == component; });
}

void add_sensor(const Machine& machine, const HwmonChip& chip, const Item& item, const std::string& sensor, KnobFile::Access access,
                PowerKnobs& knobs) {
  const std::string path = chip.folder + "/" + sensor + "_";
  const std::string name = name_of(machine, path, sensor);
  KnobFacts facts;
  facts.id = fmt::format("{}/{}/{}_{}", kind, chip.name, sensor, item.item);
  facts.kind = kind;
  facts.component = hwmon_place(chip.driver, chip.index, name, -1, chip.card).component;
  facts.name = fmt::format("{}_{}", sensor, item.item);
  facts.usual = !has_usual(knobs, facts.component);
  facts.least_uw = told(machine, path, item.least);
  facts.most_uw = told(machine, path, item.most);
  facts.standard_uw = told(machine, path, item.standard);
  knobs.push_back(std::make_unique<HwmonKnob>(std::move(facts), KnobFile(machine.path(path + std::string(item.item)), access)));
}

}  // namespace

void add_hwmon_knobs(const Machine& machine, KnobFile::Access access, PowerKnobs& knobs) {
  for (const HwmonChip& chip : read_hwmon_chips(machine)) {
    const Item& item = *std::ranges::find_if(items, [&](const Item& one) { return one.driver.empty() || one.driver == chip.driver; });
    const std::string end = "_" + std::string(item.item);
    for (const std::string& file : machine.list(chip.folder)) {
      const std::string_view sensor = std::string_view(file).substr(0, file.size() - std::min(file.size(), end.size()));
      if (file.ends_with(end) && sensor.starts_with("power") && parse_whole<int>(sensor.substr(5)))
        add_sensor(machine, chip, item, std::string(sensor), access, knobs);
    }
  }
}

}  // namespace joulery
