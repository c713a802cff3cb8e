#include "sense/node/battery.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sense/live_file.h"
#include "sense/obstacles.h"
#include "sense/parse_number.h"

namespace joulery {
namespace {

constexpr std::string_view kind = "battery";
constexpr std::string_view folder = "/sys/class/power_supply";
// Linux, Documentation/ABI/testing/sysfs-class-power: microwatts, microamperes, microvolts, microwatt-hours, microampere-hours.
constexpr double micro = 1e-6, joules_per_microwatt_hour = 3600e-6;
constexpr Duration refresh = milliseconds(1000);
constexpr double relative_error = 0.05;  // fuel gauges promise a few per cent

constexpr Advice no_battery{"this machine has no battery", ""};
constexpr Advice on_mains{"not discharging: on mains a battery says nothing of what the machine burns",
                          "joulery run -- CMD  # with the charger unplugged: then the battery measures the whole machine"};
constexpr Advice no_sum{"one of several batteries tells no power: what all give together is not known", ""};
constexpr Advice no_power{"the battery tells neither power nor current nor energy", ""};

// Which files tell what the battery gives, best first.
enum class Source : std::uint8_t { power, current, energy, charge };

// A number that may be negative: some drivers count discharge as negative current.
std::expected<std::int64_t, MissingReason> read_signed(LiveFile& file, MonoTime now) {
  std::array<char, 32> buffer;
  const auto text = file.read(buffer, now);
  if (!text) return std::unexpected(text.error());
  const auto value = parse_whole<std::int64_t>(*text);
  if (!value) return std::unexpected(MissingReason::rubbish);
  return *value;
}

// |a| * |b| / 10^6, without overflow for anything that a battery can be: below 9e18 before the division.
std::expected<std::int64_t, MissingReason> product(std::int64_t a, std::int64_t b) {
  std::int64_t all = 0;
  if (__builtin_mul_overflow(a, b, &all) || all == INT64_MIN) return std::unexpected(MissingReason::rubbish);
  return std::abs(all) / 1'000'000;
}

// What one battery gives.
class Cell {
 public:
  // `first` and `second` are the files of `source`; energy and charge count down from `full`.
  Cell(Source source, std::string status, std::string first, std::string second, std::int64_t full)
      : source_(source), status_(std::move(status)), first_(std::move(first)), second_(std::move(second)), full_(full) {}

  bool counts() const { return source_ == Source::energy || source_ == Source::charge; }

  // Nothing while the battery is not being discharged.
  std::expected<std::optional<std::int64_t>, MissingReason> value(MonoTime now) {
    std::array<char, 32> buffer;
    const auto status = status_.read(buffer, now);
    if (!status) return std::unexpected(status.error());
    if (trim_end(*status) != "Discharging") return std::optional<std::int64_t>();
    const auto first = read_signed(first_, now);
    if (!first) return std::unexpected(first.error());
    if (source_ == Source::power) return std::abs(std::max(*first, -INT64_MAX));
    if (source_ == Source::energy) return used(*first);
    const auto second = read_signed(second_, now);
    if (!second) return std::unexpected(second.error());
    const auto all = product(*first, *second);
    if (!all) return std::unexpected(all.error());
    return source_ == Source::charge ? used(*all) : std::expected<std::optional<std::int64_t>, MissingReason>(*all);
  }

 private:
  std::expected<std::optional<std::int64_t>, MissingReason> used(std::int64_t left) const {
    if (left < 0 || left > full_) return std::unexpected(MissingReason::rubbish);
    return full_ - left;
  }

  Source source_;
  LiveFile status_, first_, second_;
  std::int64_t full_;
};

// All batteries of the machine together: they feed it by turns, or side by side.
class BatteryMeter final : public Meter {
 public:
  // Several cells must all tell power; a single one may count energy.
  explicit BatteryMeter(std::vector<Cell> cells) : cells_(std::move(cells)) {
    const bool counts = cells_.front().counts();
    channel_.component = Component("node");
    channel_.name = counts ? "energy" : "power";
    channel_.measurand = counts ? Measurand::energy : Measurand::power;
    channel_.behaviour = counts ? Behaviour::counter : Behaviour::gauge;
    channel_.unit = counts ? joules_per_microwatt_hour : micro;
    channel_.update_period = refresh;
    channel_.accuracy.relative = relative_error;
  }
  std::span<const Channel> channels() const override { return {&channel_, 1}; }
  void read(Sink& sink) override { report(sink, sum(sink.last())); }

 private:
  std::expected<std::int64_t, MissingReason> sum(MonoTime now) {
    std::int64_t sum = 0;
    bool any = false;
    for (Cell& cell : cells_) {
      const auto value = cell.value(now);
      if (!value) return std::unexpected(value.error());
      if (!*value) continue;
      any = true;
      if (__builtin_add_overflow(sum, **value, &sum)) return std::unexpected(MissingReason::rubbish);
    }
    if (!any) return std::unexpected(MissingReason::not_supported);
    return sum;
  }

  std::vector<Cell> cells_;
  Channel channel_;
};

class Battery {
 public:
  Battery(const Machine& machine, const std::string& name) : machine_(machine), path_(path_below(folder, name)) {}

  bool is_one() const { return text("type") == "Battery" && text("scope") != "Device" && text("present") != "0"; }
  bool discharges() const { return text("status") == "Discharging"; }

  std::optional<Cell> cell() const {
    if (has("power_now")) return make(Source::power, "power_now", "power_now", 0);
    if (has("current_now") && has("voltage_now")) return make(Source::current, "current_now", "voltage_now", 0);
    // A counter needs a place to count from that no later reading exceeds: twice what the battery can hold.
    if (const auto full = number("energy_full"); full && has("energy_now"))
      return make(Source::energy, "energy_now", "energy_now", 2 * *full);
    const auto full = number("charge_full"), volts = number("voltage_min_design");
    if (!full || !volts || !has("charge_now")) return std::nullopt;
    const auto held = product(*full, *volts);
    return held ? make(Source::charge, "charge_now", "voltage_min_design", 2 * *held) : std::nullopt;
  }

 private:
  std::string file(std::string_view name) const { return path_below(path_, name); }
  std::string text(std::string_view name) const { return machine_.read_or_empty(file(name), 64); }
  std::optional<std::int64_t> number(std::string_view name) const {
    const auto value = machine_.read_integer(file(name));
    return value && *value > 0 && *value < std::int64_t{1} << 40 ? std::optional(*value) : std::nullopt;
  }
  bool has(std::string_view name) const { return machine_.read_integer(file(name)).has_value(); }
  std::optional<Cell> make(Source source, std::string_view first, std::string_view second, std::int64_t full) const {
    return Cell(source, machine_.path(file("status")), machine_.path(file(first)), machine_.path(file(second)), full);
  }

  const Machine& machine_;
  std::string path_;
};

}  // namespace

Discovery probe_battery(const Machine& machine) {
  Discovery discovery;
  std::vector<Cell> cells;
  std::vector<std::string> names;
  bool discharging = false;
  for (const std::string& name : machine.list(folder)) {
    const Battery battery(machine, name);
    if (!battery.is_one()) continue;
    auto cell = battery.cell();
    if (!cell) {
      discovery.findings.push_back(blocked_finding(kind, name, no_power));
      continue;
    }
    discharging = discharging || battery.discharges();
    names.push_back(name);
    cells.push_back(*std::move(cell));
  }
  const bool mixed = cells.size() > 1 && std::ranges::any_of(cells, &Cell::counts);
  for (const std::string& name : names)
    discovery.findings.push_back(mixed         ? blocked_finding(kind, name, no_sum)
                                 : discharging ? readable_finding(kind, name)
                                               : blocked_finding(kind, name, on_mains));
  if (discharging && !mixed)
    discovery.devices.push_back({std::string(kind), names.front(), true, std::make_unique<BatteryMeter>(std::move(cells)), refresh});
  if (discovery.findings.empty()) discovery.findings.push_back(absent_finding(kind, "", no_battery));
  return discovery;
}

}  // namespace joulery
