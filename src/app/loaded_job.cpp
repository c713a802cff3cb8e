// A recording of several hosts (joulery merge) made ready to be told: each host as a recording of its own, then all together on
// the job's clock.
#include <algorithm>
#include <map>
#include <numeric>

#include "app/loaded_run.h"
#include "ledger/host_recording.h"
#include "ledger/step_shares.h"

namespace joulery {
namespace {

std::vector<std::string> hosts_of_members(const std::vector<JobHost>& hosts) {
  std::vector<std::string> names;
  for (const JobHost& host : hosts)
    for (const std::int32_t member : host.members) {
      names.resize(std::max(names.size(), static_cast<std::size_t>(member) + 1));
      names[static_cast<std::size_t>(member)] = host.name;
    }
  return names;
}

// The values of each name over all hosts, by time.
void take_kpis(const Steps& own, const HostClock& clock, std::map<std::string, Kpi>& kpis) {
  for (const Kpi& kpi : own.kpis) {
    Kpi& all = kpis[kpi.name];
    const MonoTime at = clock.on_job(kpi.at);
    if (all.name.empty() || at >= all.at) all.last = kpi.last, all.at = at;
    all.name = kpi.name;
    for (const KpiValue& value : kpi.values) all.values.push_back({clock.on_job(value.at), value.value});
    std::ranges::stable_sort(all.values, {}, &KpiValue::at);
  }
}

template <class T, class Key>
void sort_together(std::vector<T>& values, std::vector<Energy>& beside, Key key) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return key(values[i]); });
  std::vector<T> sorted;
  std::vector<Energy> sorted_beside;
  for (const std::size_t i : order) {
    sorted.push_back(std::move(values[i]));
    sorted_beside.push_back(beside[i]);
  }
  values = std::move(sorted);
  beside = std::move(sorted_beside);
}

}  // namespace

// One time for all: from the first host's begin to the last one's end.
void LoadedRun::lay_together(const std::vector<JobHost>& hosts) {
  timeline_ = std::make_unique<Timeline>();
  std::vector<HostLedger> ledgers;
  timeline_->run_ended = true;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const Timeline& own = *hosts_[i]->timeline_;
    const Interval run = hosts[i].clock.on_job(own.run);
    timeline_->run = i == 0 ? run : Interval{std::min(timeline_->run.begin, run.begin), std::max(timeline_->run.end, run.end)};
    timeline_->run_ended = timeline_->run_ended && own.run_ended;
    timeline_->interval = i == 0 ? own.interval : std::min(timeline_->interval, own.interval);
    ledgers.push_back({hosts[i].name, hosts_[i]->ledger_.get(), own.run, hosts[i].clock});
  }
  ledger_ = std::make_unique<Ledger>(timeline_->run, ledgers);
}

void LoadedRun::collect_job_steps(const std::vector<JobHost>& hosts) {
  std::map<std::string, Kpi> kpis;
  std::map<std::string, double> work;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const Steps& own = hosts_[i]->steps_;
    const HostClock& clock = hosts[i].clock;
    std::vector<Step> placed = own.steps;
    for (Step& step : placed) step.when = clock.on_job(step.when);
    // By the job's own ledger, so that they sum to its phases: positions on another clock are rounded anew.
    const auto energies = share_among_steps(placed, [&](Interval when) { return ledger_->counted_of_host(hosts[i].name, when); });
    step_energies_.insert(step_energies_.end(), energies.begin(), energies.end());
    steps_.steps.insert(steps_.steps.end(), std::make_move_iterator(placed.begin()), std::make_move_iterator(placed.end()));
    for (Mark point : own.points) {
      point.time = clock.on_job(point.time);
      steps_.points.push_back(std::move(point));
    }
    take_kpis(own, clock, kpis);
    for (const WorkDone& done : own.work) work[done.unit] += done.count;
    for (const WorkDone& done : hosts_[i]->facts_.work) work[done.unit] += done.count;
  }
  for (auto& [name, kpi] : kpis) steps_.kpis.push_back(std::move(kpi));
  for (const auto& [unit, count] : work) steps_.work.push_back({unit, count});
  sort_together(steps_.steps, step_energies_, [](const Step& step) { return step.when.begin; });
  std::ranges::stable_sort(steps_.points, {}, &Mark::time);
}

Result<LoadedRun> LoadedRun::load_job(const Recording& recording, RunFacts facts, std::vector<JobHost> hosts,
                                      const ReportChoices& choices) {
  LoadedRun job;
  job.facts_ = std::move(facts);
  std::vector<HostReport> reports;
  for (const JobHost& host : hosts) {
    auto own = load(HostRecording(recording, host), choices);
    if (!own) return fail(own.error().code, own.error().what, "host " + host.name + ": " + own.error().where, own.error().hint);
    reports.push_back({&host, own->report_, host.clock.on_job(own->timeline_->run)});
    job.hosts_.push_back(std::make_unique<LoadedRun>(std::move(*own)));
  }
  job.lay_together(hosts);
  job.host_of_member_ = hosts_of_members(hosts);
  job.collect_job_steps(hosts);
  job.begin_ = hosts.front().crossings.front().to_wall(job.timeline_->run.begin);
  job.report_ = make_job_report(job.record(), reports);
  return job;
}

}  // namespace joulery
