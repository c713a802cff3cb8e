// What several runs of one command have in common (`joulery run -r N`): mean, spread, least and greatest, in all and by
// component. Invariant: a run in which a figure is missing does not enter that figure's statistics and is counted in `missing`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/report.h"
#include "publish/style.h"

namespace joulery {

// Over the runs that have the figure. `deviation` is the sample standard deviation (n - 1), empty for fewer than two runs.
struct Spread {
  std::int64_t count = 0, missing = 0;
  std::optional<double> mean, deviation, least, greatest;
};

struct RepeatedComponent {
  std::string path, label;
  bool overlap = false;
  Spread joules;
};

struct RepeatedWork {
  std::string unit;
  Spread joules_per_unit;
};

struct Repeats {
  std::vector<std::string> command;
  std::int64_t runs = 0, failed = 0, partial = 0;  // failed: an exit code that is not 0, or none
  Spread joules, seconds, watts;
  std::vector<RepeatedComponent> components;       // in the order of first appearance
  std::vector<RepeatedWork> work;
};

// NaN and infinite values count as missing.
Spread spread_of(std::span<const std::optional<double>> values);

Repeats summarise(std::span<const Report> runs);

// The summary of all runs as the terminal shows it, a line for each run below.
std::string repeats_text(std::span<const Report> runs, const TextStyle& style);

// Schema joulery.repeats/1 (data/schemas/repeats.json): {schema, runs: [joulery.report/1 ...], summary}.
std::string repeats_json(std::span<const Report> runs, int indent = 2);

}  // namespace joulery
