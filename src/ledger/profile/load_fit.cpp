#include "ledger/profile/load_fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ledger/power_series.h"
#include "ledger/profile/busy_sweep.h"

namespace joulery {
namespace {

constexpr std::size_t most_slots = 20'000;    // of the run
constexpr std::size_t least_slots = 8;        // of the trace
constexpr double least_correlation = 0.5;
constexpr double nearly = 0.02;               // of correlation: what fits as well as the best, for all that the noise tells
constexpr const char* marks_instead = "mark the steps with joulery's hooks, or use a profiler that writes the time of day";

bool has_device(const Profile& profile) {
  return std::ranges::any_of(profile.tracks, [](const ProfileTrack& track) { return track.kind == TrackKind::stream; });
}

// The share of each slot of `step` in which the trace's devices, or its threads, worked.
std::vector<double> busy_series(const Profile& profile, Duration step) {
  const TrackKind kind = has_device(profile) ? TrackKind::stream : TrackKind::thread;
  std::vector<std::uint32_t> tracks;
  for (std::uint32_t i = 0; i < profile.tracks.size(); ++i)
    if (profile.tracks[i].kind == kind) tracks.push_back(i);
  const std::int64_t slot = step.base_units();
  std::vector<double> busy(static_cast<std::size_t>((profile.end - profile.begin) / slot));
  sweep(profile, tracks, [&](std::int64_t begin, std::int64_t end, std::span<const Worker>) {
    for (std::int64_t at = begin - profile.begin; at < end - profile.begin;) {
      const auto i = static_cast<std::size_t>(at / slot);
      if (i >= busy.size()) return;
      const std::int64_t until = std::min(end - profile.begin, static_cast<std::int64_t>(i + 1) * slot);
      busy[i] += static_cast<double>(until - at) / static_cast<double>(slot);
      at = until;
    }
  });
  return busy;
}

std::vector<const Row*> rows_for(const Profile& profile, const Ledger& ledger) {
  std::vector<const Row*> all, accelerators;
  for (const Row& row : ledger.rows()) {
    if (row.overlap || !row.track) continue;
    all.push_back(&row);
    if (row.component.path().starts_with("node/gpu/") || row.component.path().starts_with("node/accelerator/"))
      accelerators.push_back(&row);
  }
  return has_device(profile) && !accelerators.empty() ? accelerators : all;
}

// Correlations of `load` with every part of `power` of its length; NaN where power is unknown.
std::vector<double> correlate(const std::vector<double>& load, const std::vector<double>& power) {
  const std::size_t n = load.size();
  const double mean = std::accumulate(load.begin(), load.end(), 0.0) / static_cast<double>(n);
  double variance = 0;
  for (const double x : load) variance += (x - mean) * (x - mean);
  std::vector<double> found(power.size() - n + 1);
  for (std::size_t place = 0; place < found.size(); ++place) {
    double sum = 0, squares = 0, product = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double y = power[place + i];
      sum += y;
      squares += y * y;
      product += (load[i] - mean) * y;
    }
    const double spread = squares - sum * sum / static_cast<double>(n);
    found[place] = spread > 0 && variance > 0 ? product / std::sqrt(spread * variance) : 0;
  }
  return found;
}

}  // namespace

Result<LoadFit> fit_load(const Profile& profile, const Ledger& ledger, Interval run) {
  const std::vector<const Row*> rows = rows_for(profile, ledger);
  if (rows.empty()) return fail(ErrorCode::not_found, "the recording has no power to compare the trace's load with", "", marks_instead);
  Duration step = reading_interval(rows);
  if (step <= Duration{})
    return fail(ErrorCode::not_found, "the recording has too few readings to find the trace in it", "", marks_instead);
  step = nanoseconds(std::max(step.base_units(), run.length().base_units() / static_cast<std::int64_t>(most_slots) + 1));
  const std::int64_t trace_slots = (profile.end - profile.begin) / step.base_units();
  const Grid grid = grid_over(run, step, most_slots);
  if (trace_slots < static_cast<std::int64_t>(least_slots) || static_cast<std::int64_t>(grid.count) < trace_slots)
    return fail(ErrorCode::not_found, "the trace is too short, or too long, to be found in the recording by its load", "", marks_instead);
  const std::vector<double> load = busy_series(profile, grid.step);
  if (load.size() > grid.count || load.empty())
    return fail(ErrorCode::not_found, "the trace is longer than the recording", "", marks_instead);
  const std::vector<double> found = correlate(load, power_series(rows, grid, Duration{}));
  std::size_t best = 0;
  for (std::size_t i = 1; i < found.size(); ++i)
    if (found[i] > found[best] || std::isnan(found[best])) best = i;
  LoadFit fit;
  fit.correlation = found[best];
  if (!(fit.correlation >= least_correlation))
    return fail(ErrorCode::not_found, "the measured power does not follow the trace's load anywhere in the recording", "", marks_instead);
  std::size_t low = best, high = best;
  while (low > 0 && found[low - 1] >= fit.correlation - nearly) --low;
  while (high + 1 < found.size() && found[high + 1] >= fit.correlation - nearly) ++high;
  for (std::size_t i = 0; i < found.size(); ++i)
    if ((i + 1 < low || i > high + 1) && found[i] > fit.rival) fit.rival = found[i];
  std::int64_t reach = static_cast<std::int64_t>(std::max(best - low, high - best)) + 1;
  // Where a place farther away fits nearly as well, the truth may be there.
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i] >= fit.correlation - nearly)
      reach = std::max(reach, std::abs(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(best)) + 1);
  fit.error = nanoseconds(reach * grid.step.base_units());
  fit.offset_ns = grid.edge(best).ns - profile.begin;
  return fit;
}

}  // namespace joulery
