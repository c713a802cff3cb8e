#include "publish/chart_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace joulery {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

double value_at(const PowerTrack& track, std::size_t slot) { return slot < track.watts.size() ? track.watts[slot] : unknown; }

// Which source slots go into each picture slot: [first, last) by index, even in number.
std::vector<std::size_t> grouping(std::size_t slots, std::size_t most) {
  const std::size_t groups = std::min(slots, std::max<std::size_t>(1, most));
  std::vector<std::size_t> starts;
  for (std::size_t g = 0; g <= groups; ++g) starts.push_back(g * slots / groups);
  return starts;
}

PictureTrack thinned(const PowerTrack& track, const std::vector<double>& time, const std::vector<std::size_t>& starts) {
  PictureTrack out{track.path, track.label.empty() ? track.path : track.label, track.quality, {}};
  for (std::size_t g = 0; g + 1 < starts.size(); ++g) {
    double energy = 0, known = 0;
    for (std::size_t i = starts[g]; i < starts[g + 1]; ++i) {
      const double length = time[i + 1] - time[i];
      if (!std::isfinite(value_at(track, i)) || length <= 0) continue;
      energy += value_at(track, i) * length;
      known += length;
    }
    out.watts.push_back(known > 0 ? energy / known : unknown);
  }
  return out;
}

bool knows_anything(const PictureTrack& track) {
  return std::any_of(track.watts.begin(), track.watts.end(), [](double w) { return std::isfinite(w); });
}

// Gaps are found in the chart itself, not in the thinned slots, so that a short one is not averaged away.
std::vector<PictureGap> gaps_of(const Chart& chart, const std::vector<std::string>& missing) {
  std::vector<PictureGap> gaps;
  for (std::size_t i = 0; i + 1 < chart.time.size(); ++i) {
    std::string names;
    for (const PowerTrack& track : chart.tracks) {
      const std::string& label = track.label.empty() ? track.path : track.label;
      const bool never = std::find(missing.begin(), missing.end(), label) != missing.end();
      if (!track.overlap && !never && !std::isfinite(value_at(track, i))) names += (names.empty() ? "" : ", ") + label;
    }
    if (names.empty()) continue;
    if (!gaps.empty() && gaps.back().names == names && gaps.back().end_s == chart.time[i])
      gaps.back().end_s = chart.time[i + 1];
    else
      gaps.push_back({chart.time[i], chart.time[i + 1], names});
  }
  return gaps;
}

std::vector<PictureBand> bands_of(const Chart& chart, std::string_view kind) {
  std::vector<PictureBand> bands;
  for (const ChartBand& band : chart.bands)
    if (band.kind == kind) bands.push_back({band.name, band.begin_s, band.end_s, 1});
  std::stable_sort(bands.begin(), bands.end(), [](const auto& a, const auto& b) { return a.begin_s < b.begin_s; });
  return bands;
}

// Without the phases that lie inside an earlier one: the parts of "between steps" are what the steps leave free.
std::vector<PictureBand> outermost(const std::vector<PictureBand>& bands) {
  std::vector<PictureBand> out;
  for (const PictureBand& band : bands)
    if (out.empty() || band.end_s > out.back().end_s) out.push_back(band);
  return out;
}

// Neighbours drawn together where there are too many to tell apart.
std::vector<PictureBand> merged(const std::vector<PictureBand>& bands, std::size_t most, std::string_view noun) {
  if (bands.size() <= most) return bands;
  const std::vector<std::size_t> starts = grouping(bands.size(), most);
  std::vector<PictureBand> out;
  for (std::size_t g = 0; g + 1 < starts.size(); ++g) {
    PictureBand band = bands[starts[g]];
    for (std::size_t i = starts[g]; i < starts[g + 1]; ++i) band.end_s = std::max(band.end_s, bands[i].end_s);
    band.count = static_cast<std::int64_t>(starts[g + 1] - starts[g]);
    band.name = fmt::format("{} {} to {}", noun, starts[g] + 1, starts[g + 1]);
    out.push_back(std::move(band));
  }
  return out;
}

double highest_sum(const Picture& p) {
  double top = 0;
  for (std::size_t i = 0; i < p.slots(); ++i) {
    double sum = 0;
    for (const PictureTrack& layer : p.layers)
      if (std::isfinite(layer.watts[i])) sum += std::max(0.0, layer.watts[i]);
    top = std::max(top, sum);
  }
  return top;
}

double highest(const std::vector<PictureTrack>& tracks) {
  double top = 0;
  for (const PictureTrack& track : tracks)
    for (const double w : track.watts)
      if (std::isfinite(w)) top = std::max(top, w);
  return top;
}

}  // namespace

Picture picture_of(const Chart& chart, const Report& report, std::size_t most_slots, std::size_t most_steps) {
  Picture p;
  if (chart.time.size() < 2 || chart.time.back() <= chart.time.front()) return p;
  const std::vector<std::size_t> starts = grouping(chart.time.size() - 1, most_slots);
  for (const std::size_t start : starts) p.edges.push_back(chart.time[start]);
  for (const PowerTrack& track : chart.tracks) {
    PictureTrack thin = thinned(track, chart.time, starts);
    if (knows_anything(thin))
      (track.overlap ? p.lines : p.layers).push_back(std::move(thin));
    else if (!track.overlap)
      p.missing.push_back(thin.label);
  }
  p.gaps = gaps_of(chart, p.missing);
  p.phases = bands_of(chart, "phase");
  if (p.phases.empty())
    for (const ReportPhase& phase : report.phases) p.phases.push_back({phase.name, phase.begin_s, phase.end_s, 1});
  p.phases = outermost(p.phases);
  const std::vector<PictureBand> steps = bands_of(chart, "step");
  p.steps_in_all = std::max(report.steps.count, static_cast<std::int64_t>(steps.size()));  // the chart may have joined some
  p.steps = merged(steps, most_steps, "steps");
  p.phases = merged(p.phases, most_steps, "phases");
  p.marks = merged(bands_of(chart, "mark"), most_steps, "marks");
  p.top_watts = std::max(1e-3, highest_sum(p) * 1.05);
  p.lines_top_watts = std::max(1e-3, highest(p.lines) * 1.05);
  return p;
}

std::vector<double> ticks_to(double top, int wanted) {
  const double rough = top / std::max(1, wanted);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough * 0.999) {
      step = factor * power;
      break;
    }
  std::vector<double> ticks;
  for (int i = 0; i * step <= top * 1.0001 && i < 100; ++i) ticks.push_back(i * step);
  return ticks;
}

}  // namespace joulery
