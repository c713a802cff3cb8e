// What a recording costs: bytes per sample, and samples per second written and read back. Real traces come from
// ../shared/data/sensors where that is present; the others are made, and are said to be.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "record/recording.h"

namespace joulery {
namespace {

namespace fs = std::filesystem;

// A run to write: devices, and for each its rounds, row by row.
struct Trace {
  std::string name;
  std::vector<RecordedDevice> devices;
  struct Rounds {
    std::vector<MonoTime> due, before, after;
    std::vector<std::vector<std::int64_t>> raw;  // by channel
  };
  std::vector<Rounds> rounds;

  std::size_t longest() const {
    std::size_t rows = 0;
    for (const auto& of : rounds) rows = std::max(rows, of.due.size());
    return rows;
  }
  std::size_t samples() const {
    std::size_t count = 0;
    for (const auto& of : rounds) count += of.due.size() * of.raw.size();
    return count;
  }
};

RecordedDevice device(const std::string& kind, const std::string& name, std::size_t channels, double unit, Behaviour behaviour) {
  RecordedDevice made{kind, name, milliseconds(100), {}};
  for (std::size_t c = 0; c < channels; ++c) {
    Channel channel;
    channel.component = Component("node/" + name);
    channel.name = "channel-" + std::to_string(c);
    channel.behaviour = behaviour;
    channel.unit = unit;
    made.channels.push_back(channel);
  }
  return made;
}

// Lines of nvidia-smi: a wall-clock time with milliseconds, then columns, of which those with "power" in the title count.
Trace::Rounds nvidia_smi_log(const fs::path& path) {
  std::ifstream file(path);
  std::string line, cell;
  std::getline(file, line);
  std::vector<std::size_t> wanted;
  std::stringstream titles(line);
  for (std::size_t i = 0; std::getline(titles, cell, ','); ++i) {
    if (cell.find("power") != std::string::npos) wanted.push_back(i);
  }
  Trace::Rounds rounds;
  rounds.raw.resize(wanted.size());
  while (std::getline(file, line)) {
    int hour = 0, minute = 0;
    double second = 0;
    if (std::sscanf(line.c_str(), "%*d/%*d/%*d %d:%d:%lf", &hour, &minute, &second) != 3) continue;
    std::vector<std::string> cells;
    std::stringstream row(line);
    while (std::getline(row, cell, ',')) cells.push_back(cell);
    const MonoTime at = MonoTime{} + seconds(hour * 3600 + minute * 60 + second);
    rounds.due.push_back(at);
    rounds.before.push_back(at);
    rounds.after.push_back(at);
    for (std::size_t c = 0; c < wanted.size(); ++c) rounds.raw[c].push_back(to_whole(std::atof(cells[wanted[c]].c_str()) * 1000));
  }
  return rounds;
}

std::vector<fs::path> files_named(const fs::path& folder, const std::string& ending) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    if (entry.path().string().ends_with(ending)) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

Trace nvidia_smi(const fs::path& folder) {
  Trace trace{"nvidia-smi power, 10 logs (real)", {}, {}};
  for (const auto& path : files_named(folder, "gpudata.csv")) {
    trace.rounds.push_back(nvidia_smi_log(path));
    trace.devices.push_back(device("nvml", path.parent_path().filename(), trace.rounds.back().raw.size(), 1e-3, Behaviour::gauge));
  }
  return trace;
}

// Records of nine little-endian 16-bit numbers: ticks of 1/2933.5 ms, then four pairs of voltage and current, 12 bits each.
Trace power_meter(const fs::path& folder) {
  Trace trace{"PCIe power meter, 4.8 kHz, 7 logs (real)", {}, {}};
  for (const auto& path : files_named(folder, "PMD_data.bin")) {
    std::ifstream file(path, std::ios::binary);
    Trace::Rounds rounds;
    rounds.raw.resize(8);
    std::int64_t ticks = 0;
    std::uint16_t last = 0, record[9];
    while (file.read(reinterpret_cast<char*>(record), sizeof record)) {
      ticks += static_cast<std::uint16_t>(record[0] - last);
      last = record[0];
      const MonoTime at{static_cast<std::int64_t>(static_cast<double>(ticks) / 2933.5 * 1e6)};
      rounds.due.push_back(at);
      rounds.before.push_back(at);
      rounds.after.push_back(at);
      for (std::size_t c = 0; c < 8; ++c) rounds.raw[c].push_back(static_cast<std::int16_t>(record[c + 1]) >> 4);
    }
    trace.rounds.push_back(std::move(rounds));
    trace.devices.push_back(device("pmd", path.parent_path().filename(), 8, 1, Behaviour::gauge));
  }
  return trace;
}

// RAPL as powercap shows it (counts of 2^-14 J, in microjoules): load that changes every few seconds, 1 % noise; rounds
// begin 60 us late with an exponential tail of 20 us, a reading takes 12 us.
Trace rapl(const std::string& name, std::size_t devices, std::size_t channels, std::size_t rows) {
  Trace trace{name, {}, {}};
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(1, 0.01);
  std::exponential_distribution<double> late(1 / 20e3);
  std::uniform_real_distribution<double> level(15, 200);
  for (std::size_t d = 0; d < devices; ++d) {
    Trace::Rounds rounds;
    rounds.raw.resize(channels);
    std::vector<double> watts(channels, 50), counts(channels, 1e6);
    for (std::size_t i = 0; i < rows; ++i) {
      const MonoTime due = MonoTime{1'000'000'000'000} + milliseconds(100 * static_cast<std::int64_t>(i));
      rounds.due.push_back(due);
      rounds.before.push_back(due + nanoseconds(60'000 + static_cast<std::int64_t>(late(random))));
      rounds.after.push_back(rounds.before.back() +
                             nanoseconds(static_cast<std::int64_t>(12'000 * static_cast<double>(channels) * noise(random))));
      for (std::size_t c = 0; c < channels; ++c) {
        if (random() % 50 == 0) watts[c] = level(random);
        counts[c] += watts[c] * 0.1 * noise(random) * 16384;
        rounds.raw[c].push_back((static_cast<std::int64_t>(counts[c]) & 0xffffffff) * 61035 / 1000);
      }
    }
    trace.rounds.push_back(std::move(rounds));
    trace.devices.push_back(device("rapl.powercap", "package-" + std::to_string(d), channels, 1e-6, Behaviour::counter));
  }
  return trace;
}

double now() { return to_seconds(mono_now() - MonoTime{}); }

[[noreturn]] void give_up(const Error& error) {
  fmt::print(stderr, "recording_bench: {}\n", error.line());
  std::exit(1);
}

// Writes a trace with a flush after every `per_flush` rounds; seconds spent.
double write(const Trace& trace, const std::string& path, std::size_t per_flush) {
  const double begin = now();
  auto writer = RecordingWriter::create(path, trace.devices, {});
  if (!writer) give_up(writer.error());
  std::vector<Reading> readings;
  for (std::size_t i = 0, rows = trace.longest(); i < rows; ++i) {
    for (std::size_t d = 0; d < trace.rounds.size(); ++d) {
      const auto& of = trace.rounds[d];
      if (i >= of.due.size()) continue;
      readings.clear();
      for (const auto& raw : of.raw) readings.push_back({raw[i], MissingReason::none, of.before[i], of.after[i]});
      (*writer)->add(Round{d, of.due[i], readings});
    }
    if (i % per_flush != per_flush - 1) continue;
    if (auto done = (*writer)->flush(); !done) give_up(done.error());
  }
  if (auto done = (*writer)->close(); !done) give_up(done.error());
  return now() - begin;
}

// Opens the recording and unpacks every device; seconds spent.
double read(const std::string& path) {
  const double begin = now();
  const auto recording = Recording::open(path);
  if (!recording) give_up(recording.error());
  for (std::size_t d = 0; d < (*recording)->devices().size(); ++d) {
    const auto series = (*recording)->series(d);
    if (!series) give_up(series.error());
  }
  return now() - begin;
}

// `empty` is the size of a recording with no rounds: the tables themselves.
void measure(const Trace& trace, const fs::path& folder, std::size_t per_flush) {
  if (trace.samples() == 0) return;
  const std::string path = folder / "trace", nothing = folder / "nothing";
  const double written = write(trace, path, per_flush);
  Trace empty{"", trace.devices, std::vector<Trace::Rounds>(trace.rounds.size())};
  write(empty, nothing, 1);
  double reading = read(path);
  for (int i = 0; i < 4; ++i) reading = std::min(reading, read(path));
  const auto samples = static_cast<double>(trace.samples());
  const auto bytes = static_cast<double>(fs::file_size(path)), fixed = static_cast<double>(fs::file_size(nothing));
  fmt::print("{:<62} {:>10} {:>10.2f} {:>10.2f} {:>12.2f} {:>11.1f} {:>10.3f}\n", trace.name, trace.samples(), bytes / samples,
             (bytes - fixed) / samples, samples / written * 1e-6, samples / reading * 1e-6, reading);
  fs::remove(path);
  fs::remove(nothing);
}

}  // namespace
}  // namespace joulery

int main() {
  using namespace joulery;
  std::string pattern = (fs::temp_directory_path() / "joulery-bench-XXXXXX").string();
  const fs::path folder = ::mkdtemp(pattern.data());
  const fs::path logs = fs::path(JOULERY_SOURCE_DIR) / "../shared/data/sensors/gpu_power_benchmark";
  fmt::print("{:<62} {:>10} {:>10} {:>10} {:>12} {:>11} {:>10}\n", "trace", "samples", "B/sample", "less empty", "M/s written", "M/s read",
             "read, s");
  if (fs::exists(logs)) {
    measure(nvidia_smi(logs), folder, 1000);
    measure(power_meter(logs), folder, 5000);
  } else {
    fmt::print("skipped the real traces: no ../shared\n");
  }
  measure(rapl("RAPL, 5 devices of 4, one hour, committed every second (made)", 5, 4, 36'000), folder, 10);
  measure(rapl("RAPL, 5 devices of 4, one day (made)", 5, 4, 864'000), folder, 4096);
  measure(rapl("RAPL, 20 devices of 1, one day (made)", 20, 1, 864'000), folder, 4096);
  fs::remove_all(folder);
  return 0;
}
