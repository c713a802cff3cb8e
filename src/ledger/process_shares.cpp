#include "ledger/process_shares.h"

#include <fmt/format.h>

#include <algorithm>

#include "ledger/split.h"

namespace joulery {
namespace {

// CPU time of each process within `run`: its last sample less what it had when the run began.
std::vector<ProcessShare> cpu_times(std::span<const ProcessSample> samples, Interval run) {
  std::vector<ProcessShare> shares;
  for (std::size_t i = 0; i < samples.size();) {
    std::size_t end = i;
    Duration before;
    while (end < samples.size() && samples[end].id == samples[i].id) {
      if (samples[end].time < run.begin) before = samples[end].cpu;
      ++end;
    }
    const ProcessSample& last = samples[end - 1];
    shares.push_back({last.id.pid, last.name, std::max(Duration{}, last.cpu - before), std::nullopt});
    i = end;
  }
  std::ranges::stable_sort(shares, std::ranges::greater{}, &ProcessShare::cpu);
  return shares;
}

}  // namespace

std::vector<ProcessShare> share_by_process(std::span<const ProcessSample> samples, Duration unseen,
                                           std::span<const ShortLivedSum> short_lived, Interval run, const SharedEnergy& energy) {
  std::vector<ProcessShare> lines = cpu_times(samples, run);
  for (const ShortLivedSum& sum : short_lived) {
    lines.push_back({0, fmt::format("{} ({} short-lived)", sum.name, sum.count), sum.cpu, std::nullopt});
    unseen -= sum.cpu;
  }
  if (unseen > milliseconds(1)) lines.push_back({0, "short-lived children", unseen, std::nullopt});
  Duration seen;
  for (const ProcessShare& line : lines) seen += line.cpu;
  const Duration others = std::max(Duration{}, energy.busy - seen);
  if (energy.busy > Duration{}) lines.push_back({0, "other processes", others, std::nullopt});
  if (energy.host && energy.busy > Duration{}) {
    const Energy idle = std::clamp(energy.idle.value_or(Energy{}), Energy{}, std::max(Energy{}, *energy.host));
    std::vector<double> weights;
    for (const ProcessShare& line : lines) weights.push_back(to_seconds(line.cpu));
    const std::vector<Energy> parts = split(*energy.host - idle, weights);
    for (std::size_t i = 0; i < parts.size(); ++i) lines[i].energy = parts[i];
    if (energy.idle) lines.push_back({0, "idle", {}, idle});
  }
  if (energy.accelerators) lines.push_back({0, "accelerators, not split by process", {}, energy.accelerators});
  return lines;
}

}  // namespace joulery
