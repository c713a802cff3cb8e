#include "sense/hwmon/hwmon_places.h"

#include "sense/component_name.h"
#include "sense/parse_number.h"

namespace joulery {
namespace {

// Patterns of the component: %g the card that the chip sits on (driver and index where that is not known), %i the chip's
// index, %n the number at the label's end, %p the package of that core, %l the label. `label` "" fits any; one that ends in
// '*' fits its beginning.
struct Rule {
  std::string_view driver, label, component;
  Scope scope;
  double relative_error;
};

// Sources: Documentation/hwmon of Linux for amdgpu, amd_energy, acpi_power_meter, fam15h_power, ina3221, xe, i915;
// NVIDIA's carrier boards name a module's total input VDD_IN or POM_5V_IN, of which the other rails are parts; its guide to Grace
// names the meters of a socket.
// Errors: ina3221 is a shunt of 1 % with a 13-bit converter; graphics cards estimate, like NVIDIA's within a few per cent.
constexpr Rule rules[] = {
    {"amdgpu", "", "%g", Scope::component, 0.10},
    {"nouveau", "", "node/gpu/nouveau-%i", Scope::component, 0.10},
    {"i915", "", "%g", Scope::component, 0.10},
    {"xe", "pkg", "%g/pkg", Scope::component, 0.10},
    {"xe", "", "%g", Scope::component, 0.10},
    {"amd_energy", "Esocket*", "node/cpu/package-%n", Scope::component, 0.05},
    {"amd_energy", "Ecore*", "node/cpu/package-%p/core/cpu-%n", Scope::component, 0.05},
    {"fam15h_power", "", "node/cpu/package-%i", Scope::component, 0.10},
    // NVIDIA Grace: one meter for each part. A socket's "Grace" holds its CPU rail and its I/O (and its memory); "Module" holds
    // the GPU too.
    {"power_meter", "Module Power*", "node/platform/%l", Scope::platform, 0.05},
    {"power_meter", "Grace Power Socket*", "node/cpu/package-%n", Scope::component, 0.05},
    {"power_meter", "CPU Power Socket*", "node/cpu/package-%n/core", Scope::component, 0.05},
    {"power_meter", "SysIO Power Socket*", "node/cpu/package-%n/sysio", Scope::component, 0.05},
    {"power_meter", "", "node", Scope::component, 0.05},
    {"ina3221", "VDD_IN", "node/board", Scope::component, 0.03},
    {"ina3221", "POM_5V_IN", "node/board", Scope::component, 0.03},
    {"ina3221", "power*", "node/board/ina3221-%i-%l", Scope::platform, 0.03},  // unlabelled: may be a part of any other
    {"ina3221", "", "node/board/%l", Scope::component, 0.03},
};

bool fits(const Rule& rule, std::string_view driver, std::string_view label) {
  if (rule.driver != driver) return false;
  if (rule.label.ends_with('*')) return label.starts_with(rule.label.substr(0, rule.label.size() - 1));
  return rule.label.empty() || rule.label == label;
}

std::string fill_in(std::string_view pattern, std::size_t index, std::string_view label, int package_of_core, const std::string& card) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      path += pattern[i];
      continue;
    }
    switch (pattern[++i]) {
      case 'g': path += card; break;
      case 'i': path += std::to_string(index); break;
      case 'n': path += std::to_string(trailing_number(label)); break;
      case 'p': path += std::to_string(package_of_core < 0 ? 0 : package_of_core); break;
      default: path += component_part(label);
    }
  }
  return path;
}

}  // namespace

int trailing_number(std::string_view label) {
  const std::size_t last = label.find_last_not_of("0123456789");
  return parse_whole<int>(label.substr(last == std::string_view::npos ? 0 : last + 1)).value_or(-1);
}

HwmonPlace hwmon_place(std::string_view driver, std::size_t index, std::string_view label, int package_of_core, const std::string& card) {
  const std::string known = card.empty() ? "node/gpu/" + component_part(driver) + "-" + std::to_string(index) : card;
  for (const Rule& rule : rules)
    if (fits(rule, driver, label) && (index == 0 || rule.component != "node"))  // there is one whole node
      return {Component(fill_in(rule.component, index, label, package_of_core, known)), rule.scope, rule.relative_error};
  const std::string chip = component_part(driver) + (index == 0 ? "" : "-" + std::to_string(index));
  return {Component("node/board/" + chip + "-" + component_part(label)), Scope::platform, 0.10};
}

}  // namespace joulery
