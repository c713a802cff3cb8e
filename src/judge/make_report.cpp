#include "judge/make_report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/units.h"
#include "judge/kpi_gain.h"
#include "judge/label.h"
#include "judge/make_layers.h"
#include "ledger/job_host.h"
#include "ledger/ranks.h"
#include "ledger/step_shares.h"

namespace joulery {
namespace {

// Why figures that need the run's energy are unknown; "" where it is known.
std::string unknown_energy(const Report& report) { return report.energy.joules ? "" : "no energy of this run is known"; }

double since_start(const RunRecord& run, MonoTime t) { return to_seconds(t - run.timeline.run.begin); }

std::string iso_utc(WallTime t) {
  const std::int64_t whole = t.ns / 1'000'000'000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(whole)), t.ns % 1'000'000'000 / 1'000'000);
}

Duration window_of(const RunRecord& run) { return std::max(peak_window, run.timeline.interval); }

std::optional<double> mean_watts(const std::optional<Estimate>& energy, Interval when) {
  if (!energy || when.empty()) return std::nullopt;
  return to_watts(energy->value / when.length());
}

ReportComponent component_of(const RunRecord& run, const Row& row, const std::optional<Power>& peak, Energy whole) {
  const Span span = run.ledger.energy(row, run.timeline.run);
  ReportComponent line{.path = row.component.path(),
                       .label = label_of(row.component),
                       .joules = span.energy,
                       .share = {},
                       .mean_watts = {},
                       .peak_watts = {},
                       .quality = span.energy ? row.quality : Quality::missing,
                       .meter = row.meter,
                       .reason = row.reason,
                       .overlap = row.overlap};
  if (!span.energy) {
    if (line.reason.empty()) line.reason = "no reading during the run";
    return line;
  }
  if (span.partial && line.reason.empty()) line.reason = "part of the time is lost: see the gaps";
  if (!row.overlap && whole > Energy{}) line.share = span.energy->value / whole;
  line.mean_watts = mean_watts(span.energy, run.timeline.run);
  if (peak) line.peak_watts = std::max(to_watts(*peak), *line.mean_watts);
  return line;
}

void add_energy(const RunRecord& run, Report& report) {
  const Total total = run.ledger.total(run.timeline.run);
  report.energy.joules = total.energy;
  report.energy.quality = total.quality;
  report.energy.partial = total.partial;
  report.energy.boundary = name_of(run.ledger.boundary());
  const Peaks peaks = run.ledger.peaks(run.timeline.run, window_of(run));
  for (std::size_t i = 0; i < run.ledger.rows().size(); ++i) {
    report.components.push_back(component_of(run, run.ledger.rows()[i], peaks.rows[i], total.energy ? total.energy->value : Energy{}));
    const ReportComponent& line = report.components.back();
    if (!line.overlap && !line.joules) report.energy.missing.push_back(fmt::format("{}: {}", line.path, line.reason));
  }
  report.mean_watts = mean_watts(total.energy, run.timeline.run);
  if (peaks.total && report.mean_watts) report.peak_watts = std::max(to_watts(*peaks.total), *report.mean_watts);
}

void add_phases(const RunRecord& run, Report& report) {
  for (const Phase& phase : phases_of(run.steps.steps, run.timeline.run)) {
    ReportPhase line;
    line.name = phase.name;
    line.reason = unknown_energy(report);
    if (!phase.pieces.empty()) {
      line.begin_s = since_start(run, phase.pieces.front().begin);
      line.end_s = since_start(run, phase.pieces.back().end);
    }
    Energy energy;
    for (const Interval& piece : phase.pieces) {
      line.seconds += to_seconds(piece.length());
      energy += run.ledger.counted(piece);
    }
    if (report.energy.joules) line.joules = energy;
    report.phases.push_back(std::move(line));
  }
}

// The value below which `share` of the values lie, by the nearest-rank rule; empty for no values.
std::optional<double> quantile(std::vector<double> values, double share) {
  if (values.empty()) return std::nullopt;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::ranges::nth_element(values, at);
  return *at;
}

// A step's joules, where the energy of the run is known.
std::vector<Energy> energies_of_steps(const RunRecord& run, const Report& report) {
  if (!report.energy.joules) return {};
  if (!run.step_energies.empty()) return {run.step_energies.begin(), run.step_energies.end()};
  return share_among_steps(run.steps.steps, [&](Interval when) { return run.ledger.counted(when); });
}

std::vector<double> lengths_of(const RunRecord& run, std::span<const std::size_t> which) {
  std::vector<double> lengths;
  for (const std::size_t i : which) lengths.push_back(to_seconds(run.steps.steps[i].when.length()));
  return lengths;
}

void add_ranks(const RunRecord& run, std::span<const Energy> energies, Report& report) {
  Ranks ranks = ranks_of(run.steps.steps, run.steps.points);
  report.rounds = ranks.rounds;
  Energy all;
  for (const Energy energy : energies) all += energy;
  for (const Rank& rank : ranks.ranks) {
    ReportRank line;
    line.rank = rank.number;
    line.pid = plain_pid(rank.pid);
    if (const auto member = static_cast<std::size_t>(member_of(rank.pid)); member < run.host_of_member.size())
      line.host = run.host_of_member[member];
    line.steps = static_cast<std::int64_t>(rank.steps.size());
    line.work = rank.work;
    line.seconds_median = quantile(lengths_of(run, rank.steps), 0.5);
    line.waited_s = to_seconds(rank.waited);
    line.waited_for_s = to_seconds(rank.waited_for);
    line.last = rank.last;
    line.reason = unknown_energy(report);
    if (!energies.empty()) {
      line.joules = Energy{};
      for (const std::size_t i : rank.steps) *line.joules += energies[i];
      if (all > Energy{}) line.share = *line.joules / all;
    }
    report.ranks.push_back(std::move(line));
  }
}

void add_steps(const RunRecord& run, Report& report) {
  const std::vector<Energy> shares = energies_of_steps(run, report);
  std::vector<double> energies, lengths;
  for (const Energy share : shares) energies.push_back(to_joules(share));
  for (const Step& step : run.steps.steps) lengths.push_back(to_seconds(step.when.length()));
  report.steps = {.count = static_cast<std::int64_t>(lengths.size()),
                  .joules_median = quantile(energies, 0.5),
                  .joules_p95 = quantile(energies, 0.95),
                  .seconds_median = quantile(lengths, 0.5),
                  .marks_lost = run.facts.marks_lost,
                  .reason = lengths.empty() ? "no step was marked" : unknown_energy(report)};
  add_ranks(run, shares, report);
}

void add_work(const RunRecord& run, Report& report) {
  std::vector<WorkDone> all = run.steps.work;
  all.insert(all.end(), run.facts.work.begin(), run.facts.work.end());
  for (const WorkDone& work : all) {
    ReportWork line;
    line.unit = work.unit;
    line.count = work.count;
    line.reason = work.count > 0 ? unknown_energy(report) : "no work was done";
    if (report.duration_s > 0) line.units_per_second = work.count / report.duration_s;
    if (report.energy.joules && work.count > 0) {
      const double energy = to_joules(report.energy.joules->value);
      line.joules_per_unit = energy / work.count;
      line.kwh_per_1000 = energy / work.count * 1000 / joules_per_kilowatt_hour;
      if (energy > 0) line.units_per_joule = line.units_per_second_per_watt = work.count / energy;  // (1/s)/W is 1/J
    }
    report.work.push_back(std::move(line));
  }
}

void add_kpis(const RunRecord& run, Report& report) {
  for (const Kpi& kpi : run.steps.kpis) {
    ReportKpi line;
    line.name = kpi.name;
    line.last = kpi.last;
    line.reason = unknown_energy(report);
    const auto burnt = [&](MonoTime at) -> std::optional<double> {
      if (!report.energy.joules) return std::nullopt;
      return to_joules(run.ledger.counted({run.timeline.run.begin, at}));
    };
    line.joules_at_last = burnt(kpi.at);
    add_gain(kpi, [&](MonoTime at) { return since_start(run, at); }, burnt, line);
    report.kpis.push_back(std::move(line));
  }
}

// Energy of the counted rows that are (or are not) accelerators; empty where none of them is known.
std::optional<Energy> energy_of(const RunRecord& run, bool accelerators, Interval when) {
  std::optional<Energy> sum;
  for (const Row& row : run.ledger.rows()) {
    if (row.overlap || is_accelerator(row.component) != accelerators) continue;
    if (const Span span = run.ledger.energy(row, when); span.energy) sum = sum.value_or(Energy{}) + span.energy->value;
  }
  return sum;
}

Duration busy_time(const RunRecord& run) {
  if (!run.timeline.cpu) return {};
  const CpuActivity& cpu = *run.timeline.cpu;
  const auto at = [&](MonoTime t) {
    const auto next = static_cast<std::size_t>(std::ranges::upper_bound(*cpu.times, t) - cpu.times->begin());
    if (next == 0) return cpu.busy_seconds.front();
    if (next == cpu.times->size()) return cpu.busy_seconds.back();
    const double fraction = (t - (*cpu.times)[next - 1]) / ((*cpu.times)[next] - (*cpu.times)[next - 1]);
    return std::lerp(cpu.busy_seconds[next - 1], cpu.busy_seconds[next], fraction);
  };
  return seconds(at(run.timeline.run.end) - at(run.timeline.run.begin));
}

void add_processes(const RunRecord& run, Report& report) {
  SharedEnergy energy{energy_of(run, false, run.timeline.run), energy_of(run, true, run.timeline.run), {}, busy_time(run)};
  if (const auto idle = idle_power(run)) energy.idle = idle->host * run.timeline.run.length();
  for (const ProcessShare& share : share_by_process(run.processes, run.facts.unseen_cpu, run.facts.short_lived, run.timeline.run, energy)) {
    ReportProcess line{
        .pid = plain_pid(share.pid), .name = share.name, .cpu_s = to_seconds(share.cpu), .joules = share.energy, .share = {}, .reason = {}};
    if (!share.energy) line.reason = energy.host ? "the busy time of the node's CPUs is not known" : unknown_energy(report);
    if (share.energy && report.energy.joules && report.energy.joules->value > Energy{})
      line.share = *share.energy / report.energy.joules->value;
    report.processes.push_back(std::move(line));
  }
}

void add_baseline(const RunRecord& run, Report& report) {
  if (const auto idle = idle_power(run)) {
    const Power whole = idle->host + idle->accelerators;
    report.baseline = ReportBaseline{to_watts(whole), whole * run.timeline.run.length(), idle->source, ""};
  } else {
    report.baseline_reason = "not measured and not learnt: measure it with --baseline 5s";
  }
}

void add_power_limits(const RunRecord& run, Report& report) {
  for (const HeldPowerLimit& limit : run.facts.power_limits) {
    ReportPowerLimit line;
    line.path = limit.component.path();
    line.name = limit.name;
    line.asked_watts = static_cast<double>(limit.asked_uw) / 1e6;
    line.watts = static_cast<double>(limit.took_uw) / 1e6;
    line.before_watts = static_cast<double>(limit.before_uw) / 1e6;
    if (limit.enforced_uw) line.enforced_watts = static_cast<double>(*limit.enforced_uw) / 1e6;
    line.by = limit.by;
    line.changed = limit.changed;
    const auto shown = std::ranges::find(report.components, line.path, &ReportComponent::path);
    if (shown != report.components.end() && shown->joules) {
      line.joules = shown->joules->value;
      line.mean_watts = shown->mean_watts;
    } else {
      line.reason = shown != report.components.end() ? shown->reason : "nothing measures " + line.path;
    }
    if (!line.changed.empty()) report.flags.push_back("power-limit: " + limit.component.path() + ": " + line.changed);
    report.power_limits.push_back(std::move(line));
  }
}

void add_sampling(const RunRecord& run, Report& report) {
  report.sampling = {
      .interval_s = to_seconds(run.timeline.interval), .rounds = run.timeline.rounds, .missed = run.timeline.missed, .gaps = {}};
  bool ambiguous = false;
  for (const Row& row : run.ledger.rows()) {
    if (!row.track) continue;
    for (const Gap& gap : row.track->gaps()) {
      const Interval within = intersect(gap.when, run.timeline.run);
      if (within.empty()) continue;
      ambiguous = ambiguous || gap.possible;
      report.sampling.gaps.push_back({since_start(run, within.begin), since_start(run, within.end),
                                      fmt::format("{} {}: {}", row.meter, row.component.path(), gap.reason), gap.energy_lost});
    }
  }
  if (ambiguous) report.flags.push_back("ambiguous-wrap");
  if (!run.timeline.suspensions.empty()) report.flags.push_back("suspended");
  if (!run.timeline.run_ended) report.flags.push_back("not-ended");
  report.flags.insert(report.flags.end(), run.facts.notes.begin(), run.facts.notes.end());
  report.flags.insert(report.flags.end(), run.ledger.flags().begin(), run.ledger.flags().end());
}

}  // namespace

std::optional<IdlePower> idle_power(const RunRecord& run) {
  if (run.timeline.baseline) {
    const Interval quiet = *run.timeline.baseline;
    const auto host = energy_of(run, false, quiet), accelerators = energy_of(run, true, quiet);
    if (host || accelerators)
      return IdlePower{host.value_or(Energy{}) / quiet.length(), accelerators.value_or(Energy{}) / quiet.length(),
                       fmt::format("measured for {} before the run", to_text(quiet.length()))};
  }
  if (run.facts.idle) return run.facts.idle;
  const bool modelled =
      std::ranges::any_of(run.ledger.rows(), [](const Row& row) { return row.quality == Quality::estimated && row.track; });
  if (modelled && run.model) return IdlePower{run.model->node(0).value, {}, "estimated: " + run.model->source()};
  return std::nullopt;
}

Report make_figures(const RunRecord& run) {
  Report report;
  report.command = run.facts.command;
  report.exit_code = run.facts.exit_code;
  report.begin = iso_utc(run.begin);
  report.duration_s = to_seconds(run.timeline.run.length());
  add_energy(run, report);
  add_phases(run, report);
  add_steps(run, report);
  add_work(run, report);
  add_kpis(run, report);
  return report;
}

Report make_report(const RunRecord& run) {
  Report report = make_figures(run);
  add_baseline(run, report);
  add_processes(run, report);
  add_layers(run, report);
  add_sampling(run, report);
  add_power_limits(run, report);
  return report;
}

}  // namespace joulery
