#include "sense/host/machine_kind_reader.h"

#include <algorithm>
#include <string_view>

namespace joulery {
namespace {

// Boards that were never named by their makers.
constexpr std::string_view no_names[] = {"To Be Filled By O.E.M.", "System manufacturer", "System Product Name", "Default string",
                                         "Not Specified"};

std::string named(const Machine& machine, const char* field) {
  std::string text = machine.read_or_empty(path_below("/sys/class/dmi/id", field), 256);
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  if (std::ranges::find(no_names, text) != std::end(no_names)) text.clear();
  return text;
}

std::string both(const std::string& maker, const std::string& product) {
  return maker.empty() || product.empty() ? maker + product : maker + " " + product;
}

// The system's name; where its maker gave it none, the board's.
std::string board_of(const Machine& machine) {
  const std::string system = named(machine, "product_name");
  if (!system.empty()) return both(named(machine, "sys_vendor"), system);
  return both(named(machine, "board_vendor"), named(machine, "board_name"));
}

bool accelerates(std::string_view pci_class) {
  for (const std::string_view begin : {"0x0300", "0x0302", "0x0380", "0x12"})
    if (pci_class.starts_with(begin)) return true;
  return false;
}

// "0x10de" -> "10de".
std::string_view digits(std::string_view number) { return number.starts_with("0x") ? number.substr(2) : number; }

}  // namespace

MachineKind read_machine_kind(const Machine& machine) {
  MachineKind kind{board_of(machine), {}};
  const std::string all = "/sys/bus/pci/devices";
  for (const std::string& device : machine.list(all)) {
    const std::string folder = path_below(all, device);
    if (!accelerates(machine.read_or_empty(folder + "/class", 16))) continue;
    const std::string maker = machine.read_or_empty(folder + "/vendor", 16), model = machine.read_or_empty(folder + "/device", 16);
    kind.accelerators.push_back(std::string(digits(maker)) + ":" + std::string(digits(model)));
  }
  std::ranges::sort(kind.accelerators);
  return kind;
}

}  // namespace joulery
