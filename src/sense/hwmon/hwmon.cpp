#include "sense/hwmon/hwmon.h"

#include <optional>
#include <string_view>
#include <utility>

#include "sense/hwmon/hwmon_rails.h"
#include "sense/live_file.h"
#include "sense/obstacles.h"

namespace joulery {
namespace {

constexpr std::string_view kind = "hwmon";

// What one rail's files say, as a count of its channel's unit.
class Rail {
 public:
  Rail(std::string file, std::string current_file) : file_(std::move(file)) {
    if (!current_file.empty()) current_.emplace(std::move(current_file));
  }
  std::expected<std::int64_t, MissingReason> read(MonoTime now) {
    const auto value = file_.read_count(now);
    if (!value || !current_) return value;
    const auto milliamperes = current_->read_count(now);
    if (!milliamperes) return milliamperes;
    std::int64_t microwatts = 0;
    if (__builtin_mul_overflow(*value, *milliamperes, &microwatts)) return std::unexpected(MissingReason::rubbish);
    return microwatts;
  }

 private:
  LiveFile file_;
  std::optional<LiveFile> current_;
};

class HwmonMeter final : public Meter {
 public:
  HwmonMeter(const Machine& machine, const std::vector<HwmonRail>& rails) {
    for (const HwmonRail& rail : rails) {
      channels_.push_back(rail.channel);
      rails_.emplace_back(machine.path(rail.file), rail.current_file.empty() ? "" : machine.path(rail.current_file));
    }
  }
  std::span<const Channel> channels() const override { return channels_; }
  void read(Sink& sink) override {
    for (Rail& rail : rails_) report(sink, rail.read(sink.last()));
  }

 private:
  std::vector<Channel> channels_;
  std::vector<Rail> rails_;
};

// Why no rail of the chip can be read; nothing where one can.
std::optional<std::string> trouble(Meter& meter) {
  Sink sink(meter.channels().size());
  sink.start();
  meter.read(sink);
  sink.finish();
  std::string first;
  for (std::size_t i = 0; i < sink.readings().size(); ++i) {
    if (sink.readings()[i].ok()) return std::nullopt;
    if (first.empty()) first = meter.channels()[i].name + ": " + std::string(describe(sink.readings()[i].reason));
  }
  return first;
}

void probe_chip(const Machine& machine, const HwmonChip& chip, Discovery& discovery) {
  for (const std::string& sensor : chip.disabled)
    discovery.findings.push_back(blocked_finding(kind, chip.name + "/" + sensor, Obstacle::hwmon_disabled, chip.folder));
  if (chip.rails.empty()) return;
  auto meter = std::make_unique<HwmonMeter>(machine, chip.rails);
  if (const auto why = trouble(*meter)) {
    discovery.findings.push_back(blocked_finding(kind, chip.name, Obstacle::hwmon_unreadable, *why));
    return;
  }
  discovery.findings.push_back(readable_finding(kind, chip.name));
  discovery.devices.push_back({std::string(kind), chip.name, true, std::move(meter)});
}

}  // namespace

Discovery probe_hwmon(const Machine& machine) {
  Discovery discovery;
  const std::vector<HwmonChip> chips = read_hwmon_chips(machine);
  for (const HwmonChip& chip : chips) probe_chip(machine, chip, discovery);
  if (discovery.findings.empty())
    discovery.findings.push_back(absent_finding(kind, "", chips.empty() ? Obstacle::hwmon_none : Obstacle::hwmon_no_power));
  return discovery;
}

}  // namespace joulery
