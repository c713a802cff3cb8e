#include "sense/hwmon/hwmon_rails.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "sense/hwmon/hwmon_places.h"
#include "sense/parse_number.h"
#include "sense/pci_accelerators.h"

namespace joulery {
namespace {

constexpr double micro = 1e-6;  // hwmon counts power in microwatts, energy in microjoules

// "power12_average" -> {"power12", "average"}.
struct Attribute {
  std::string sensor, item;
};
std::optional<Attribute> attribute(std::string_view file, std::string_view prefix) {
  const std::size_t underscore = file.find('_');
  if (underscore == std::string_view::npos || !file.starts_with(prefix)) return std::nullopt;
  const std::string_view sensor = file.substr(0, underscore);
  if (!parse_whole<int>(sensor.substr(prefix.size()))) return std::nullopt;
  return Attribute{std::string(sensor), std::string(file.substr(underscore + 1))};
}

// The sensors of one chip: "power1" -> {"input", "label"}.
using Sensors = std::map<std::string, std::set<std::string>>;

Sensors sensors_of(const std::vector<std::string>& files, std::string_view prefix) {
  Sensors sensors;
  for (const std::string& file : files)
    if (const auto found = attribute(file, prefix)) sensors[found->sensor].insert(found->item);
  return sensors;
}

class ChipReader {
 public:
  ChipReader(const Machine& machine, std::string folder, std::string driver, std::size_t index)
      : machine_(machine), files_(machine.list(folder)), index_(index) {
    chip_.name = driver + (index == 0 ? "" : "-" + std::to_string(index));
    chip_.folder = std::move(folder);
    chip_.driver = std::move(driver);
    chip_.index = index;
    chip_.card = card_of_chip();
  }

  HwmonChip read() {
    add_direct("energy", Measurand::energy, Behaviour::counter);
    add_direct("power", Measurand::power, Behaviour::gauge);
    if (chip_.rails.empty() && chip_.disabled.empty()) add_products();
    return std::move(chip_);
  }

 private:
  std::string path(const std::string& sensor, std::string_view item) const { return chip_.folder + "/" + sensor + "_" + std::string(item); }

  std::string label(const std::string& sensor) const {
    for (const std::string_view item : {"label", "oem_info"}) {  // the second: what an ACPI power meter calls itself
      std::string text = machine_.read_or_empty(path(sensor, item), 64);
      if (!text.empty()) return text;
    }
    return sensor;
  }

  bool is_enabled(const std::string& sensor) const { return machine_.read_or_empty(path(sensor, "enable")) != "0"; }

  // The card that the vendor's own library knows by the same PCI address; "" where the chip sits on none.
  std::string card_of_chip() const {
    const bool intel = chip_.driver == "i915" || chip_.driver == "xe";
    if (!intel && chip_.driver != "amdgpu") return {};
    const PciVendor& vendor = intel ? intel_pci : amd_pci;
    const auto card = card_component(pci_cards(machine_, vendor), vendor, pci_address_of(machine_, chip_.folder));
    return card ? card->path() : std::string();
  }

  // amd_energy numbers its cores through all packages.
  int package_of_core(std::string_view text) const {
    const auto id =
        machine_.read_integer("/sys/devices/system/cpu/cpu" + std::to_string(trailing_number(text)) + "/topology/physical_package_id");
    return id ? static_cast<int>(*id) : -1;
  }

  Channel channel(const std::string& text, Measurand measurand, Behaviour behaviour) const {
    HwmonPlace place = hwmon_place(chip_.driver, index_, text, package_of_core(text), chip_.card);
    Channel made;
    made.component = std::move(place.component);
    made.name = text;
    made.measurand = measurand;
    made.behaviour = behaviour;
    made.unit = micro;
    made.scope = place.scope;
    made.accuracy.relative = place.relative_error;
    return made;
  }

  std::ptrdiff_t count(const auto& fits) const { return std::ranges::count_if(chip_.rails, fits); }

  // A second sensor of one quantity in one place may be a part of the first, or the same again: it is shown apart.
  void add(Channel made, std::string file, std::string current_file) {
    const std::string base = made.component.path();
    const auto same_place = count([&](const HwmonRail& r) {
      return r.channel.measurand == made.measurand &&
             (r.channel.component.path() == base || r.channel.component.path().starts_with(base + "+"));
    });
    const auto same_name =
        count([&](const HwmonRail& r) { return r.channel.name == made.name || r.channel.name.starts_with(made.name + " "); });
    if (same_place > 0) {
      made.component = Component(base + "+" + std::to_string(same_place));
      made.scope = Scope::platform;
    }
    if (same_name > 0) made.name += " " + std::to_string(same_name + 1);
    chip_.rails.push_back({std::move(made), std::move(file), std::move(current_file)});
  }

  // Sensors that give the quantity itself. An average over time serves an integral better than an instant does.
  void add_direct(std::string_view prefix, Measurand measurand, Behaviour behaviour) {
    for (const auto& [sensor, items] : sensors_of(files_, prefix)) {
      const bool averages = items.contains("average");
      if (!averages && !items.contains("input")) continue;
      const std::string text = label(sensor);
      if (!is_enabled(sensor)) {
        chip_.disabled.push_back(text);
        continue;
      }
      Channel made = channel(text, measurand, behaviour);
      if (averages) made.averaging_window = averaging_window(sensor);
      add(std::move(made), path(sensor, averages ? "average" : "input"), "");
    }
  }

  // powerN_average_interval is in milliseconds; drivers that keep it to themselves count as instants.
  Duration averaging_window(const std::string& sensor) const {
    const auto interval = machine_.read_integer(path(sensor, "average_interval"));
    return interval && *interval > 0 && *interval < 3'600'000 ? milliseconds(*interval) : Duration();
  }

  // Rails of which only voltage and current are told: the two belong together where they share a label or, unlabelled,
  // a number. (max20730 measures its input as in1 and its output as in2 and curr1.)
  void add_products() {
    const Sensors voltages = sensors_of(files_, "in"), currents = sensors_of(files_, "curr");
    for (const auto& [current, current_items] : currents) {
      const std::string text = label(current);
      const std::string voltage = voltage_for(current, text, voltages);
      if (voltage.empty() || text == "NC" || is_sum(current) || !current_items.contains("input")) continue;
      if (!is_enabled(current) || !is_enabled(voltage)) {
        chip_.disabled.push_back(text);
        continue;
      }
      const bool averages = current_items.contains("average") && voltages.at(voltage).contains("average");
      const std::string_view item = averages ? "average" : "input";
      add(channel(text == current ? "power" + current.substr(4) : text, Measurand::power, Behaviour::gauge), path(voltage, item),
          path(current, item));
    }
  }

  // The INA3221 has three rails; what is numbered beyond them are its shunts, and the sum of all of its currents.
  bool is_sum(std::string_view current) const { return chip_.driver == "ina3221" && parse_whole<int>(current.substr(4)).value_or(0) > 3; }

  std::string voltage_for(const std::string& current, const std::string& text, const Sensors& voltages) const {
    const std::string number = chip_.driver == "max20730" ? "2" : current.substr(4);
    for (const auto& [voltage, items] : voltages) {
      if (!items.contains("input")) continue;
      const bool labelled = items.contains("label");
      if (text != current && labelled ? label(voltage) == text : voltage == "in" + number) return voltage;
    }
    return {};
  }

  const Machine& machine_;
  std::vector<std::string> files_;
  std::size_t index_;
  HwmonChip chip_;
};

}  // namespace

std::vector<HwmonChip> read_hwmon_chips(const Machine& machine) {
  std::vector<HwmonChip> chips;
  std::map<std::string, std::size_t> seen;
  const std::string all = "/sys/class/hwmon";
  for (const std::string& entry : machine.list(all)) {
    const std::string folder = path_below(all, entry);
    std::string driver = machine.read_or_empty(folder + "/name");
    if (driver.empty()) driver = entry;
    const std::size_t index = seen[driver]++;
    chips.push_back(ChipReader(machine, folder, std::move(driver), index).read());
  }
  return chips;
}

}  // namespace joulery
