#include <cmath>
#include <limits>
#include <string>

#include "tests/unit/publish/sample_reports.h"

namespace joulery::samples {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

Chart gpu_chart() {
  Chart chart;
  PowerTrack gpu{"node/gpu-0", "GPU 0", Quality::measured, false, {}},
      cpu{"node/cpu/package-0", "CPU package 0", Quality::measured, false, {}};
  PowerTrack dram{"node/dram", "DRAM", Quality::measured, false, {}}, rest{"node/rest", "Rest of the node", Quality::estimated, false, {}};
  PowerTrack core{"node/cpu/package-0/core", "CPU package 0 cores", Quality::measured, true, {}};
  for (int s = 0; s <= 125; ++s) chart.time.push_back(s);
  for (int s = 0; s < 125; ++s) {
    const bool busy = s >= 5 && s < 120, reading = busy && (s - 5) % 8 == 7;
    gpu.watts.push_back(!busy ? 25 : reading ? 60 : 130 + 12 * std::sin(s * 0.7));
    cpu.watts.push_back(!busy ? 60 : reading ? 75 : 48 + 4 * std::cos(s * 1.3));
    dram.watts.push_back(!busy ? 7 : 10 + std::sin(s * 0.5));
    rest.watts.push_back(busy ? 20 : 18);
    core.watts.push_back(cpu.watts.back() * 0.64);
  }
  chart.tracks = {gpu, cpu, dram, rest, core};
  chart.bands = {{"phase", "start-up", 0, 5}, {"phase", "steps", 5, 120}, {"phase", "tear-down", 120, 125}};
  for (int i = 0; i < 14; ++i) chart.bands.push_back({"step", "step " + std::to_string(i + 1), 5 + i * 8.0, 12 + i * 8.0});
  chart.bands.push_back({"mark", "epoch 1", 60, 60});
  return chart;
}

Chart vm_chart() {
  Chart chart;
  PowerTrack cpu{"node/cpu", "CPU (this VM's share)", Quality::estimated, false, {}};
  PowerTrack dram{"node/dram", "DRAM (this VM's share)", Quality::estimated, false, {}};
  for (int i = 0; i <= 60; ++i) chart.time.push_back(i);
  for (int i = 0; i < 60; ++i) {
    cpu.watts.push_back(i < 3 || i > 55 ? 3 : 8 + 3 * std::sin(i * 0.4));
    dram.watts.push_back(2.5);
  }
  chart.tracks = {cpu, dram};
  return chart;
}

Chart partial_chart() {
  Chart chart;
  PowerTrack package{"node/cpu/package-0", "CPU package 0", Quality::measured, false, {}};
  PowerTrack gpu{"node/gpu-0", "GPU 0", Quality::integrated, false, {}};
  PowerTrack dram{"node/dram", "DRAM", Quality::missing, false, {}};
  for (int i = 0; i <= 80; ++i) chart.time.push_back(i * 0.25);
  for (int i = 0; i < 80; ++i) {
    const double t = i * 0.25;
    const bool gap = (t >= 8 && t < 9) || (t >= 11 && t < 11.5) || t >= 18;
    package.watts.push_back(gap ? nan : 50 + 20 * std::sin(t));
    gpu.watts.push_back(t >= 14 && t < 15 ? nan : t >= 18 ? nan : 30 + 10 * std::cos(t * 2));
    dram.watts.push_back(nan);
  }
  chart.tracks = {package, gpu, dram};
  chart.bands = {{"phase", "start-up", 0, 4}, {"phase", "steps", 4, 20}};
  for (int i = 0; i < 40; ++i) chart.bands.push_back({"step", "step", 4 + i * 0.4, 4.35 + i * 0.4});
  return chart;
}

Chart many_steps_chart() {
  Chart chart;
  PowerTrack gpu{"node/gpu-0", "GPU 0", Quality::measured, false, {}},
      cpu{"node/cpu/package-0", "CPU package 0", Quality::derived, false, {}};
  for (int i = 0; i <= 5000; ++i) chart.time.push_back(i * 0.2);
  for (int i = 0; i < 5000; ++i) {
    gpu.watts.push_back(200 + 60 * std::sin(i * 0.01) + (i % 7) * 4);
    cpu.watts.push_back(70 + 10 * std::cos(i * 0.02));
  }
  chart.tracks = {gpu, cpu};
  chart.bands = {{"phase", "start-up", 0, 20}, {"phase", "steps", 20, 990}, {"phase", "tear-down", 990, 1000}};
  for (int i = 0; i < 10'000; ++i) chart.bands.push_back({"step", "step", 20 + i * 0.097, 20 + i * 0.097 + 0.09});
  return chart;
}

}  // namespace joulery::samples
