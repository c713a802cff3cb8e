#include "ledger/merge/host_alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/units.h"

namespace joulery {
namespace {

constexpr double greatest_drift = 500e-6;  // the kernel slews no faster (adjtimex(2)), and quartz is ten times better

template <class T>
T middle_of(std::vector<T> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// The steps of each rank of a host, by begin.
std::vector<std::vector<Step>> ranks_of_host(const std::vector<MergeInput>& inputs, const PlannedHost& host) {
  std::vector<std::vector<Step>> ranks;
  for (const std::size_t input : host.inputs) {
    std::map<std::int32_t, std::vector<Step>> by_pid;
    for (Step& step : collect_steps(inputs[input].marks, host.run).steps) by_pid[step.pid].push_back(std::move(step));
    for (auto& [pid, steps] : by_pid) ranks.push_back(std::move(steps));
  }
  return ranks;
}

HostRounds rounds_of(const std::vector<MergeInput>& inputs, const PlannedHost& host) {
  HostRounds rounds;
  const auto ranks = ranks_of_host(inputs, host);
  if (ranks.empty()) return rounds;
  std::size_t count = ranks.front().size();
  for (const auto& steps : ranks) count = std::min(count, steps.size());
  std::vector<Duration> lengths;
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<MonoTime> begins, ends;
    for (const auto& steps : ranks) {
      begins.push_back(steps[k].when.begin);
      ends.push_back(steps[k].when.end);
      lengths.push_back(steps[k].when.length());
    }
    rounds.begins.push_back(middle_of(std::move(begins)));
    rounds.ends.push_back(middle_of(std::move(ends)));
  }
  if (!lengths.empty()) rounds.typical = middle_of(std::move(lengths));
  return rounds;
}

// Round k of the job's host and round k + later of the other.
std::vector<CommonMoment> moments_of(const std::vector<MonoTime>& job, const std::vector<MonoTime>& host, std::int64_t later) {
  std::vector<CommonMoment> moments;
  for (std::size_t k = 0; k < job.size(); ++k) {
    const std::int64_t other = static_cast<std::int64_t>(k) + later;
    if (other >= 0 && other < static_cast<std::int64_t>(host.size())) moments.push_back({job[k], host[static_cast<std::size_t>(other)]});
  }
  return moments;
}

bool plausible(const ClockFit& fit, Duration step) {
  if (std::abs(fit.drift) > greatest_drift || fit.scatter > nanoseconds(step.base_units() / 4)) return false;
  return fit.smoothness > 0.2 || fit.scatter < nanoseconds(step.base_units() / 20);
}

std::optional<ClockFit> better(const std::optional<ClockFit>& a, const std::optional<ClockFit>& b) {
  if (!a || !b) return a ? a : b;
  return b->scatter < a->scatter ? b : a;
}

Duration distance(Duration a, Duration b) { return a < b ? b - a : a - b; }

void use_wall_clocks(const MergeInput& job, const MergeInput& own, Duration shift, PlannedHost& host) {
  host.shift = nanoseconds(shift.base_units() / 1000 * 1000);
  host.clock = {host.run.begin + host.shift, 0};
  host.alignment.source = "wall clocks";
  if (!job.facts.wall_clock_error || !own.facts.wall_clock_error) return;
  const Duration off = *job.facts.wall_clock_error + *own.facts.wall_clock_error;
  host.alignment.low = -off;
  host.alignment.high = off;
}

void use_steps(const ClockFit& fit, Duration wall_shift, PlannedHost& host) {
  host.shift = nanoseconds(static_cast<std::int64_t>(std::llround(static_cast<double>(fit.shift.base_units()) / 1e3)) * 1000);
  host.clock = {fit.at + host.shift, fit.drift};
  host.alignment = {wall_shift - fit.shift,
                    wall_shift - fit.shift_high,
                    wall_shift - fit.shift_low,
                    -fit.drift,
                    -fit.drift_high,
                    -fit.drift_low,
                    fmt::format("{} common steps", fit.moments)};
}

}  // namespace

std::optional<ClockFit> fit_rounds(const HostRounds& job, const HostRounds& host, Duration expected) {
  const auto more = static_cast<std::int64_t>(host.ends.size()) - static_cast<std::int64_t>(job.ends.size());
  constexpr std::int64_t most = 64;  // of rounds that one of them may lack at its start
  std::optional<ClockFit> best;
  for (std::int64_t later = std::max(std::min<std::int64_t>(more, 0), -most); later <= std::min(std::max<std::int64_t>(more, 0), most);
       ++later) {
    const auto fit = better(fit_clock(moments_of(job.ends, host.ends, later)), fit_clock(moments_of(job.begins, host.begins, later)));
    if (fit && (!best || distance(fit->shift, expected) < distance(best->shift, expected))) best = fit;
  }
  if (!best || !plausible(*best, std::min(job.typical, host.typical))) return std::nullopt;
  return best;
}

void align_host(const std::vector<MergeInput>& inputs, const PlannedHost& first, PlannedHost& host, std::vector<std::string>& notes) {
  const MergeInput &job = inputs[first.inputs.front()], &own = inputs[host.inputs.front()];
  host.clock = {host.run.begin, 0};
  const bool same_clock = !own.facts.host.boot_id.empty() && own.facts.host.boot_id == job.facts.host.boot_id;
  if (&host == &first || same_clock) {
    host.alignment = {{}, Duration{}, Duration{}, 0, 0.0, 0.0, "the job's clock"};
    return;
  }
  // The same moment on both, by the wall clocks; once more where the steps tell better.
  const MonoTime at = own.middle(), roughly = at + (own.wall_ahead(at) - job.wall_ahead(job.middle()));
  const Duration wall_shift = own.wall_ahead(at) - job.wall_ahead(roughly);
  const HostRounds job_rounds = rounds_of(inputs, first), own_rounds = rounds_of(inputs, host);
  const auto fit = fit_rounds(job_rounds, own_rounds, wall_shift);
  const bool known = job.facts.wall_clock_error && own.facts.wall_clock_error;
  const Duration off = known ? *job.facts.wall_clock_error + *own.facts.wall_clock_error : Duration{};
  if (fit && (!known || distance(wall_shift, fit->shift) <= off + (fit->shift_high - fit->shift_low)))
    return use_steps(*fit, own.wall_ahead(fit->at) - job.wall_ahead(fit->at + fit->shift), host);
  use_wall_clocks(job, own, wall_shift, host);
  if (job_rounds.ends.size() >= fewest_moments && own_rounds.ends.size() >= fewest_moments)
    notes.push_back(fmt::format("steps-not-common: {}: its steps do not go with those of {}; the wall clocks lay them on each other",
                                host.name, first.name));
}

}  // namespace joulery
