// Makes the recording of a long run for report.py: one day at 10 Hz of 20 series, through the product's own writer.
// Two CPU packages with core, uncore and DRAM counters, and four GPUs with an energy counter, power and utilisation;
// loads change every few seconds and carry 1 % noise; rounds begin a little late, as a sampler's do. Nothing of it was
// measured: it is made to be as hard to pack and to sum as a day of measuring.
//
//   day_recording FILE [HOURS]      prints {"samples":…, "seconds":…, "bytes":…}
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ledger/run_facts.h"
#include "record/recording.h"
#include "sense/rapl/rapl_domain.h"

namespace joulery {
namespace {

constexpr Duration interval = milliseconds(100);
constexpr int gpus = 4;

Channel channel(std::string name, const std::string& component, Measurand measurand, Behaviour behaviour, double unit) {
  Channel made;
  made.component = Component(component);
  made.name = std::move(name);
  made.measurand = measurand;
  made.behaviour = behaviour;
  made.unit = unit;
  return made;
}

RecordedDevice rapl() {
  RecordedDevice device{"rapl.powercap", "intel-rapl", interval, {}};
  for (const char* package : {"package-0", "package-1"}) {
    for (const char* zone : {package, "core", "uncore", "dram"}) {
      device.channels.push_back(rapl_channel(zone, package));
      device.channels.back().unit = 1e-6;
      device.channels.back().range = 262143328850;
    }
  }
  return device;
}

RecordedDevice gpu(int index) {
  const std::string name = "gpu-" + std::to_string(index), where = "node/gpu/" + std::to_string(index);
  return {"nvml",
          name,
          interval,
          {channel("energy", where, Measurand::energy, Behaviour::counter, 1e-3),
           channel("power", where, Measurand::power, Behaviour::gauge, 1e-3),
           channel("utilisation", where, Measurand::utilisation, Behaviour::gauge, 1e-2)}};
}

// Loads that jump every few seconds, and the readings that meters would give of them.
class Machine {
 public:
  Machine() : watts_(20, 50.0), joules_(20, 1e5) {}

  void advance() {
    for (std::size_t i = 0; i < watts_.size(); ++i) {
      if (random_() % 50 == 0) watts_[i] = level_(random_);
      seen_[i] = watts_[i] * noise_(random_);
      joules_[i] += seen_[i] * to_seconds(interval);
    }
  }

  // What a channel with this place among the 20 series shows.
  std::int64_t raw(const Channel& of, std::size_t series) const {
    if (of.measurand == Measurand::utilisation) return to_whole(seen_[series] / 2);
    if (of.behaviour == Behaviour::gauge) return to_whole(seen_[series - 1] / of.unit);  // the same load as the counter before it
    const std::int64_t count = to_whole(joules_[series] / of.unit);
    return of.range == 0 ? count : count % (static_cast<std::int64_t>(of.range) + 1);
  }

  Duration lateness() { return nanoseconds(60'000 + to_whole(late_(random_))); }

 private:
  std::mt19937_64 random_{1};
  std::normal_distribution<double> noise_{1, 0.01};
  std::uniform_real_distribution<double> level_{15, 200};
  std::exponential_distribution<double> late_{1 / 20e3};
  std::vector<double> watts_, joules_;
  std::vector<double> seen_ = std::vector<double>(20);
};

void give(RecordingWriter& writer, Machine& machine, const std::vector<RecordedDevice>& devices, MonoTime due) {
  machine.advance();
  std::vector<Reading> readings;
  std::size_t series = 0;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    MonoTime at = due + machine.lateness();
    readings.clear();
    for (const Channel& of : devices[d].channels) {
      readings.push_back({machine.raw(of, series++), MissingReason::none, at, at + nanoseconds(12'000)});
      at = at + nanoseconds(12'000);
    }
    writer.add(Round{d, due, readings});
  }
}

Result<std::size_t> make(const std::string& path, std::int64_t rounds) {
  std::vector<RecordedDevice> devices{rapl()};
  for (int g = 0; g < gpus; ++g) devices.push_back(gpu(g));
  const ClockMap begin = ClockMap::now();
  RunFacts facts;
  facts.command = {"python", "train.py"};
  facts.exit_code = 0;
  facts.run = Interval{begin.mono, begin.mono + nanoseconds(interval.base_units() * rounds)};
  facts.run_ended = true;
  auto writer = RecordingWriter::create(path, devices, to_metadata(facts));
  if (!writer) return std::unexpected(writer.error());
  (*writer)->add(begin);
  Machine machine;
  for (std::int64_t i = 0; i <= rounds; ++i) {
    give(**writer, machine, devices, begin.mono + nanoseconds(interval.base_units() * i));
    if (i % 4096 != 4095) continue;  // a run flushes once a second and ends with the same chunks: this is quicker
    if (auto done = (*writer)->flush(); !done) return std::unexpected(done.error());
  }
  if (auto done = (*writer)->close(); !done) return std::unexpected(done.error());
  return static_cast<std::size_t>(rounds + 1) * 20;
}

}  // namespace
}  // namespace joulery

int main(int count, char** words) {
  using namespace joulery;
  const double hours = count > 2 ? std::atof(words[2]) : 24;
  if (count < 2 || hours <= 0) return fmt::print(stderr, "usage: day_recording FILE [HOURS]\n"), 2;
  const MonoTime begin = mono_now();
  const auto samples = make(words[1], to_whole(hours * 36000));
  if (!samples) return fmt::print(stderr, "day_recording: {}\n", samples.error().line()), 1;
  fmt::print("{{\"samples\": {}, \"seconds\": {:.3f}, \"bytes\": {}}}\n", *samples, to_seconds(mono_now() - begin),
             std::filesystem::file_size(words[1]));
  return 0;
}
