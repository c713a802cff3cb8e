#include "judge/make_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/units.h"
#include "judge/label.h"
#include "judge/meter_delay.h"

namespace joulery {
namespace {

// How far an estimate may be off to either side, joules.
struct Error90 {
  double below = 0, above = 0;
};
Error90 error_of(const Estimate& e) { return {to_joules(e.value - e.low), to_joules(e.high - e.value)}; }
Error90 independent(Error90 a, Error90 b) { return {std::hypot(a.below, b.below), std::hypot(a.above, b.above)}; }
Estimate with_error(Energy value, Error90 e) { return {value, value - joules(e.below), value + joules(e.above)}; }

// A meter of a whole with its delay against the parts inside.
struct Whole {
  const Row* row = nullptr;        // null: no such meter
  DelayEstimate delay;
  Duration shift() const { return delay.delay ? delay.delay->value : Duration{}; }
};

Interval moved(Interval when, Duration by) { return {when.begin + by, when.end + by}; }

// What `whole` tells of `when`, read as much later as it tells late. Not knowing the delay exactly is an error of its own.
Span aligned_energy(const Ledger& ledger, const Whole& whole, Interval when) {
  Span span = ledger.energy(*whole.row, moved(when, whole.shift()));
  if (!span.energy || !whole.delay.delay) return span;
  double off = 0;
  for (const Duration end : {whole.delay.delay->low, whole.delay.delay->high})
    if (const Span other = ledger.energy(*whole.row, moved(when, end)); other.energy)
      off = std::max(off, std::abs(to_joules(other.energy->value - span.energy->value)));
  span.energy = with_error(span.energy->value, independent(error_of(*span.energy), {off, off}));
  return span;
}

// The parts inside the node that are counted by themselves, and those that nothing measures.
std::vector<const Row*> parts_of_node(const Ledger& ledger) {
  const Component node("node"), rest("node/rest");
  std::vector<const Row*> parts;
  for (const Row& row : ledger.rows()) {
    const bool nobody_measures = !row.track && row.meter.empty();
    if ((!row.overlap || nobody_measures) && row.minus.empty() && row.component.inside(node) && row.component != rest)
      parts.push_back(&row);
  }
  return parts;
}

std::vector<const Row*> known(const std::vector<const Row*>& rows) {
  std::vector<const Row*> some;
  for (const Row* row : rows)
    if (row->track) some.push_back(row);
  return some;
}

std::string meters_of(const std::vector<const Row*>& rows) {
  std::set<std::string> names;
  for (const Row* row : rows) names.insert(row->meter);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Errors of one meter add, those of different meters are independent (law of Ledger::total).
class Sum {
 public:
  void add(const std::string& meter, const Estimate& e) {
    value_ += e.value;
    Error90& error = by_meter_[meter];
    error.below += error_of(e).below;
    error.above += error_of(e).above;
  }
  Energy value() const { return value_; }
  Error90 error() const {
    Error90 all;
    for (const auto& [meter, error] : by_meter_) all = independent(all, error);
    return all;
  }

 private:
  Energy value_;
  std::map<std::string, Error90> by_meter_;
};

std::optional<double> share_of(const std::optional<Estimate>& part, const std::optional<Estimate>& whole) {
  if (!part || !whole || whole->value <= Energy{}) return std::nullopt;
  return part->value / whole->value;
}

std::string partial_words(const Span& span) { return span.partial ? "part of the time is lost: see the gaps" : ""; }

// Whole less parts. Its error holds both sides': what the whole may read too little and the parts too much.
void add_residual(ReportLayer& layer, const Sum& parts) {
  ReportResidual& left = layer.residual;
  if (!layer.joules) {
    left.reason = "the whole of this layer is not known";
    return;
  }
  const Error90 whole = error_of(*layer.joules), inside = parts.error();
  left.joules =
      with_error(layer.joules->value - parts.value(), {std::hypot(whole.below, inside.above), std::hypot(whole.above, inside.below)});
  left.share = share_of(left.joules, layer.joules);
  if (left.joules->value >= Energy{}) return;
  const std::string by = to_text(parts.value() - layer.joules->value);
  left.reason = left.joules->high < Energy{}
                    ? fmt::format("the meters disagree: the parts read {} more than the whole, beyond what their errors allow", by)
                    : fmt::format("the parts read {} more than the whole; their errors allow for it", by);
}

ReportLayerPart part_of(const Row& row, const Span& span, const std::optional<Estimate>& whole) {
  ReportLayerPart part{row.component.path(),
                       label_of(row.component),
                       span.energy,
                       share_of(span.energy, whole),
                       span.energy ? row.quality : Quality::missing,
                       row.meter,
                       row.reason};
  if (part.reason.empty()) part.reason = span.energy ? partial_words(span) : "no reading during the run";
  return part;
}

// What nobody measures inside the node and burns all the same.
std::string unmeasured_parts(const Ledger& ledger) {
  const auto parts = known(parts_of_node(ledger));
  const auto none_in = [&](const char* path) {
    const Component component(path);
    return std::ranges::none_of(parts, [&](const Row* row) { return row->component == component || row->component.inside(component); });
  };
  std::vector<std::string> names;
  if (none_in("node/cpu")) names.emplace_back("processors");
  if (none_in("node/dram")) names.emplace_back("memory");
  const bool silent_gpu =
      std::ranges::any_of(ledger.rows(), [](const Row& row) { return !row.track && row.component.inside(Component("node/gpu")); });
  if (silent_gpu) names.emplace_back("accelerators that cannot be read");
  names.emplace_back("fans, board, storage, network");
  return fmt::format("{}", fmt::join(names, ", "));
}

// Which time every whole has readings for, each moved by its own delay; the run itself where nothing is late.
Interval common_time(Interval run, std::initializer_list<const Whole*> wholes) {
  Interval common = run;
  for (const Whole* whole : wholes) {
    if (!whole->row || !whole->row->track || whole->shift() == Duration{}) continue;
    const Interval covered = whole->row->track->covered();
    // What a meter lacks for other reasons than its delay is told as partial, not cut off here.
    const MonoTime first = std::max(run.begin, std::min(covered.begin - whole->shift(), run.begin - whole->shift()));
    const MonoTime last = std::min(run.end, std::max(covered.end - whole->shift(), run.end - whole->shift()));
    common = {std::max(common.begin, first), std::min(common.end, last)};
  }
  return common.empty() ? run : common;
}

class LayerMaker {
 public:
  LayerMaker(const RunRecord& run, Report& report) : run_(run), report_(report), parts_(parts_of_node(run.ledger)) {
    node_ = whole_of(run.ledger.whole_node(), known(parts_));
    const auto inside = known(parts_).empty() && node_.row && node_.row->track ? std::vector<const Row*>{node_.row} : known(parts_);
    wall_ = whole_of(run.ledger.wall(), inside);
    when_ = common_time(run.timeline.run, {&node_, &wall_});
  }

  void make() {
    add_wall();
    add_node();
    add_workloads();
  }

 private:
  Whole whole_of(const std::optional<Row>& row, const std::vector<const Row*>& inside) {
    Whole whole;
    if (!row) return whole;
    whole.row = &*row;
    if (!row->track || row->quality == Quality::derived) return whole;  // a derived wall follows its parts without delay
    if (inside.empty())
      whole.delay.reason = "nothing inside it is measured: there is nothing to compare with";
    else
      whole.delay = meter_delay(inside, *row, run_.timeline.run);
    ReportDelay line{row->component.path(), row->meter, meters_of(inside), {}, {}, {}, whole.delay.correlation, whole.delay.reason};
    if (const auto& d = whole.delay.delay) {
      line.milliseconds = to_seconds(d->value) * 1e3;
      line.low = to_seconds(d->low) * 1e3;
      line.high = to_seconds(d->high) * 1e3;
    }
    report_.delays.push_back(std::move(line));
    return whole;
  }

  ReportLayer layer(const char* name, std::string label, Interval when) const {
    ReportLayer made;
    made.name = name;
    made.label = std::move(label);
    made.begin_s = to_seconds(when.begin - run_.timeline.run.begin);
    made.end_s = to_seconds(when.end - run_.timeline.run.begin);
    return made;
  }

  // Tells the layer's whole from its meter, or why it has none.
  void tell_whole(const Whole& whole, const char* absent, ReportLayer& layer) const {
    if (!whole.row) {
      layer.reason = absent;
      return;
    }
    layer.meter = whole.row->meter;
    layer.reason = whole.row->reason;
    if (!whole.row->track) return;
    const Span span = aligned_energy(run_.ledger, whole, when_);
    layer.joules = span.energy;
    layer.quality = span.energy ? whole.row->quality : Quality::missing;
    layer.partial = span.partial;
    if (layer.reason.empty()) layer.reason = span.energy ? partial_words(span) : "no reading during the run";
  }

  // Adds each part, known or missing, and what they sum to.
  Sum add_parts(ReportLayer& layer) const {
    Sum sum;
    for (const Row* row : parts_) {
      const Span span = run_.ledger.energy(*row, when_);
      layer.parts.push_back(part_of(*row, span, layer.joules));
      if (span.energy) sum.add(row->quality == Quality::estimated ? row->component.path() : row->meter, *span.energy);
    }
    return sum;
  }

  void add_wall() {
    ReportLayer made = layer("wall", "wall", when_);
    const std::string none = run_.no_wall.empty() ? "no meter of the wall: a PDU outlet or a plug whose component is \"wall\" would tell it"
                                                  : fmt::format("no meter of the wall, and its model was {}", run_.no_wall);
    tell_whole(wall_, none.c_str(), made);
    if (node_.row && node_.row->track) {
      const Span span = aligned_energy(run_.ledger, node_, when_);
      Sum sum;
      if (span.energy) sum.add(node_.row->meter, *span.energy);
      made.parts.push_back(part_of(*node_.row, span, made.joules));
      add_residual(made, sum);
      made.residual.likely = "loss of the power supply where the node's meter stands behind it; cables and what else hangs on the feed";
    } else {
      add_residual(made, add_parts(made));
      made.residual.likely = unmeasured_parts(run_.ledger) + ", and the loss of the power supply";
    }
    if (made.residual.joules && made.residual.joules->high < Energy{})
      report_.flags.push_back(fmt::format("parts-exceed-whole: wall: {}", made.residual.reason));
    report_.layers.push_back(std::move(made));
  }

  void add_node() {
    ReportLayer made = layer("node", "node", when_);
    tell_whole(node_, "no meter of the whole node", made);
    add_residual(made, add_parts(made));
    made.residual.likely = unmeasured_parts(run_.ledger) + "; the power supply's loss too where the meter stands before it";
    report_.layers.push_back(std::move(made));
  }

  // A share of the whole has the whole's error in proportion; how well CPU time tells it apart is not in the interval.
  static std::optional<Estimate> in_proportion(const std::optional<Energy>& part, const std::optional<Estimate>& whole) {
    if (!part || !whole) return std::nullopt;
    if (whole->value <= Energy{}) return Estimate{*part, *part, *part};
    const double share = *part / whole->value;
    return Estimate{*part, std::min(*part, whole->low * share), std::max(*part, whole->high * share)};
  }

  void add_workloads() {
    ReportLayer made = layer("workloads", "workloads", run_.timeline.run);
    made.joules = report_.energy.joules;
    made.quality = report_.energy.quality;
    if (!made.joules)
      made.reason = "no energy of this run is known";
    else if (report_.energy.partial)
      made.reason = "something that burns is not in it";
    Energy shared_out;
    std::vector<std::string> remainders;
    bool all_known = true;
    for (const ReportProcess& process : report_.processes) {
      if (process.pid == 0) {
        remainders.push_back(process.name);
        continue;
      }
      all_known = all_known && process.joules;
      shared_out += process.joules.value_or(Energy{});
      const auto share = in_proportion(process.joules, made.joules);
      made.parts.push_back({fmt::format("process/{}", process.pid), process.name, share, share_of(share, made.joules),
                            share ? worst(Quality::derived, made.quality) : Quality::missing, "",
                            process.joules           ? "shared out by CPU time"
                            : process.reason.empty() ? "no energy could be shared out to processes"
                                                     : process.reason});
    }
    if (!all_known) remainders.emplace_back("processes whose share is not known");
    if (report_.processes.empty()) remainders.emplace_back("all of it: no process was followed");
    made.residual.likely = fmt::format("{}", fmt::join(remainders, ", "));
    if (made.joules) {
      made.residual.joules = in_proportion(made.joules->value - shared_out, made.joules);
      made.residual.share = share_of(made.residual.joules, made.joules);
    } else {
      made.residual.reason = "the whole of this layer is not known";
    }
    report_.layers.push_back(std::move(made));
  }

  const RunRecord& run_;
  Report& report_;
  std::vector<const Row*> parts_;
  Whole node_, wall_;
  Interval when_;
};

}  // namespace

void add_layers(const RunRecord& run, Report& report) { LayerMaker(run, report).make(); }

std::optional<Estimate> energy_at_wall(const Report& report) {
  if (report.energy.boundary == "wall") return report.energy.joules;
  const auto wall = std::ranges::find(report.layers, "wall", &ReportLayer::name);
  if (wall == report.layers.end() || !wall->joules || wall->quality > Quality::integrated || wall->partial) return std::nullopt;
  if (wall->begin_s <= 0 && wall->end_s >= report.duration_s) return wall->joules;
  Energy inside;
  for (const ReportLayerPart& part : wall->parts)
    if (part.joules) inside += part.joules->value;
  if (!report.energy.joules || inside <= Energy{}) return std::nullopt;
  const Energy more_inside = std::max(Energy{}, report.energy.joules->value - inside);
  const Energy more = more_inside * (wall->joules->value / inside);
  const double loss = std::abs(to_joules(more - more_inside)), grown = 1 + more / wall->joules->value;
  const Error90 told = error_of(*wall->joules);
  return with_error(wall->joules->value + more, independent({told.below * grown, told.above * grown}, {loss, loss}));
}

}  // namespace joulery
