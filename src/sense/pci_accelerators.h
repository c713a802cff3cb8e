// Accelerators as the PCI bus shows them. One numbering serves every way to the same card: the vendor's library and the
// kernel's hwmon chip both name a PCI address, and the address says which accelerator of its vendor it is, so that two
// ways to one card are two sources of one component and never two cards.
//
// Invariant: cards are numbered in the order of their addresses; a card keeps its number while the bus stays as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/component.h"
#include "sense/machine.h"

namespace joulery {

struct PciVendor {
  std::string_view id;    // as sysfs writes it: "0x1002"
  std::string_view name;  // "amd": its cards are node/gpu/amd-0, node/gpu/amd-1, ...
};
inline constexpr PciVendor amd_pci{"0x1002", "amd"}, intel_pci{"0x8086", "intel"}, habana_pci{"0x1da3", "gaudi"},
    google_pci{"0x1ae0", "tpu"};

struct PciCard {
  std::string address;  // "0000:c1:00.0"
  std::string device;   // "0x740c"
};

// The vendor's display controllers (class 0x03) and processing accelerators (class 0x12).
std::vector<PciCard> pci_cards(const Machine& machine, const PciVendor& vendor);

// "0000:c1:00.0".
std::string pci_address(std::uint64_t domain, unsigned bus, unsigned device, unsigned function);

// node/gpu/amd-1 for the card at this address; nothing where the bus does not show it.
std::optional<Component> card_component(const std::vector<PciCard>& cards, const PciVendor& vendor, std::string_view address);

// The PCI address of the device that a folder of sysfs belongs to (its device/uevent names it); "" where it has none.
std::string pci_address_of(const Machine& machine, std::string_view folder);

}  // namespace joulery
