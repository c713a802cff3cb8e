// What one reading of each device costs, by kind of meter: finds what the machine has, reads each device many times in this one thread,
// and tells the CPU time of a tick. For meters.py.
//
//   ticks_bench SYSROOT [ROUNDS] [KEY=VALUE...]
//
// prints a JSON array of {"kind":…, "device":…, "channels":…, "us":…}; SYSROOT "" is this machine. KEY=VALUE are settings, for
// meters that must be named; of those only the ones that answer are told.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "config/load.h"
#include "sense/meters.h"

namespace joulery {
namespace {

constexpr int batches = 9;

double cpu_us() { return static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID)) * 1e-3; }

// Median of batches, so that one interruption does not count.
double tick_us(Meter& meter, int rounds) {
  Sink sink(meter.channels().size());
  std::vector<double> costs;
  for (int batch = 0; batch < batches; ++batch) {
    const double begin = cpu_us();
    for (int i = 0; i < rounds; ++i) {
      sink.start();
      meter.read(sink);
      sink.finish();
    }
    costs.push_back((cpu_us() - begin) / rounds);
  }
  std::ranges::nth_element(costs, costs.begin() + batches / 2);
  return costs[batches / 2];
}

Settings settings_of(int count, char** words) {
  std::vector<ConfigFlag> flags;
  for (int i = 0; i < count; ++i)
    if (auto flag = parse_set_flag(words[i])) flags.push_back(*std::move(flag));
  auto settings = load_settings(ConfigSources{"", "", "", {}}, flags);
  if (!settings) fmt::print(stderr, "ticks_bench: {}\n", settings.error().line());
  return settings.value_or(Settings());
}

void tell(const char* root, int rounds, const Settings& settings) {
  const Machine machine(root);
  Discovery found = discover(machine, settings, Look::thorough);
  const char* between = "[";
  for (Device& device : found.devices) {
    fmt::print("{}{{\"kind\":\"{}\",\"device\":\"{}\",\"channels\":{},\"us\":{:.3f}}}", between, device.kind, device.name,
               device.meter->channels().size(), tick_us(*device.meter, rounds));
    between = ",\n ";
  }
  fmt::print("{}]\n", *between == '[' ? "[" : "");
}

}  // namespace
}  // namespace joulery

int main(int count, char** words) {
  if (count < 2) return 2;
  const int named = std::min(count, 3);
  joulery::tell(words[1], count > 2 ? std::atoi(words[2]) : 500, joulery::settings_of(count - named, words + named));
  return 0;
}
