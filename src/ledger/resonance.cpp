#include "ledger/resonance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "core/units.h"

namespace joulery {
namespace {

constexpr std::size_t least_many = 16;
constexpr double least_beat_updates = 4;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Mean time from one begin to the next, of those near the median: a pause between epochs is no step.
template <class Times>
std::optional<double> period_of(const Times& times, double refresh_slack) {
  std::vector<double> lengths;
  for (std::size_t i = 1; i < times.size(); ++i) lengths.push_back(to_seconds(times[i] - times[i - 1]));
  if (lengths.size() < least_many) return std::nullopt;
  const double typical = median(lengths);
  double sum = 0, count = 0;
  for (const double length : lengths) {
    // An update that changed nothing was not seen: its neighbours are a whole number of periods apart.
    const double whole = std::round(length / typical);
    if (whole < 1 || whole > 4 || std::abs(length / typical - whole) > refresh_slack) continue;
    sum += length;
    count += whole;
  }
  if (count < static_cast<double>(least_many)) return std::nullopt;
  return sum / count;
}

struct Swing {
  double hertz = 0, amplitude = 0, share = 0;  // share: of the readings' variance
};

// The strongest slow swing of the readings between two frequencies, by the discrete Fourier sum at `count` places between.
Swing strongest(std::span<const GaugeUpdate> updates, double from, double to) {
  double mean = 0, variance = 0;
  for (const GaugeUpdate& u : updates) mean += u.watts;
  mean /= static_cast<double>(updates.size());
  for (const GaugeUpdate& u : updates) variance += std::pow(u.watts - mean, 2);
  variance /= static_cast<double>(updates.size());
  Swing best;
  constexpr int count = 64;
  for (int k = 0; k <= count; ++k) {
    const double hertz = from + (to - from) * k / count;
    std::complex<double> sum;
    for (const GaugeUpdate& u : updates)
      sum += std::polar(u.watts - mean, -2 * std::numbers::pi * hertz * to_seconds(u.at - updates.front().at));
    const double amplitude = 2 * std::abs(sum) / static_cast<double>(updates.size());
    if (amplitude > best.amplitude) best = {hertz, amplitude, variance > 0 ? amplitude * amplitude / 2 / variance : 0};
  }
  return best;
}

double half_range(std::span<const GaugeUpdate> updates) {
  const auto [least, greatest] = std::ranges::minmax_element(updates, {}, &GaugeUpdate::watts);
  return (greatest->watts - least->watts) / 2;
}

struct Periods {
  double step, update, length;  // length: of the steps together
};

// The slowest beat of a simple ratio.
Resonance slowest(const Periods& p) {
  Resonance best;
  double least = 1e300;
  for (const double h : {0.5, 1.0, 2.0}) {
    const double ratio = h * p.update / p.step;
    const double m = std::round(ratio);
    if (m < 1 || m > 4) continue;
    const double hertz = std::abs(h / p.step - m / p.update);
    if (hertz >= least) continue;
    least = hertz;
    best = {seconds(p.step), seconds(p.update), h, static_cast<int>(m), {}, {}};
  }
  if (best.updates > 0) best.beat = seconds(std::min(1 / std::max(least, 1e-9), 1e6));
  return best;
}

}  // namespace

std::string Resonance::text() const {
  const double in_an_update = static_cast<double>(updates) / steps;
  const std::string many = in_an_update == 1 ? "one step" : in_an_update == 2 ? "two steps" : fmt::format("{:g} steps", in_an_update);
  return fmt::format("{} of {} to an update of {}, a beat of {}", many, to_text(step), to_text(update), to_text(beat));
}

std::optional<Resonance> find_resonance(std::span<const GaugeUpdate> all, std::span<const Step> steps, Interval run) {
  std::vector<MonoTime> begins, changes;
  for (const Step& step : steps) begins.push_back(step.when.begin);
  if (begins.size() < least_many) return std::nullopt;
  const Interval busy = intersect({steps.front().when.begin, steps.back().when.end}, run);
  std::vector<GaugeUpdate> updates;
  for (const GaugeUpdate& update : all)
    if (busy.contains(update.at)) updates.push_back(update);
  for (const GaugeUpdate& update : updates) changes.push_back(update.at);
  const auto step = period_of(begins, 0.25), update = period_of(changes, 0.4);
  if (!step || !update || busy.empty()) return std::nullopt;
  const Periods periods{*step, *update, to_seconds(busy.length())};
  Resonance found = slowest(periods);
  if (found.updates == 0 || to_seconds(found.beat) < least_beat_updates * periods.update) return std::nullopt;
  const double length = periods.length;
  if (to_seconds(found.beat) < 2 * length) {
    // A swing is to be seen: the readings say at which beat, better than the small difference of two periods does.
    const double expected = 1 / to_seconds(found.beat);
    const Swing swing =
        strongest(updates, std::max(0.5 / length, expected / 3), std::min(expected * 3, 1 / (least_beat_updates * periods.update)));
    if (swing.share < 0.5) return std::nullopt;
    found.beat = seconds(1 / swing.hertz);
    found.error = watts(half_range(updates) * std::min(1.0, to_seconds(found.beat) / (std::numbers::pi * length)));
  } else {
    found.error = watts(half_range(all));
  }
  return found;
}

std::vector<std::string> widen_for_resonance(Timeline& timeline, std::span<const Step> steps) {
  std::vector<std::string> flags;
  for (EnergySource& source : timeline.sources) {
    const auto found = find_resonance(source.updates, steps, timeline.run);
    if (!found) continue;
    double busy = 0;
    for (const Step& step : steps) busy += to_seconds(step.when.length());
    const double share = std::min(1.0, busy / std::max(1e-9, to_seconds(timeline.run.length())));
    source.track.widen(watts(to_watts(found->error) * share));
    flags.push_back(fmt::format("sensor-resonance: {} {}: {}", source.channel.component.path(), source.channel.name, found->text()));
  }
  return flags;
}

}  // namespace joulery
