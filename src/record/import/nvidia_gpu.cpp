#include "record/import/nvidia_gpu.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

namespace joulery {
namespace {

struct NamedGpu {
  std::string_view part;  // of the name
  GpuGeneration gpu;
};

constexpr GpuGeneration kepler{2, 3, 5}, maxwell{3, 5, 2}, pascal{4, 6, 1}, volta{5, 7, 0}, turing{6, 7, 5}, ga100{7, 8, 0},
    ampere{7, 8, 6}, ada{8, 8, 9}, hopper{9, 9, 0}, blackwell{10, 10, 0};

// The first part that is in the name counts, so longer names stand before the shorter ones within them.
constexpr NamedGpu names[] = {
    {"Blackwell", blackwell},
    {"B200", blackwell},
    {"B300", blackwell},
    {"B100", blackwell},
    {"RTX 50", blackwell},
    {"Hopper", hopper},
    {"H100", hopper},
    {"H200", hopper},
    {"H800", hopper},
    {"H20", hopper},
    {"Ada", ada},
    {"RTX 40", ada},
    {"L40", ada},
    {"NVIDIA L4", ada},
    {"L20", ada},
    {"A100", ga100},
    {"A800", ga100},
    {"A30", ga100},
    {"Quadro RTX", turing},
    {"TITAN RTX", turing},
    {"RTX 20", turing},
    {"GTX 16", turing},
    {"Tesla T4", turing},
    {"NVIDIA T4", turing},
    {"Turing", turing},
    {"RTX 30", ampere},
    {"RTX A", ampere},
    {"A10", ampere},
    {"A40", ampere},
    {"A16", ampere},
    {"NVIDIA A2", ampere},
    {"Ampere", ampere},
    {"V100", volta},
    {"TITAN V", volta},
    {"GV100", volta},
    {"Volta", volta},
    {"P100", pascal},
    {"P40", pascal},
    {"Tesla P4", pascal},
    {"GTX 10", pascal},
    {"TITAN Xp", pascal},
    {"Quadro P", pascal},
    {"Pascal", pascal},
    {"M40", maxwell},
    {"M60", maxwell},
    {"GTX 9", maxwell},
    {"GTX TITAN X", maxwell},
    {"Quadro M", maxwell},
    {"Maxwell", maxwell},
    {"K80", kepler},
    {"K40", kepler},
    {"K20", kepler},
    {"Kepler", kepler},
};

struct SmiQuantity {
  SmiReading reading;
  const char* name;
  Measurand measurand;
  Behaviour behaviour;
  double unit, scale;
};
constexpr SmiQuantity quantities[] = {
    {SmiReading::draw, "power", Measurand::power, Behaviour::gauge, 1e-3, 1},
    {SmiReading::average, "power_average", Measurand::power, Behaviour::gauge, 1e-3, 1},
    {SmiReading::instant, "power_instant", Measurand::power, Behaviour::gauge, 1e-3, 1},
    {SmiReading::utilisation, "utilisation", Measurand::utilisation, Behaviour::gauge, 1e-2, 1e-2},
    {SmiReading::memory, "memory", Measurand::memory, Behaviour::gauge, 1, 1048576},
    {SmiReading::memory_total, "memory_total", Measurand::memory, Behaviour::constant, 1, 1048576},
    {SmiReading::sm_clock, "sm_clock", Measurand::frequency, Behaviour::gauge, 1e6, 1e6},
    {SmiReading::module, "power_module", Measurand::power, Behaviour::gauge, 1e-3, 1},
};

PowerReading reading_of(SmiReading reading) {
  if (reading == SmiReading::average) return PowerReading::average;
  return reading == SmiReading::instant ? PowerReading::instant : PowerReading::draw;
}

bool is_power(const SmiChannel& c) { return c.channel.measurand == Measurand::power; }

// Less is better.
std::pair<double, std::int64_t> rank(const SmiChannel& c) {
  if (!is_power(c)) return {3, 0};
  if (c.channel.scope == Scope::platform) return {2, 0};
  const double seen = c.channel.averaging_window / std::max(c.channel.update_period, nanoseconds(1));
  return {1 - std::min(1.0, seen), c.channel.averaging_window.base_units()};
}

Channel channel_of(const SmiQuantity& quantity, const GpuGeneration& gpu, const std::string& component) {
  Channel channel;
  channel.component = Component(component);
  channel.name = quantity.name;
  channel.measurand = quantity.measurand;
  channel.behaviour = quantity.behaviour;
  channel.unit = quantity.unit;
  if (quantity.measurand != Measurand::power) return channel;
  const PowerSensor sensor = power_sensor(gpu, reading_of(quantity.reading));
  channel.update_period = sensor.update;
  channel.averaging_window = sensor.window;
  channel.scope = quantity.reading == SmiReading::module ? Scope::platform : Scope::component;
  channel.accuracy = {uncalibrated_relative, watts(uncalibrated_watts)};
  return channel;
}

struct Range {
  std::int64_t least = 0, greatest = 0;
};
Range range_of(const LoggedDevice& device, std::size_t column) {
  Range range;
  bool any = false;
  for (const LoggedLine& line : device.lines) {
    const LoggedValue& value = line.values[column];
    if (value.reason != MissingReason::none) continue;
    range = any ? Range{std::min(range.least, value.raw), std::max(range.greatest, value.raw)} : Range{value.raw, value.raw};
    any = true;
  }
  return range;
}

// Most of the range within three update periods, and no way back for a window and a half.
bool jumps_and_stays(const LoggedDevice& device, std::size_t column) {
  const Channel& channel = device.channels[column];
  const Range range = range_of(device, column);
  const auto span = range.greatest - range.least;
  if (static_cast<double>(span) * channel.unit < 20) return false;
  const Duration soon = nanoseconds(channel.update_period.base_units() * 3);
  const Duration stays = nanoseconds(channel.averaging_window.base_units() * 3 / 2);
  const auto& lines = device.lines;
  std::size_t from = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].values[column].reason != MissingReason::none) continue;
    while (lines[i].at - lines[from].at > soon) ++from;
    if (lines[from].values[column].reason != MissingReason::none) continue;
    const std::int64_t before = lines[from].values[column].raw, after = lines[i].values[column].raw;
    if (std::abs(after - before) * 5 < span * 3) continue;
    bool held = false;
    for (std::size_t k = i; k < lines.size(); ++k) {
      if (std::abs(lines[k].values[column].raw - after) * 4 > span) break;
      if (lines[k].at - lines[i].at < stays) continue;
      held = true;
      break;
    }
    if (held) return true;
  }
  return false;
}

}  // namespace

GpuGeneration gpu_generation(std::string_view name) {
  for (const NamedGpu& known : names)
    if (name.find(known.part) != std::string_view::npos) return known.gpu;
  return {};
}

int driver_major(std::string_view version) {
  int major = 0;
  const auto [end, failed] = std::from_chars(version.data(), version.data() + version.size(), major);
  return failed == std::errc{} && major > 0 && (end == version.data() + version.size() || *end == '.') ? major : 0;
}

std::vector<SmiChannel> smi_channels(const GpuGeneration& gpu, const std::string& component, std::vector<SmiReading> readings) {
  std::vector<SmiChannel> channels;
  for (const SmiQuantity& quantity : quantities)
    if (std::ranges::find(readings, quantity.reading) != readings.end())
      channels.push_back({quantity.reading, channel_of(quantity, gpu, component), quantity.scale});
  std::ranges::stable_sort(channels, {}, rank);
  return channels;
}

bool correct_window(LoggedDevice& device, const GpuGeneration& gpu) {
  if (gpu.driver != 0) return false;
  for (std::size_t column = 0; column < device.channels.size(); ++column) {
    Channel& channel = device.channels[column];
    if (channel.name != "power" || channel.averaging_window <= channel.update_period || !jumps_and_stays(device, column)) continue;
    GpuGeneration then = gpu;
    then.driver = 530;
    const PowerSensor sensor = power_sensor(then, PowerReading::draw);
    channel.update_period = sensor.update;
    channel.averaging_window = sensor.window;
    return true;
  }
  return false;
}

}  // namespace joulery
