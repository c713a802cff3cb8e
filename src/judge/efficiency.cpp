#include "judge/efficiency.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <string_view>

#include "core/units.h"

namespace joulery {
namespace {

constexpr std::size_t most_operators = 15;
constexpr double worth_telling = 0.02;   // share of the time
constexpr double low_occupancy = 0.25;
// A call of the runtime that happens once and lasts far longer than its function's others makes a context or loads code: it launches nothing.
constexpr std::int64_t least_start_up_ns = 1'000'000;
constexpr std::int64_t far_longer = 10;  // times the second longest
constexpr std::size_t start_ups_named = 3;

// Ranges in which a loop waits for its next batch: PyTorch's DataLoader, tf.data's iterators.
bool is_input_wait(std::string_view name) {
  constexpr std::string_view marks[] = {"DataLoader", "IteratorGetNext", "Iterator::GetNext", "OneDeviceIteratorGetNext"};
  return std::ranges::any_of(marks, [name](std::string_view mark) { return name.find(mark) != std::string_view::npos; });
}

struct Sum {
  std::int64_t count = 0, ns = 0;
  void add(const ProfileEvent& event) { ++count, ns += event.duration; }
};

// The calls of one function of the runtime.
struct Calls {
  Sum all;
  std::int64_t longest_ns = 0, second_ns = 0;

  void add(const ProfileEvent& event) {
    all.add(event);
    second_ns = std::max(second_ns, std::min(longest_ns, event.duration));
    longest_ns = std::max(longest_ns, event.duration);
  }
  bool has_start_up() const { return longest_ns >= least_start_up_ns && longest_ns / far_longer >= second_ns; }
};

struct Sums {
  Sum kernels, pageable, syncs, input;
  Sum runtime, start_up;  // launches and what belongs to them; one-off calls
  std::vector<std::pair<std::int64_t, NameId>> start_ups;  // ns, the longest first
  std::int64_t input_until = INT64_MIN, sync_until = INT64_MIN;
  std::map<int, std::pair<double, double>> occupancy;  // of each device: occupied ns, ns
};

// Nested ranges of one kind count once: events of a track are by begin, so one that begins before the last one's end lies in it.
void add_outermost(Sum& sum, std::int64_t& until, const ProfileEvent& event) {
  if (event.begin < until) return;
  sum.add(event);
  until = event.end();
}

void split_runtime(Sums& sums, const std::map<NameId, Calls>& runtime) {
  for (const auto& [name, calls] : runtime) {
    sums.runtime.count += calls.all.count, sums.runtime.ns += calls.all.ns;
    if (!calls.has_start_up()) continue;
    sums.runtime.count -= 1, sums.runtime.ns -= calls.longest_ns;
    sums.start_up.count += 1, sums.start_up.ns += calls.longest_ns;
    sums.start_ups.emplace_back(calls.longest_ns, name);
  }
  std::ranges::sort(sums.start_ups, std::greater{});
}

Sums sums_of(const Profile& profile) {
  Sums sums;
  std::map<NameId, Calls> runtime;
  std::map<NameId, bool> input;
  for (const ProfileTrack& track : profile.tracks) {
    if (track.kind == TrackKind::summary) continue;
    sums.input_until = sums.sync_until = INT64_MIN;
    for (const ProfileEvent& event : track.events) {
      if (event.kind == EventKind::kernel) {
        sums.kernels.add(event);
        const auto facts = profile.facts.find(event.name);
        if (facts == profile.facts.end() || facts->second.occupied_ns <= 0) continue;
        auto& [occupied, all] = sums.occupancy[track.device];
        occupied += facts->second.occupancy_ns / static_cast<double>(facts->second.occupied_ns) * static_cast<double>(event.duration);
        all += static_cast<double>(event.duration);
      }
      if (event.kind == EventKind::copy && profile.name(event.name).find("ageable") != std::string_view::npos) sums.pageable.add(event);
      if (event.kind == EventKind::runtime) runtime[event.name].add(event);
      if (event.kind == EventKind::sync && track.device < 0) add_outermost(sums.syncs, sums.sync_until, event);
      if (event.kind == EventKind::op || event.kind == EventKind::annotation || event.kind == EventKind::python) {
        const auto [place, fresh] = input.try_emplace(event.name);
        if (fresh) place->second = is_input_wait(profile.name(event.name));
        if (place->second) add_outermost(sums.input, sums.input_until, event);
      }
    }
  }
  split_runtime(sums, runtime);
  return sums;
}

class Judge {
 public:
  Judge(const Profile& profile, const ProfileAccount& account) : profile_(profile), account_(account), sums_(sums_of(profile)) {}

  Efficiency judged(double samples_per_step) {
    result_.length = account_.length;
    result_.energy = account_.energy;
    result_.steps = static_cast<std::int64_t>(account_.steps.size());
    result_.notes = account_.notes;
    add_rates(samples_per_step);
    add_devices();
    add_operators();
    add_findings();
    return std::move(result_);
  }

 private:
  double share(Duration time) const { return account_.length > Duration{} ? time / account_.length : 0; }

  void add_rates(double samples) {
    const double length = to_seconds(account_.length), steps = static_cast<double>(result_.steps);
    if (result_.steps > 0) {
      double seconds = 0;
      Energy energy;
      bool known = true;
      for (const StepLine& step : account_.steps) {
        seconds += to_seconds(step.length);
        energy += step.energy.value_or(Energy{});
        known = known && step.energy;
      }
      if (seconds > 0) result_.steps_per_second = steps / seconds;
      if (known) result_.joules_per_step = to_joules(energy) / steps;
      if (samples > 0 && result_.steps_per_second) result_.samples_per_second = samples * *result_.steps_per_second;
      if (samples > 0 && result_.joules_per_step) result_.joules_per_sample = *result_.joules_per_step / samples;
    }
    if (sums_.kernels.count > 0 && sums_.runtime.count > 0) result_.launch_per_kernel = nanoseconds(sums_.runtime.ns / sums_.kernels.count);
    if (sums_.start_up.count > 0) result_.start_up = nanoseconds(sums_.start_up.ns);
    if (sums_.input.count > 0 && length > 0) result_.input_stalled = std::min(1.0, static_cast<double>(sums_.input.ns) * 1e-9 / length);
  }

  void add_devices() {
    Duration gaps;
    bool accelerated = false;
    for (const ProfileSide& side : account_.sides) {
      EfficiencyDevice device{side.device, {}, share(side.busy), {}, {}, {}, side.energy};
      for (const ProfileDevice& known : profile_.devices)
        if (known.ordinal == side.device) device.name = known.name;
      for (const ProfileMemory& memory : profile_.memory) {
        if (memory.device != side.device) continue;
        if (memory.peak_used > 0) device.peak_used = memory.peak_used;
        if (memory.peak_reserved > 0) device.peak_reserved = memory.peak_reserved;
      }
      if (const auto found = sums_.occupancy.find(side.device); found != sums_.occupancy.end() && found->second.second > 0)
        device.occupancy = found->second.first / found->second.second;
      result_.devices.push_back(std::move(device));
    }
    for (const GapLine& gap : account_.gaps)
      if (gap.device >= 0) gaps += gap.time, accelerated = true;
    if (accelerated && result_.steps > 0) result_.gap_per_step = nanoseconds(gaps.base_units() / result_.steps);
  }

  void add_operators() {
    for (const OperatorLine& line : account_.operators) {
      if (result_.operators.size() == most_operators) break;
      const Duration time = line.figures.host + line.figures.device;
      std::optional<double> part;
      if (line.figures.energy && account_.energy && *account_.energy > Energy{})
        part = *line.figures.energy / *account_.energy;
      else if (!account_.energy)
        part = share(time);
      result_.operators.push_back({line.name, time, line.figures.energy, part, line.merged});
    }
  }

  // What all that is counted burnt in so much of the time, on the average.
  std::optional<Energy> burnt_in(Duration time) const {
    if (!account_.energy || account_.length <= Duration{}) return std::nullopt;
    return *account_.energy * std::min(1.0, share(time));
  }

  // "; the longest: cudaFree 6.01 s"
  std::string longest_start_ups() const {
    std::string named;
    for (const auto& [ns, name] : sums_.start_ups | std::views::take(start_ups_named))
      named += fmt::format("{} {} {}", named.empty() ? "; the longest:" : ",", profile_.name(name), to_text(nanoseconds(ns)));
    return named;
  }

  void find(std::string what, const Sum& sum, std::string_view noun, std::string advice, std::string_view more = {}) {
    const Duration time = nanoseconds(sum.ns);
    if (share(time) < worth_telling) return;
    result_.findings.push_back(
        {std::move(what),
         fmt::format("{} {}, {}, {:.1f} % of the time{}", fmt::group_digits(sum.count), noun, to_text(time), 100 * share(time), more),
         std::move(advice), time, burnt_in(time)});
  }

  void add_findings() {
    find("pageable memory copies", sums_.pageable, "copies", "Pin the host's memory (pin_memory=True) and copy with non_blocking=True");
    find("waits for the device", sums_.syncs, "waits", "Avoid .item(), .cpu() and printing of tensors in every step");
    find("waits for input", sums_.input, "waits", "More loader workers, prefetching, or cheaper preprocessing");
    if (sums_.kernels.count > 0)
      find("launch overhead", sums_.runtime, "runtime calls", "Fewer and larger kernels: fuse, compile, use graphs or larger batches");
    find("start-up of the runtime", sums_.start_up, "one-off calls",
         "Paid once: let some steps go by before the profile begins, and weigh it against the length of the whole run",
         longest_start_ups());
    for (const GapLine& gap : account_.gaps) {
      if (gap.device < 0 || share(gap.time) < worth_telling) continue;
      result_.findings.push_back({fmt::format("device {} idle between kernels", gap.device),
                                  fmt::format("{}, {:.1f} % of the time", to_text(gap.time), 100 * share(gap.time)),
                                  "Keep the device fed: look at input, waits and launches", gap.time, gap.energy});
    }
    for (const EfficiencyDevice& device : result_.devices)
      if (device.occupancy && *device.occupancy < low_occupancy)
        result_.findings.push_back({fmt::format("low achieved occupancy on device {}", device.device),
                                    fmt::format("{:.0f} % on the average over its kernels' time", 100 * *device.occupancy),
                                    "Larger batches, or fewer registers and less shared memory per thread",
                                    {},
                                    device.energy});
    std::ranges::stable_sort(result_.findings, [](const EfficiencyFinding& a, const EfficiencyFinding& b) {
      return std::pair(a.at_stake.value_or(Energy{}), a.time) > std::pair(b.at_stake.value_or(Energy{}), b.time);
    });
  }

  const Profile& profile_;
  const ProfileAccount& account_;
  Sums sums_;
  Efficiency result_;
};

}  // namespace

Efficiency make_efficiency(const Profile& profile, const ProfileAccount& account, double samples_per_step) {
  return Judge(profile, account).judged(samples_per_step);
}

}  // namespace joulery
