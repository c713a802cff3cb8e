// What the marks of a program say about its run: steps, phases, work done, business figures.
//
// A step is a step_begin and the next step_end of the same name by the same thread of the same process (innermost
// first). A step that never ends is not counted. Steps of several threads or ranks may overlap: the phase "steps" is
// the union of them all, so that no moment is counted twice.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/time.h"
#include "watch/mark.h"

namespace joulery {

struct Step {
  Interval when;
  std::string name;
  double work = 0;       // units of work it holds, 0 where not said
  std::int32_t pid = 0, tid = 0;
};

struct KpiValue {
  MonoTime at;
  double value = 0;
};

struct Kpi {
  std::string name;
  double last = 0;
  MonoTime at;
  std::vector<KpiValue> values;    // all, by time
};

struct WorkDone {
  std::string unit;
  double count = 0;
};

struct Steps {
  std::vector<Step> steps;         // by begin; outermost steps only
  std::vector<Kpi> kpis;           // by name
  std::vector<WorkDone> work;      // by unit
  std::vector<Mark> points;        // by time
};

// `marks` by time. Marks outside `run` are left out.
Steps collect_steps(std::span<const Mark> marks, Interval run);

struct Phase {
  std::string name;
  std::vector<Interval> pieces;    // by time, disjoint
};

// start-up (until the first step), steps, between steps, tear-down (after the last); the pieces of all phases cover `run`
// exactly once. Without steps: one phase, "run".
std::vector<Phase> phases_of(std::span<const Step> steps, Interval run);

}  // namespace joulery
