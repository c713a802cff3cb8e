// What a picture of power over time shows, worked out before anything is drawn: slots few enough to see, layers stacked from
// the counted tracks, gaps, bands few enough to tell apart, axis ticks. Invariant: a slot in which nothing of a track is known
// stays NaN; means weigh by time; the picture and the table under it are drawn from this one value.
#pragma once

#include <string>
#include <vector>

#include "judge/report.h"

namespace joulery {

struct PictureTrack {
  std::string path, label;
  Quality quality = Quality::missing;
  std::vector<double> watts;  // mean over each slot, NaN where unknown
};

struct PictureGap {
  double begin_s = 0, end_s = 0;
  std::string names;  // the labels of what is not known there
};

struct PictureBand {
  std::string name;
  double begin_s = 0, end_s = 0;
  std::int64_t count = 1;  // steps that were drawn together
};

struct Picture {
  std::vector<double> edges;             // of the slots; empty where there is nothing to show
  std::vector<PictureTrack> layers;      // counted once: stacked, first at the bottom
  std::vector<PictureTrack> lines;       // overlaps: apart
  std::vector<std::string> missing;      // labels of counted tracks of which nothing is known
  std::vector<PictureGap> gaps;
  std::vector<PictureBand> phases, steps, marks;
  std::int64_t steps_in_all = 0;
  double top_watts = 1, lines_top_watts = 1;

  std::size_t slots() const { return edges.empty() ? 0 : edges.size() - 1; }
  double begin_s() const { return edges.empty() ? 0 : edges.front(); }
  double length_s() const { return edges.empty() ? 0 : edges.back() - edges.front(); }
};

// At most `most_slots` slots (>= 1) and `most_steps` step bands. Phases come from the chart's bands, else from the report.
Picture picture_of(const Chart& chart, const Report& report, std::size_t most_slots = 300, std::size_t most_steps = 200);

// Round numbers 0, step, 2 step ... up to `top`, about `wanted` of them; `top` > 0.
std::vector<double> ticks_to(double top, int wanted);

}  // namespace joulery
