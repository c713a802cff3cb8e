// Measurements one by one, for `joulery export`: a row for each component and instant. Written piece by piece, so that a
// recording of any length streams through. Invariant: a missing value is an empty field or null, with its reason beside it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/quality.h"
#include "core/time.h"
#include "judge/report.h"

namespace joulery {

struct SampleRow {
  WallTime time;                // the end of the interval that the row covers
  Duration elapsed;             // since the start of the run
  std::string component;        // "node/cpu/package-0"
  std::optional<double> watts;  // mean over the interval
  std::optional<Energy> joules; // since the start of the run
  bool partial = false;         // `joules` lacks what burnt in a gap before
  Quality quality = Quality::missing;
  std::string meter;
  std::string reason;           // why something is missing
};

// "2026-03-01T12:00:00.123456Z": UTC, microseconds, whatever the time zone and the locale.
std::string iso_utc(WallTime time);

// CSV: the header line, then one line a row.
std::string sample_csv_header();
std::string sample_csv(const SampleRow& row);

// JSON: {"schema": "joulery.samples/1", "samples": [ one row a line ]}. Call head, row for each, tail.
class SampleJson {
 public:
  std::string head() const;
  std::string row(const SampleRow& row);
  std::string tail() const;

 private:
  bool any_ = false;
};

// The rows of a chart, slot by slot, joules summed up from mean power; `begin` is the wall time of the run's start.
// After a slot without a value a component's joules are partial.
std::vector<SampleRow> chart_samples(const Chart& chart, WallTime begin);

}  // namespace joulery
