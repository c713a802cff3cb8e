#include "ledger/steps.h"

#include <algorithm>
#include <tuple>

namespace joulery {
namespace {

struct OpenStep {
  MonoTime begin;
  std::string name;
  double work = 0;
};

class Collector {
 public:
  explicit Collector(Interval run) : run_(run) {}

  void take(const Mark& mark) {
    if (mark.time < run_.begin || mark.time > run_.end) return;
    switch (mark.kind) {
      case MarkKind::step_begin: open_[{mark.pid, mark.tid}].push_back({mark.time, mark.name, mark.value}); break;
      case MarkKind::step_end: close(mark); break;
      case MarkKind::point: result_.points.push_back(mark); break;
      case MarkKind::kpi: note(mark); break;
      case MarkKind::work: work_[mark.name] += mark.value; break;
    }
  }

  Steps finish() {
    for (auto& [name, kpi] : kpis_) result_.kpis.push_back(std::move(kpi));
    for (const auto& [unit, count] : work_) result_.work.push_back({unit, count});
    std::ranges::stable_sort(result_.steps, {}, [](const Step& step) { return step.when.begin; });
    return std::move(result_);
  }

 private:
  void note(const Mark& mark) {
    Kpi& kpi = kpis_[mark.name];
    kpi.name = mark.name;
    kpi.last = mark.value;
    kpi.at = mark.time;
    kpi.values.push_back({mark.time, mark.value});
  }

  void close(const Mark& mark) {
    auto& open = open_[{mark.pid, mark.tid}];
    const auto begun = std::find_if(open.rbegin(), open.rend(), [&](const OpenStep& step) { return step.name == mark.name; });
    if (begun == open.rend()) return;
    const OpenStep step = *begun;
    open.erase(std::next(begun).base(), open.end());  // what was opened inside and never closed goes with it
    if (step.work > 0) work_[step.name == default_step_name ? default_work_unit : step.name] += step.work;
    if (open.empty()) result_.steps.push_back({{step.begin, mark.time}, step.name, step.work, mark.pid, mark.tid});
  }

  Interval run_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<OpenStep>> open_;
  std::map<std::string, Kpi> kpis_;
  std::map<std::string, double> work_;
  Steps result_;
};

std::vector<Interval> union_of(std::span<const Step> steps) {
  std::vector<Interval> merged;
  for (const Step& step : steps) {
    if (step.when.empty()) continue;
    if (!merged.empty() && step.when.begin <= merged.back().end)
      merged.back().end = std::max(merged.back().end, step.when.end);
    else
      merged.push_back(step.when);
  }
  return merged;
}

}  // namespace

Steps collect_steps(std::span<const Mark> marks, Interval run) {
  Collector collector(run);
  for (const Mark& mark : marks) collector.take(mark);
  return collector.finish();
}

std::vector<Phase> phases_of(std::span<const Step> steps, Interval run) {
  std::vector<Interval> busy = union_of(steps);
  if (busy.empty()) return {{"run", {run}}};
  std::vector<Interval> between;
  for (std::size_t i = 1; i < busy.size(); ++i) between.push_back({busy[i - 1].end, busy[i].begin});
  std::vector<Phase> phases{{"start-up", {{run.begin, busy.front().begin}}}};
  const Interval after{busy.back().end, run.end};
  phases.push_back({"steps", std::move(busy)});
  phases.push_back({"between steps", std::move(between)});
  phases.push_back({"tear-down", {after}});
  return phases;
}

}  // namespace joulery
