#include "sense/amd/amd_cards.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "core/units.h"
#include "sense/accelerator_channels.h"
#include "sense/obstacles.h"
#include "sense/pci_accelerators.h"

namespace joulery {
namespace {

constexpr Duration check_length = milliseconds(200), check_step = milliseconds(10);
// A working accumulator agrees with the sampled power within a few per cent; power may move while it is sampled.
constexpr double least_ratio = 0.5, greatest_ratio = 2.0;
constexpr double least_watts_to_judge = 1.0;
constexpr double over_cap = 2.0;

constexpr Advice no_energy{"this GPU reports neither energy nor power", ""};
constexpr Advice not_on_bus{"not a card of its own on the PCI bus, as a partition of one: its card has the energy", ""};

// Boards with two dies, each a GPU of its own on the bus: MI250X and MI250 (device numbers as in libdrm's table).
bool has_two_dies(const PciCard& card) { return card.device == "0x7408" || card.device == "0x740c"; }

// --- The check of the accumulators -----------------------------------------------------------------------------------

struct Check {
  std::optional<AmdEnergy> first, last;
  Interval first_read, last_read;  // the count was taken somewhere within
  double watts_sum = 0;
  int samples = 0;
  double watts() const { return samples > 0 ? watts_sum / samples : 0; }
};

std::optional<AmdEnergy> energy_now(const AmdCard& card, Interval& when) {
  when.begin = mono_now();
  const auto energy = card.energy();
  when.end = mono_now();
  return energy ? std::optional(*energy) : std::nullopt;
}

void sample_power(const AmdCard& card, Check& check) {
  const auto power = card.power();
  if (!power) return;
  check.watts_sum += static_cast<double>(*power) * card.power_unit;
  ++check.samples;
}

// All cards side by side, so that eight take no longer than one.
std::vector<Check> check_all(const std::vector<AmdCard>& cards) {
  std::vector<Check> checks(cards.size());
  bool any = false;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    checks[i].first = energy_now(cards[i], checks[i].first_read);
    sample_power(cards[i], checks[i]);
    any = any || (checks[i].first && checks[i].samples > 0);
  }
  if (!any) return checks;
  const timespec step{0, check_step.base_units()};
  for (const MonoTime until = mono_now() + check_length; mono_now() < until;) {
    ::nanosleep(&step, nullptr);
    for (std::size_t i = 0; i < cards.size(); ++i) sample_power(cards[i], checks[i]);
  }
  for (std::size_t i = 0; i < cards.size(); ++i) checks[i].last = energy_now(cards[i], checks[i].last_read);
  return checks;
}

// What is wrong with the accumulator; "" where nothing is, or where nothing can be said.
std::string fault_of(const Check& check) {
  if (!check.first || !check.last) return {};
  if (check.last->count < check.first->count) return "its energy counter ran backward";
  if (check.watts() < least_watts_to_judge) return {};
  const double counted = static_cast<double>(check.last->count - check.first->count) * check.first->unit;
  if (counted == 0) return fmt::format("its energy counter stands still at {}", to_text(watts(check.watts())));
  // A thread that is held up at a read makes the time between the two uncertain: only what no such delay explains is a fault.
  const double least = counted / (check.watts() * to_seconds(check.last_read.end - check.first_read.begin));
  const double most = counted / (check.watts() * to_seconds(check.last_read.begin - check.first_read.end));
  if (most >= least_ratio && least <= greatest_ratio) return {};
  return fmt::format("its energy counter runs at {:.2g} times its power", least);
}

// --- Channels --------------------------------------------------------------------------------------------------------

// Neither power nor energy, or zero of both: what the odd die of two says.
bool is_silent(const AmdCard& card, const Check& check) {
  const auto power = card.power();
  return (!power || *power == 0) && (!check.first || check.first->count == 0);
}

ReadFunction energy_reader(const AmdCard& card, double unit) {
  return [read = card.energy, unit]() -> std::expected<std::int64_t, MissingReason> {
    const auto energy = read();
    if (!energy) return std::unexpected(energy.error());
    if (energy->unit != unit) return std::unexpected(MissingReason::rubbish);
    return static_cast<std::int64_t>(energy->count);
  };
}

class Builder {
 public:
  Builder(const Machine& machine, std::string_view kind) : bus_(pci_cards(machine, amd_pci)), kind_(kind) {}

  void add(const AmdCard& card, const Check& check) {
    const auto component = card_component(bus_, amd_pci, card.address);
    if (!component || !seen_.insert(*component).second)
      return discovery_.findings.push_back(blocked_finding(kind_, name(card), not_on_bus, card.address));
    const std::string prefix = std::string(component->leaf()) + " ";
    const bool silent = is_silent(card, check);
    const bool covered = silent && is_sibling_of_last(*component);
    if (!silent) last_burning_ = component;
    add_load(card, *component, prefix);
    Finding finding = silent ? silent_finding(card, covered) : readable_finding(kind_, name(card));
    if (!silent) finding.reason = add_energy(card, check, *component, prefix);
    discovery_.findings.push_back(std::move(finding));
  }

  Discovery finish() {
    if (!meter_->channels().empty()) discovery_.devices.push_back({std::string(kind_), "AMD GPUs", true, std::move(meter_)});
    return std::move(discovery_);
  }

 private:
  static std::string name(const AmdCard& card) { return card.name.empty() ? card.address : card.address + " " + card.name; }

  const PciCard& on_bus(const Component& component) const {
    return bus_[static_cast<std::size_t>(std::stoi(std::string(component.leaf().substr(amd_pci.name.size() + 1))))];
  }

  bool is_sibling_of_last(const Component& component) const {
    if (!last_burning_) return false;
    const PciCard &one = on_bus(*last_burning_), &other = on_bus(component);
    return has_two_dies(one) && one.device == other.device && &other - &one == 1;
  }

  Finding silent_finding(const AmdCard& card, bool covered) const {
    if (!covered) return blocked_finding(kind_, name(card), no_energy);
    Finding finding = readable_finding(kind_, name(card));
    finding.reason = "covered by sibling: " + on_bus(*last_burning_).address + " tells the energy of both dies of this board";
    return finding;
  }

  void add_load(const AmdCard& card, const Component& component, const std::string& prefix) {
    if (card.utilisation && card.utilisation())
      meter_->add(accelerator_channel(component, prefix + "utilisation", Measurand::utilisation, Behaviour::gauge, 1e-2), card.utilisation);
    if (card.memory_used && card.memory_used())
      meter_->add(accelerator_channel(component, prefix + "memory", Measurand::memory, Behaviour::gauge, 1), card.memory_used);
    if (card.memory_total && card.memory_total())
      meter_->add(accelerator_channel(component, prefix + "memory_total", Measurand::memory, Behaviour::constant, 1), card.memory_total);
  }

  // Why the accumulator is not used; "" where it is.
  std::string add_energy(const AmdCard& card, const Check& check, const Component& component, const std::string& prefix) {
    const Power most = to_watts(card.cap) > 0 ? watts(to_watts(card.cap) * over_cap) : most_accelerator_power;
    const std::string fault = fault_of(check);
    if (check.first && fault.empty()) {
      Channel energy = accelerator_energy(component, prefix + "energy", check.first->unit, most);
      energy.update_period = milliseconds(1);  // the driver keeps what it read for a millisecond
      energy.always_burns = true;
      meter_->add(std::move(energy), energy_reader(card, check.first->unit));
    }
    if (check.samples > 0) {
      Channel power = accelerator_power(component, prefix + "power", card.power_unit, most);
      power.update_period = milliseconds(1);
      meter_->add(std::move(power), card.power);
    }
    return fault.empty() ? std::string() : fault + ": its power is integrated instead";
  }

  std::vector<PciCard> bus_;
  std::string_view kind_;
  std::set<Component> seen_;
  std::optional<Component> last_burning_;
  std::unique_ptr<FunctionMeter> meter_ = std::make_unique<FunctionMeter>();
  Discovery discovery_;
};

}  // namespace

double amd_resolution(float microjoules) {
  char text[32];
  const auto written = std::to_chars(text, text + sizeof text, microjoules);
  double value = 0;
  std::from_chars(text, written.ptr, value);
  return value * 1e-6;
}

Discovery amd_discovery(const Machine& machine, std::string_view kind, std::vector<AmdCard> cards) {
  std::ranges::stable_sort(cards, {}, &AmdCard::address);
  const std::vector<Check> checks = check_all(cards);
  Builder builder(machine, kind);
  for (std::size_t i = 0; i < cards.size(); ++i) builder.add(cards[i], checks[i]);
  return builder.finish();
}

}  // namespace joulery
