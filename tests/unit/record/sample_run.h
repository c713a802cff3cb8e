// A small run for tests of recordings: devices, rounds with whole microseconds, and a folder that goes away.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "record/recording.h"

namespace joulery {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "joulery-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::vector<RecordedDevice> two_devices() {
  Channel package;
  package.component = Component("node/cpu/package-0");
  package.name = "energy";
  package.unit = 1e-6;
  package.range = 262'143'328'850;
  package.update_period = milliseconds(1);
  package.accuracy = {0.05, watts(0.5)};
  package.max_power = watts(400);
  package.always_burns = true;
  Channel power;
  power.component = Component("node/gpu/0");
  power.name = "power";
  power.measurand = Measurand::power;
  power.behaviour = Behaviour::gauge;
  power.unit = 1e-3;
  power.averaging_window = milliseconds(25);
  Channel load = power;
  load.name = "busy";
  load.measurand = Measurand::utilisation;
  load.unit = 0.01;
  load.scope = Scope::platform;
  return {{"rapl.powercap", "package-0", milliseconds(100), {package}}, {"nvml", "gpu-0", milliseconds(50), {power, load}}};
}

// Adds round `i` of a device that is due every 100 ms: 150 us late, 40 us long; raw values of channel c: 1000 i + c.
inline void add_round(RecordingWriter& writer, std::size_t device, std::size_t channels, std::int64_t i) {
  const MonoTime due = MonoTime{5'000'000'000} + milliseconds(100 * i);
  std::vector<Reading> readings;
  for (std::size_t c = 0; c < channels; ++c) {
    readings.push_back(
        {1000 * i + static_cast<std::int64_t>(c), MissingReason::none, due + nanoseconds(150'000), due + nanoseconds(190'000)});
  }
  writer.add(Round{device, due, readings});
}

}  // namespace joulery
