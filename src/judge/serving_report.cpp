#include "judge/serving_report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "judge/label.h"
#include "ledger/power_series.h"

namespace joulery {
namespace {

constexpr std::size_t most_cuts = 400'000;
constexpr Duration shortest_cut = milliseconds(10);
constexpr std::int64_t readings_a_cut = 5, enough_cuts = 60;

std::string iso_utc(WallTime t) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(t.ns / 1'000'000'000)),
                     t.ns % 1'000'000'000 / 1'000'000);
}

std::vector<ServingSlot> slots_of(const ServingRecord& record) {
  std::vector<ServingSlot> slots;
  slots.reserve(record.cuts.size());
  for (const ServingCut& cut : record.cuts) slots.push_back(serving_slot(record.ledger, cut));
  return slots;
}

// How much of a piece of work lies within the run, by time.
double share_within(const ServingUse& use, Interval run) {
  const Interval all{std::min(use.prefill.begin, use.decode.begin), std::max(use.prefill.end, use.decode.end)};
  if (all.empty()) return run.contains(all.begin) ? 1 : 0;
  return intersect(all, run).length() / all.length();
}

void add(std::optional<double>& to, const std::optional<double>& count, double share) {
  if (count) to = to.value_or(0) + *count * share;
}

// Errors of the shares of one line are not independent (they stand on one fit): half-widths add.
void add(ServingLine& line, const SharedJoules& share) {
  const Estimate sum = line.joules.value_or(Estimate{});
  line.joules = Estimate{sum.value + share.total.value, sum.low + share.total.low, sum.high + share.total.high};
  line.quality = line.quality == Quality::missing ? share.quality : worst(line.quality, share.quality);
}

void add_figures(ServingLine& line) {
  if (!line.joules) return;
  const double energy = to_joules(line.joules->value);
  const auto per = [&](const std::optional<double>& count) { return count && *count > 0 ? std::optional(energy / *count) : std::nullopt; };
  line.figures.joules_per_output_token = per(line.tokens_out);
  if (line.tokens_in && line.tokens_out) line.figures.joules_per_token = per(*line.tokens_in + *line.tokens_out);
  line.figures.joules_per_request = per(line.requests);
  if (line.tokens_out && energy > 0) line.figures.output_tokens_per_second_per_watt = *line.tokens_out / energy;  // (1/s)/W is 1/J
  if (line.figures.joules_per_request)
    line.figures.kwh_per_1000_requests = *line.figures.joules_per_request * 1000 / joules_per_kilowatt_hour;
}

std::vector<ServingLine> finished(std::map<std::string, ServingLine> lines) {
  std::vector<ServingLine> all;
  for (auto& [name, line] : lines) {
    line.name = name;
    add_figures(line);
    all.push_back(std::move(line));
  }
  return all;
}

std::optional<double> quantile(std::vector<double> values, double share) {
  if (values.empty()) return std::nullopt;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::ranges::nth_element(values, at);
  return *at;
}

ServingRequests requests_of(const ServingRecord& record, const std::vector<SharedJoules>& shares) {
  ServingRequests told;
  std::vector<double> energies, lengths, firsts;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const ServingUse& use = record.work[i].use;
    if (share_within(use, record.timeline.run) < 1) continue;
    energies.push_back(to_joules(shares[i].total.value));
    lengths.push_back(to_seconds(use.decode.end - use.prefill.begin));
    if (use.in_turn()) firsts.push_back(to_seconds(use.prefill.end - use.prefill.begin));
  }
  told.count = energies.size();
  told.joules_median = quantile(energies, 0.5);
  told.joules_p95 = quantile(std::move(energies), 0.95);
  told.seconds_median = quantile(std::move(lengths), 0.5);
  told.first_token_s_median = quantile(std::move(firsts), 0.5);
  return told;
}

ServingSplit split_of(const ServingRecord& record, const ServingShares& shares) {
  ServingSplit split{.active_accelerators = shares.active_accelerators,
                     .active_host = shares.active_host,
                     .idle = shares.idle_accelerators + shares.idle_host,
                     .unattributed = shares.unattributed,
                     .idle_watts = {},
                     .idle_source = shares.costs.idle_source,
                     .pue = record.pue,
                     .overhead = {},
                     .overhead_reason = {}};
  if (record.idle) split.idle_source = record.idle->source;
  if (!split.idle_source.empty()) split.idle_watts = shares.costs.best.idle_watts;
  if (record.pue)
    split.overhead = shares.sum() * (*record.pue - 1);
  else
    split.overhead_reason = "no PUE given: --pue";
  return split;
}

void add_lines(const ServingRecord& record, const ServingShares& shares, ServingReport& report) {
  std::map<std::string, ServingLine> models, groups;
  for (std::size_t i = 0; i < record.work.size(); ++i) {
    const ServingWork& work = record.work[i];
    const double within = share_within(work.use, record.timeline.run);
    if (!(within > 0)) continue;
    const bool ended = !record.from_requests || record.timeline.run.contains(work.use.decode.end) || within >= 1;
    std::vector<ServingLine*> lines = {&report.all, &models[work.model]};
    if (!work.group.empty()) lines.push_back(&groups[work.group]);
    for (ServingLine* line : lines) {
      add(line->tokens_in, work.tokens_in, within);
      add(line->tokens_out, work.tokens_out, within);
      if (ended) add(line->requests, work.requests, 1);
      if (line != &report.all) add(*line, shares.uses[i]);
    }
  }
  report.models = finished(std::move(models));
  report.groups = finished(std::move(groups));
}

void add_gaps(const ServingRecord& record, ServingReport& report) {
  const MonoTime begin = record.timeline.run.begin;
  for (const ServingCut& cut : record.cuts)
    if (!cut.unattributed.empty())
      report.gaps.push_back({to_seconds(cut.when.begin - begin), to_seconds(cut.when.end - begin), cut.unattributed, true});
}

}  // namespace

ServingSlot serving_slot(const Ledger& ledger, const ServingCut& cut) {
  ServingSlot slot{.when = cut.when, .accelerators = {}, .host = {}, .whole = true, .unattributed = !cut.unattributed.empty()};
  for (const Row& row : ledger.rows()) {
    if (row.overlap || !row.track) continue;
    const Span span = ledger.energy(row, cut.when);
    slot.whole = slot.whole && span.energy && !span.partial;
    if (span.energy) (is_accelerator(row.component) ? slot.accelerators : slot.host) += span.energy->value;
  }
  return slot;
}

JudgedServing judge_serving(const ServingRecord& record) {
  const Interval run = record.timeline.run;
  const Total total = record.ledger.total(run);
  ServingFacts facts{.idle_accelerator_watts = {}, .idle_host_watts = {}, .quality = total.quality, .relative_error = 0};
  if (total.energy && total.energy->value > Energy{})
    facts.relative_error = (total.energy->high - total.energy->low) / total.energy->value / 2;
  if (record.idle) facts.idle_accelerator_watts = to_watts(record.idle->accelerators), facts.idle_host_watts = to_watts(record.idle->host);
  std::vector<ServingUse> uses;
  for (const ServingWork& work : record.work) uses.push_back(work.use);
  const ServingShares shares = share_serving(slots_of(record), uses, facts);
  JudgedServing judged;
  ServingReport& report = judged.report;
  report.begin = iso_utc(record.begin);
  report.duration_s = to_seconds(run.length());
  report.source = record.from_requests ? "requests" : "metrics";
  report.endpoint = record.endpoint;
  report.server = record.server;
  report.joules = total.energy;
  report.quality = total.quality;
  report.partial = total.partial;
  report.boundary = name_of(record.ledger.boundary());
  for (const Row& row : record.ledger.rows())
    if (!row.overlap && !row.track) report.missing.push_back(fmt::format("{}: {}", row.component.path(), row.reason));
  report.split = split_of(record, shares);
  if (!record.work.empty()) report.costs = shares.costs;
  report.times = shares.times;
  add_lines(record, shares, report);
  if (total.energy) {
    const Energy attributed = shares.sum() - shares.unattributed;
    const Energy margin = attributed * facts.relative_error;
    report.all.joules = Estimate{attributed, attributed - margin, attributed + margin};
    report.all.quality = total.quality;
    add_figures(report.all);
  }
  const std::string nothing = "nothing was in work";
  report.tokens_in_reason = report.all.tokens_in ? "" : !record.tokens_in_reason.empty() ? record.tokens_in_reason : nothing;
  report.tokens_out_reason = report.all.tokens_out ? "" : !record.tokens_out_reason.empty() ? record.tokens_out_reason : nothing;
  report.requests_reason = report.all.requests ? "" : !record.requests_reason.empty() ? record.requests_reason : nothing;
  if (record.from_requests) report.requests = requests_of(record, shares.uses);
  add_gaps(record, report);
  judged.work = shares.uses;
  return judged;
}

std::vector<ServingCut> even_cuts(const Timeline& timeline, const Ledger& ledger) {
  std::vector<const Row*> rows;
  for (const Row& row : ledger.rows())
    if (!row.overlap && row.track && row.quality != Quality::estimated) rows.push_back(&row);
  const Duration reading = std::max(shortest_cut, rows.empty() ? milliseconds(100) : reading_interval(rows));
  // Meters tell late by some of their interval: several of them make a stretch, as far as enough stretches are left to fit.
  const Duration step = std::max(
      reading, std::min(nanoseconds(readings_a_cut * reading.base_units()), nanoseconds(timeline.run.length().base_units() / enough_cuts)));
  Grid grid = grid_over(timeline.run, step, most_cuts);
  std::vector<ServingCut> cuts;
  for (std::size_t i = 0; i < grid.count; ++i) cuts.push_back({{grid.edge(i), grid.edge(i + 1)}, ""});
  if (cuts.empty()) cuts.push_back({timeline.run, ""});
  cuts.back().when.end = timeline.run.end;
  return cuts;
}

}  // namespace joulery
