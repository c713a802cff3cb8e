#include "sense/second_ways.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/units.h"

namespace joulery {
namespace {

constexpr Duration window = milliseconds(50);
// Over 50 ms two ways to one register differ by the millisecond of its refresh at either end, 4 %.
constexpr double greatest_ratio = 1.2;
constexpr double least_watts_to_judge = 0.1;

bool burns(const Channel& channel) { return channel.measurand == Measurand::energy || channel.measurand == Measurand::power; }
bool counts_energy(const Channel& channel) { return channel.measurand == Measurand::energy && channel.behaviour == Behaviour::counter; }

struct Watts {
  double least = 0, most = 0;
};

// Mean power between two readings of a counter; nothing where it cannot be told. A thread that is held up at a read makes
// the time between the two uncertain.
std::optional<Watts> watts_between(const Channel& channel, const Reading& from, const Reading& to) {
  if (!from.ok() || !to.ok() || to.before <= from.after) return std::nullopt;
  auto counts = static_cast<std::uint64_t>(to.raw) - static_cast<std::uint64_t>(from.raw);
  const bool fell = static_cast<std::uint64_t>(to.raw) < static_cast<std::uint64_t>(from.raw);
  if (fell && channel.range == 0) return std::nullopt;
  if (fell) counts += channel.range + 1;
  const double joules = static_cast<double>(counts) * channel.unit;
  return Watts{joules / to_seconds(to.after - from.before), joules / to_seconds(to.before - from.after)};
}

bool exceeds(Watts one, Watts other) { return one.least >= least_watts_to_judge && one.least > other.most * greatest_ratio; }

// The findings that speak of this device or of one of its channels.
template <class Change>
void for_findings_of(const Device& device, std::vector<Finding>& findings, Change change) {
  const auto channels = device.meter->channels();
  for (Finding& finding : findings) {
    const bool its_own = finding.device == device.name || std::ranges::find(channels, finding.device, &Channel::name) != channels.end();
    if (finding.kind == device.kind && finding.readable && its_own) change(finding);
  }
}

}  // namespace

// The kind that measures all that this device could; "" where the device tells anything new.
std::string SecondWays::covering(const Device& device) const {
  std::string kind;
  for (const Channel& channel : device.meter->channels()) {
    const auto known = known_.find(channel.component);
    if (!burns(channel) || known == known_.end()) return {};
    kind = known->second.kind;
  }
  return kind;
}

void SecondWays::learn(Device& device) {
  if (device.slow) return;
  const std::vector<Reading> readings = read_once(*device.meter);
  const auto channels = device.meter->channels();
  for (std::size_t i = 0; i < channels.size(); ++i)
    if (burns(channels[i]) && readings[i].ok()) known_.emplace(channels[i].component, Source{device.kind, device.meter.get(), i});
}

// Pairs the device's counters with those that cover them, and reads each pair one right after the other.
std::vector<SecondWays::Counter> SecondWays::start(Device& device) const {
  std::vector<Counter> counters;
  const auto channels = device.meter->channels();
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const Source& first = known_.at(channels[i].component);
    if (!counts_energy(channels[i]) || !counts_energy(first.meter->channels()[first.channel])) continue;
    counters.push_back({first, {device.kind, device.meter.get(), i}, read_once(*first.meter)[first.channel], read_once(*device.meter)[i]});
  }
  return counters;
}

void SecondWays::take(Discovery& found) {
  for (Device& device : found.devices) {
    const std::string by = covering(device);
    if (by.empty()) continue;
    for_findings_of(device, found.findings, [&](Finding& finding) { finding.reason = "not used: " + by + " measures the same"; });
    auto counters = start(device);
    aside_.push_back({std::move(device), by, std::move(counters)});
  }
  std::erase_if(found.devices, [](const Device& device) { return device.meter == nullptr; });
  for (Device& device : found.devices) {
    std::set<Component>& slowly = taken_[{device.kind, device.name}];
    if (device.slow)
      for (const Channel& channel : device.meter->channels()) slowly.insert(channel.component);
    learn(device);
  }
}

bool SecondWays::is_needless(const Device& second_hand) const {
  const auto same = taken_.find({second_hand.kind, second_hand.name});
  if (same == taken_.end()) return !covering(second_hand).empty();
  return std::ranges::all_of(second_hand.meter->channels(), [&](const Channel& channel) {
    return !burns(channel) || known_.contains(channel.component) || same->second.contains(channel.component);
  });
}

void SecondWays::take_second_hand(Discovery& found) {
  for (const Device& device : found.devices)
    if (is_needless(device))
      std::erase_if(found.findings, [&](const Finding& f) { return f.kind == device.kind && f.device == device.name; });
  std::erase_if(found.devices, [this](const Device& device) { return is_needless(device); });
}

void SecondWays::settle(Discovery& all) {
  if (std::ranges::all_of(aside_, [](const Aside& aside) { return aside.counters.empty(); })) return;
  const timespec pause{0, window.base_units()};
  ::nanosleep(&pause, nullptr);
  for (Aside& aside : aside_) {
    std::string differs;
    for (const Counter& counter : aside.counters) {
      const Channel &one = counter.first.meter->channels()[counter.first.channel],
                    &other = counter.second.meter->channels()[counter.second.channel];
      const auto first = watts_between(one, counter.first_before, read_once(*counter.first.meter)[counter.first.channel]);
      const auto second = watts_between(other, counter.second_before, read_once(*counter.second.meter)[counter.second.channel]);
      if (first && second && (exceeds(*first, *second) || exceeds(*second, *first)))
        differs += fmt::format("{}{} {} there, {} here", differs.empty() ? "" : ", ", other.name, to_text(watts(first->least)),
                               to_text(watts(second->least)));
    }
    if (differs.empty()) continue;
    for_findings_of(aside.device, all.findings, [&](Finding& finding) {
      finding.reason = fmt::format("disagrees with {} ({}): both are recorded", aside.by, differs);
    });
    all.devices.push_back(std::move(aside.device));
  }
}

}  // namespace joulery
