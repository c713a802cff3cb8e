#include "ledger/merge/host_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace joulery {
namespace {

// The first exit code that is not 0; unknown where one is.
std::optional<int> worse(const std::optional<int>& a, const std::optional<int>& b) {
  if (!a || !b) return std::nullopt;
  return *a != 0 ? a : b;
}

void add_work(const std::vector<WorkDone>& more, std::vector<WorkDone>& all) {
  for (const WorkDone& done : more) {
    const auto known = std::ranges::find(all, done.unit, &WorkDone::unit);
    if (known == all.end())
      all.push_back(done);
    else
      known->count += done.count;
  }
}

void add_short_lived(const std::vector<ShortLivedSum>& more, std::vector<ShortLivedSum>& all) {
  for (const ShortLivedSum& sum : more) {
    const auto known = std::ranges::find(all, sum.name, &ShortLivedSum::name);
    if (known != all.end()) {
      known->count += sum.count;
      known->cpu += sum.cpu;
    } else if (all.size() < 64) {
      all.push_back(sum);
    }
  }
}

// One recording followed a process that the other's command is: its unseen children are the other's too.
bool holds_processes_of(const MergeInput& outer, const MergeInput& inner) {
  return std::ranges::any_of(inner.processes, [&](const ProcessSample& sample) {
    return std::ranges::any_of(outer.processes, [&](const ProcessSample& known) { return known.id == sample.id; });
  });
}

void add_facts(const MergeInput& more, RunFacts& facts) {
  const RunFacts& own = more.facts;
  facts.exit_code = worse(facts.exit_code, own.exit_code);
  facts.run_ended = facts.run_ended && own.run_ended;
  for (const MissingPart& part : own.missing)
    if (std::ranges::find(facts.missing, part.component, &MissingPart::component) == facts.missing.end()) facts.missing.push_back(part);
  add_work(own.work, facts.work);
  facts.marks_lost += own.marks_lost;
  for (const HeldPowerLimit& limit : own.power_limits)
    if (std::ranges::find(facts.power_limits, limit) == facts.power_limits.end()) facts.power_limits.push_back(limit);
  for (const std::string& note : own.notes)
    if (std::ranges::find(facts.notes, note) == facts.notes.end()) facts.notes.push_back(note);
  if (!facts.idle) facts.idle = own.idle;
  if (!facts.baseline) facts.baseline = own.baseline;
  if (facts.factors == FactorChoice{}) facts.factors = own.factors;
  if (own.interval > Duration{} && (facts.interval == Duration{} || own.interval < facts.interval)) facts.interval = own.interval;
}

Interval moved(Interval when, Duration by) { return {when.begin + by, when.end + by}; }

}  // namespace

std::vector<ClockMap> moved_crossings(const std::vector<MergeInput>& inputs, const PlannedHost& host) {
  std::vector<ClockMap> all;
  for (const std::size_t input : host.inputs)
    for (ClockMap crossing : inputs[input].crossings) {
      crossing.mono = crossing.mono + host.shift;
      crossing.boot = crossing.boot + host.shift;
      all.push_back(crossing);
    }
  std::ranges::stable_sort(all, {}, &ClockMap::mono);
  return all;
}

RunFacts host_facts(const std::vector<MergeInput>& inputs, const PlannedHost& host) {
  RunFacts facts = inputs[host.inputs.front()].facts;
  for (std::size_t i = 1; i < host.inputs.size(); ++i) {
    const MergeInput& more = inputs[host.inputs[i]];
    add_facts(more, facts);
    const auto earlier = std::span(host.inputs).first(i);
    if (std::ranges::any_of(earlier, [&](std::size_t other) { return holds_processes_of(inputs[other], more); })) continue;
    facts.unseen_cpu += more.facts.unseen_cpu;
    add_short_lived(more.facts.short_lived, facts.short_lived);
  }
  facts.run = moved(host.run, host.shift);
  if (facts.baseline) facts.baseline = moved(*facts.baseline, host.shift);
  return facts;
}

Metadata job_metadata(const std::vector<MergeInput>& inputs, const MergePlan& plan, const std::string& version) {
  std::vector<JobHost> hosts;
  RunFacts job;
  job.version = version;
  job.fill = Fill::none;  // of each host its own holds
  job.notes = plan.notes;
  job.run_ended = true;
  for (const PlannedHost& planned : plan.hosts) {
    const bool is_first = hosts.empty();
    const RunFacts own = host_facts(inputs, planned);
    JobHost host{planned.name, to_metadata(own), moved_crossings(inputs, planned), planned.clock, planned.alignment, {}};
    for (const std::size_t input : planned.inputs) host.members.push_back(static_cast<std::int32_t>(input));
    hosts.push_back(std::move(host));
    const Interval on_job = planned.on_job();
    job.run = is_first ? on_job : Interval{std::min(job.run->begin, on_job.begin), std::max(job.run->end, on_job.end)};
    job.run_ended = job.run_ended && own.run_ended;
    job.exit_code = is_first ? own.exit_code : worse(job.exit_code, own.exit_code);
    job.marks_lost += own.marks_lost;
    if (is_first) job.command = own.command, job.machine = own.machine, job.kind = own.kind, job.interval = own.interval;
    if (own.interval > Duration{} && own.interval < job.interval) job.interval = own.interval;
  }
  Metadata metadata = to_metadata(job);
  metadata[hosts_entry] = hosts_json(hosts);
  return metadata;
}

}  // namespace joulery
