#include "sense/pci_accelerators.h"

#include <fmt/format.h>

#include <algorithm>

#include "sense/parse_number.h"

namespace joulery {

std::vector<PciCard> pci_cards(const Machine& machine, const PciVendor& vendor) {
  std::vector<PciCard> cards;
  const std::string devices = "/sys/bus/pci/devices";
  for (const std::string& address : machine.list(devices)) {
    const std::string folder = path_below(devices, address);
    if (machine.read_or_empty(folder + "/vendor") != vendor.id) continue;
    const std::string pci_class = machine.read_or_empty(folder + "/class");
    if (pci_class.starts_with("0x03") || pci_class.starts_with("0x12"))
      cards.push_back({address, machine.read_or_empty(folder + "/device")});
  }
  return cards;
}

std::string pci_address(std::uint64_t domain, unsigned bus, unsigned device, unsigned function) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, device, function);
}

std::optional<Component> card_component(const std::vector<PciCard>& cards, const PciVendor& vendor, std::string_view address) {
  const auto card = std::ranges::find(cards, address, &PciCard::address);
  if (card == cards.end()) return std::nullopt;
  return Component(fmt::format("node/gpu/{}-{}", vendor.name, card - cards.begin()));
}

std::string pci_address_of(const Machine& machine, std::string_view folder) {
  constexpr std::string_view key = "PCI_SLOT_NAME=";
  const std::string text = machine.read_or_empty(path_below(folder, "device/uevent"), 4096);
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = next_line(rest);
    if (line.starts_with(key)) return std::string(trim_end(line.substr(key.size())));
  }
  return {};
}

}  // namespace joulery
