// A run by script: meters whose power is a function of time, made into a recording in memory and judged as any other.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "judge/make_report.h"
#include "record/memory_recording.h"

namespace joulery::testing {

inline constexpr std::int64_t script_origin = 50'000'000'000;
inline MonoTime script_time(double s) { return {script_origin + seconds(s).base_units()}; }

// A load that goes up and down at times and to heights that do not repeat: 0..1.
inline double restless_load(double t) {
  static const std::vector<std::pair<double, double>> steps = [] {
    std::mt19937_64 random(11);
    std::vector<std::pair<double, double>> all;
    for (double at = 0; at < 4000; at += 2 + static_cast<double>(random() % 7000) / 1000)
      all.emplace_back(at, static_cast<double>(random() % 1000) / 1000);
    return all;
  }();
  double level = steps.front().second;
  for (const auto& [at, height] : steps) {
    if (at > t) break;
    level = height;
  }
  return level;
}

struct ScriptedMeter {
  std::string kind, path;
  double interval_s = 0.1;
  std::function<double(double)> watts;  // at a time in seconds since the start of the run
  double accuracy = 0.01;
  double silent_from_s = 1e9, silent_to_s = 1e9;  // readings between these fail
};

class ScriptedRun {
 public:
  // Readings reach from one second before the run to one second after it.
  ScriptedRun(std::vector<ScriptedMeter> meters, double length_s, double after_s = 1) : recording_(devices(meters)) {
    for (std::size_t d = 0; d < meters.size(); ++d)
      for (double t = -1; t <= length_s + after_s + 1e-9; t += meters[d].interval_s) {
        const bool silent = t >= meters[d].silent_from_s && t <= meters[d].silent_to_s;
        const Reading reading{static_cast<std::int64_t>(std::llround(meters[d].watts(t) * 1e6)),
                              silent ? MissingReason::timed_out : MissingReason::none, script_time(t), script_time(t)};
        recording_.add(Round{d, script_time(t), std::span(&reading, 1)});
      }
    recording_.set({{"run_begin_ns", std::to_string(script_time(0).ns)}, {"run_end_ns", std::to_string(script_time(length_s).ns)}});
    facts_.machine.model_name = "Some Processor 9000";
    facts_.machine.sockets = 1;
    facts_.kind = {"Maker Board 1", {"10de:2330"}};
  }

  RunFacts& facts() { return facts_; }
  std::vector<ProcessSample>& processes() { return processes_; }
  Ledger& ledger() {
    settle();
    return *ledger_;
  }
  const Timeline& timeline() {
    settle();
    return *timeline_;
  }
  RunRecord record(std::string_view no_wall = {}) {
    settle();
    return {*timeline_, *ledger_, facts_, steps_, processes_, model_, WallTime{}, no_wall};
  }
  Report report(std::string_view no_wall = {}) { return make_report(record(no_wall)); }

 private:
  static std::vector<RecordedDevice> devices(const std::vector<ScriptedMeter>& meters) {
    std::vector<RecordedDevice> all;
    for (const ScriptedMeter& meter : meters) {
      Channel channel;
      channel.component = Component(meter.path);
      channel.name = "power";
      channel.measurand = Measurand::power;
      channel.behaviour = Behaviour::gauge;
      channel.unit = 1e-6;
      channel.accuracy.relative = meter.accuracy;
      all.push_back({meter.kind, meter.path, seconds(meter.interval_s), {channel}});
    }
    return all;
  }
  void settle() {
    if (ledger_) return;
    timeline_.emplace(*Timeline::from(recording_, 4));
    ledger_.emplace(*timeline_, std::nullopt, Fill::automatic, facts_.missing);
  }

  MemoryRecording recording_;
  RunFacts facts_;
  std::optional<Timeline> timeline_;
  std::optional<Ledger> ledger_;
  Steps steps_;
  std::vector<ProcessSample> processes_;
  std::optional<PowerModel> model_;
};

inline const ReportLayer* layer_named(const Report& report, std::string_view name) {
  for (const ReportLayer& layer : report.layers)
    if (layer.name == name) return &layer;
  return nullptr;
}

}  // namespace joulery::testing
