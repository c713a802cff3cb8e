#include "act/powercap_knobs.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sense/rapl/powercap_zones.h"
#include "sense/rapl/rapl_domain.h"

namespace joulery {
namespace {

constexpr std::string_view kind = "rapl.powercap";
constexpr int most_constraints = 8;

class PowercapKnob final : public PowerKnob {
 public:
  PowercapKnob(KnobFacts facts, KnobFile limit, std::optional<KnobFile> enabled)
      : facts_(std::move(facts)), limit_(std::move(limit)), enabled_(std::move(enabled)) {}

  const KnobFacts& facts() const override { return facts_; }

  Result<KnobState> read() override {
    const auto limit = limit_.read();
    if (!limit) return std::unexpected(limit.error());
    if (!enabled_) return KnobState{*limit, std::nullopt};
    const auto enabled = enabled_->read();
    if (!enabled) return std::unexpected(enabled.error());
    return KnobState{*limit, *enabled != 0};
  }

  Result<void> write(const KnobState& state) override {
    const auto now = read();
    if (!now) return std::unexpected(now.error());
    if (now->limit_uw != state.limit_uw)
      if (auto written = limit_.write(state.limit_uw); !written) return written;
    if (!enabled_ || !state.enabled || now->enabled == state.enabled) return {};
    return enabled_->write(*state.enabled ? 1 : 0);
  }

  KnobState limited_to(std::int64_t microwatts) const override { return {microwatts, enabled_ ? std::optional(true) : std::nullopt}; }

  std::optional<Error> obstacle() const override {
    if (auto why = limit_.obstacle()) return why;
    return enabled_ ? enabled_->obstacle() : std::nullopt;
  }

 private:
  KnobFacts facts_;
  KnobFile limit_;
  std::optional<KnobFile> enabled_;
};

std::string_view package_above(const PowercapZone& zone, const std::vector<PowercapZone>& zones) {
  for (int at = zone.parent; at >= 0; at = zones[at].parent)
    if (zones[at].name.starts_with("package-")) return zones[at].name;
  return {};
}

// What is above 0; drivers write 0 where they do not know.
std::optional<std::int64_t> told(const Machine& machine, const std::string& path) {
  const auto value = machine.read_integer(path);
  return value && *value > 0 ? std::optional(*value) : std::nullopt;
}

// Of a zone's constraints the long-term one is meant where none is named; else its first.
int usual_of(const std::vector<std::string>& names) {
  const auto found = std::ranges::find(names, "long_term");
  return found == names.end() ? 0 : static_cast<int>(found - names.begin());
}

void add_zone(const Machine& machine, const PowercapZone& zone, const std::vector<PowercapZone>& zones, KnobFile::Access access,
              PowerKnobs& knobs) {
  std::vector<std::string> names, files;
  for (int n = 0; n < most_constraints; ++n) {
    const std::string file = zone.folder + "/constraint_" + std::to_string(n) + "_";
    if (!machine.exists(file + "power_limit_uw")) continue;
    const std::string name = machine.read_or_empty(file + "name", 64);
    names.push_back(name.empty() ? "constraint_" + std::to_string(n) : name);
    files.push_back(file);
  }
  const int usual = usual_of(names);
  for (int n = 0; n < static_cast<int>(names.size()); ++n) {
    KnobFacts facts;
    facts.id = std::string(kind) + "/" + zone.id + "/" + names[n];
    facts.kind = kind;
    facts.component = rapl_component(zone.name, package_above(zone, zones));
    facts.name = (zone.mirror ? "mmio." : "") + names[n];
    facts.usual = n == usual && !zone.mirror;
    facts.least_uw = told(machine, files[n] + "min_power_uw");
    facts.most_uw = told(machine, files[n] + "max_power_uw");
    facts.window_us = told(machine, files[n] + "time_window_us");
    std::optional<KnobFile> enabled;
    if (n == usual && machine.exists(zone.folder + "/enabled")) enabled.emplace(machine.path(zone.folder + "/enabled"), access);
    knobs.push_back(
        std::make_unique<PowercapKnob>(std::move(facts), KnobFile(machine.path(files[n] + "power_limit_uw"), access), std::move(enabled)));
  }
}

}  // namespace

void add_powercap_knobs(const Machine& machine, KnobFile::Access access, PowerKnobs& knobs) {
  const std::vector<PowercapZone> zones = read_powercap_zones(machine);
  for (const PowercapZone& zone : zones)
    if (!zone.name.empty()) add_zone(machine, zone, zones, access, knobs);
}

}  // namespace joulery
