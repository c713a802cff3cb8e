// The agent's store: counts a second in, bytes a count at 1 Hz on real traces, and how long a month's hourly chart takes.
// For store.py.
//
//   store_bench FOLDER    prints a JSON object; FOLDER is made, filled and emptied
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <vector>

#include "record/store/store.h"
#include "record/store/store_reader.h"

namespace joulery {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t march_ms = 20'513LL * 86'400'000;  // 2026-03-01

[[noreturn]] void give_up(const Error& error) {
  fmt::print(stderr, "store_bench: {}\n", error.line());
  std::exit(1);
}
template <class T>
T need(Result<T> result) {
  if (!result) give_up(result.error());
  return std::move(*result);
}
void need(const Result<void>& result) {
  if (!result) give_up(result.error());
}
// Of this process alone, so that others on the machine do not count; the store uses one thread.
double cpu_now() { return static_cast<double>(clock_ns(CLOCK_PROCESS_CPUTIME_ID)) * 1e-9; }
double now() { return to_seconds(mono_now() - MonoTime{}); }
WallTime at_ms(std::int64_t ms) { return {ms * 1'000'000}; }

std::uintmax_t bytes_of(const fs::path& folder) {
  std::uintmax_t sum = 0;
  for (const auto& file : fs::directory_iterator(folder)) sum += file.file_size();
  return sum;
}

SeriesKey component(const std::string& name) {
  return {"component_joules", {{"component", name}, {"quality", "measured"}}, stored_joule_unit};
}
SeriesKey consumer(const std::string& kind, const std::string& name) {
  return {"consumer_joules", {{"component", "node/cpu/package-0"}, {"kind", kind}, {"name", name}}, stored_joule_unit};
}

// Power over time becomes whole counts a second, as the agent makes them from energies that only grow.
class Second {
 public:
  void add(double time_s, double watts) {
    if (last_ >= 0) joules_ += (time_s - last_) * watts;
    for (; last_ >= 0 && time_s >= next_; next_ += 1) counts.push_back(whole_.up_to(microjoules(static_cast<std::int64_t>(joules_ * 1e6))));
    if (last_ < 0) next_ = time_s + 1;
    last_ = time_s;
  }
  std::vector<std::int64_t> counts;

 private:
  WholeCounts whole_;
  double joules_ = 0, last_ = -1, next_ = 0;
};

using Traces = std::vector<std::vector<std::int64_t>>;

std::vector<fs::path> files_named(const fs::path& folder, const std::string& name) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    if (entry.path().filename() == name) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// SPEC PTDaemon, a line a second: "Time,03-25-2022 11:06:31.120,Watts,540.7,…", and of some meters each channel after it.
Traces wall_meters(const fs::path& data) {
  Traces traces;
  for (const auto& path : files_named(data / "mlperf-power", "spl.txt")) {
    std::ifstream file(path);
    std::string line;
    std::vector<Second> channels;
    double day = 0, before = 0;
    while (std::getline(file, line)) {
      int hour = 0, minute = 0;
      double second = 0;
      if (std::sscanf(line.c_str(), "Time,%*[^ ] %d:%d:%lf", &hour, &minute, &second) != 3) continue;
      double time = day + hour * 3600 + minute * 60 + second;
      if (time < before) time += 86'400, day += 86'400;
      before = time;
      std::size_t channel = 0;
      for (std::size_t at = line.find("Watts,"); at != std::string::npos; at = line.find("Watts,", at + 1), ++channel) {
        if (channel == channels.size()) channels.emplace_back();
        channels[channel].add(time, std::atof(line.c_str() + at + 6));
      }
    }
    for (auto& channel : channels) traces.push_back(std::move(channel.counts));
  }
  return traces;
}

// Lines of nvidia-smi, each some milliseconds after the other.
Traces gpus(const fs::path& data) {
  Traces traces;
  for (const auto& path : files_named(data / "sensors" / "gpu_power_benchmark", "gpudata.csv")) {
    std::ifstream file(path);
    std::string line, cell;
    std::getline(file, line);
    std::stringstream titles(line);
    std::size_t wanted = 0;
    for (std::size_t i = 0; std::getline(titles, cell, ','); ++i) {
      if (cell.find("power.draw [W]") != std::string::npos) wanted = i;
    }
    Second trace;
    while (std::getline(file, line)) {
      int hour = 0, minute = 0;
      double second = 0;
      if (std::sscanf(line.c_str(), "%*d/%*d/%*d %d:%d:%lf", &hour, &minute, &second) != 3) continue;
      std::stringstream row(line);
      for (std::size_t i = 0; i <= wanted; ++i) std::getline(row, cell, ',');
      trace.add(hour * 3600 + minute * 60 + second, std::atof(cell.c_str()));
    }
    traces.push_back(std::move(trace.counts));
  }
  return traces;
}

struct Weight {
  std::size_t samples = 0;
  std::uintmax_t bytes = 0, empty = 0, raw_blobs = 0;
};

// All traces begin at the same moment; each is a component. Closed, so folded by the start of the next hour.
Weight weigh(const fs::path& folder, const Traces& traces) {
  Weight weight;
  std::size_t longest = 0;
  for (const auto& trace : traces) longest = std::max(longest, trace.size());
  const auto write = [&](bool with_counts) {
    fs::remove_all(folder);
    auto store = need(Store::open(folder));
    std::vector<SeriesId> ids;
    for (std::size_t i = 0; i < traces.size(); ++i) ids.push_back(store->series(component("node/gpu/" + std::to_string(i))));
    std::vector<StoreSample> samples;
    for (std::size_t row = 0; row < longest; ++row) {
      samples.clear();
      for (std::size_t i = 0; i < traces.size() && with_counts; ++i) {
        if (row < traces[i].size()) samples.push_back({ids[i], traces[i][row]});
      }
      if (with_counts) weight.samples += samples.size();
      if (row % 3600 < 3590 || with_counts) store->add(at_ms(march_ms + static_cast<std::int64_t>(row + 1) * 1000), seconds(1), samples);
      if (row % 60 == 0) need(store->flush());
    }
    store->add(at_ms(march_ms + 86'400'000 + 1000), seconds(1), {});  // the next day: the one before is finished
    need(store->close());
    fs::remove(folder / "day-2026-03-02.joules");
    return bytes_of(folder);
  };
  weight.empty = write(false);
  weight.bytes = write(true);
  return weight;
}

// Some thousand series as on a busy node: a few noisy ones, many small, most of them idle; committed every second.
struct Rate {
  double wall = 0, cpu = 0;
};
Rate samples_a_second(const fs::path& folder, std::size_t series, std::size_t ticks) {
  fs::remove_all(folder);
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(1, 0.02);
  auto store = need(Store::open(folder));
  std::vector<StoreSample> samples(series);
  for (std::size_t i = 0; i < series; ++i) samples[i].series = store->series(consumer("process", fmt::format("python[{}]", 1000 + i)));
  std::vector<std::int64_t> counts(1 << 16);
  for (auto& count : counts) count = static_cast<std::int64_t>(20'000 * noise(random));
  const double begin = now(), cpu_begin = cpu_now();
  for (std::size_t tick = 0; tick < ticks; ++tick) {
    for (std::size_t i = 0; i < series; ++i) {
      const std::int64_t load = i % 16 == 0 ? 16 : i % 4 == 0 ? 1 : 0;
      samples[i].count = counts[(tick * 31 + i * 17) & 0xffff] * load / 16;
    }
    store->add(at_ms(march_ms + static_cast<std::int64_t>(tick + 1) * 1000), seconds(1), samples);
    need(store->flush());
  }
  need(store->close());
  const auto all = static_cast<double>(series * ticks);
  return {all / (now() - begin), all / (cpu_now() - cpu_begin)};
}

// A month of 300 lasting series and 2,000 processes a day that live for two minutes; rows by the minute.
void make_month(const fs::path& folder) {
  fs::remove_all(folder);
  StoreSettings settings;
  auto store = need(Store::open(folder, settings));
  std::vector<StoreSample> samples;
  std::vector<SeriesId> lasting, passing;
  for (int i = 0; i < 20; ++i) lasting.push_back(store->series(component(fmt::format("node/gpu/{}", i))));
  for (int i = 0; i < 280; ++i) lasting.push_back(store->series(consumer("unit", fmt::format("service-{}.service", i))));
  std::mt19937_64 random(2);
  int named = 0;
  for (int minute = 0; minute < 31 * 1440; ++minute) {
    samples.clear();
    if (minute % 2 == 0) {
      for (const SeriesId series : passing) store->forget(series);
      passing.clear();
      for (int i = 0; i < 3; ++i) passing.push_back(store->series(consumer("process", fmt::format("cc1plus[{}]", ++named))));
    }
    for (const SeriesId series : lasting) samples.push_back({series, static_cast<std::int64_t>(random() % 100'000)});
    for (const SeriesId series : passing) samples.push_back({series, static_cast<std::int64_t>(random() % 10'000)});
    store->add(at_ms(march_ms + (minute + 1) * 60'000LL), seconds(60), samples);
    if (minute % 60 == 0) need(store->flush());
  }
  for (int i = 0; i < 40; ++i) need(store->flush());
  need(store->close());
}

struct Chart {
  double wall_s = 0, cpu_s = 0;
};
// Median of some turns (and mean CPU time), from opening the folder on.
Chart chart(const fs::path& folder, const SeriesMatcher& matcher, std::optional<std::vector<std::string>> by, std::size_t points) {
  std::vector<double> turns;
  const double cpu_begin = cpu_now();
  for (int turn = 0; turn < 15; ++turn) {
    const double begin = now();
    const auto reader = need(StoreReader::open(folder));
    const auto answer = need(reader.query({matcher, at_ms(march_ms), at_ms(march_ms + 31LL * 86'400'000), seconds(3600), by}));
    turns.push_back(now() - begin);
    std::size_t got = 0;
    for (const auto& series : answer.series) got += series.points.size();
    if (got != points) give_up({ErrorCode::internal, fmt::format("{} points instead of {}", got, points), "", ""});
  }
  std::ranges::nth_element(turns, turns.begin() + 7);
  return {turns[7], (cpu_now() - cpu_begin) / 15};
}

void tell_weight(const char* name, const Weight& weight) {
  fmt::print("\"{}\": {{\"samples\": {}, \"bytes\": {}, \"empty\": {}}},\n", name, weight.samples, weight.bytes, weight.empty);
}

}  // namespace
}  // namespace joulery

int main(int count, char** words) {
  using namespace joulery;
  if (count != 2) return 2;
  const fs::path folder = fs::path(words[1]) / "store", data = fs::path(JOULERY_SOURCE_DIR) / "../shared/data";
  fmt::print("{{");
  if (fs::exists(data / "mlperf-power")) tell_weight("wall", weigh(folder, wall_meters(data)));
  if (fs::exists(data / "sensors")) tell_weight("gpus", weigh(folder, gpus(data)));
  const Rate rate = samples_a_second(folder, 3000, 4000);
  fmt::print("\"samples_a_second\": {:.0f}, \"samples_a_cpu_second\": {:.0f},\n", rate.wall, rate.cpu);
  make_month(folder);
  fmt::print("\"month_bytes\": {},\n", bytes_of(folder));
  const SeriesMatcher one{"component_joules", {{"component", "node/gpu/7"}}};
  const Chart single = chart(folder, one, std::nullopt, 31 * 24);
  const Chart group = chart(folder, {"component_joules", {}}, std::vector<std::string>{}, 31 * 24);
  fmt::print("\"chart_one_s\": {:.5f}, \"chart_one_cpu_s\": {:.5f},\n", single.wall_s, single.cpu_s);
  fmt::print("\"chart_group_s\": {:.5f}, \"chart_group_cpu_s\": {:.5f}}}\n", group.wall_s, group.cpu_s);
  fs::remove_all(folder);
  return 0;
}
