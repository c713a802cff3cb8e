#include "judge/make_job_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "core/units.h"

namespace joulery {
namespace {

const std::string& name_of(const HostReport& host) { return host.host->name; }

ReportClock clock_of(const ClockAlignment& a) {
  const auto milli = [](const std::optional<Duration>& d) { return d ? std::optional(to_seconds(*d) * 1e3) : std::nullopt; };
  const auto millionth = [](const std::optional<double>& d) { return d ? std::optional(*d * 1e6) : std::nullopt; };
  return {to_seconds(a.ahead) * 1e3,
          milli(a.low),
          milli(a.high),
          a.drift * 1e6,
          millionth(a.drift_low),
          millionth(a.drift_high),
          a.source,
          a.low ? "" : "how far the wall clocks were off was not recorded"};
}

void add_hosts(const RunRecord& job, std::span<const HostReport> hosts, Report& report) {
  for (const HostReport& host : hosts) {
    const Report& own = host.report;
    ReportHost line;
    line.name = name_of(host);
    line.joules = own.energy.joules;
    if (own.energy.joules && report.energy.joules && report.energy.joules->value > Energy{})
      line.share = own.energy.joules->value / report.energy.joules->value;
    line.mean_watts = own.mean_watts;
    line.quality = own.energy.quality;
    line.partial = own.energy.partial;
    line.begin_s = to_seconds(host.run.begin - job.timeline.run.begin);
    line.end_s = to_seconds(host.run.end - job.timeline.run.begin);
    line.recordings = static_cast<std::int64_t>(host.host->members.size());
    line.clock = clock_of(host.host->alignment);
    if (own.carbon) line.grams = own.carbon->grams, line.place = own.carbon->place;
    if (!line.joules) line.reason = "no energy of this host is known";
    report.hosts.push_back(std::move(line));
  }
}

// Processes first, by energy; then what no process used.
void add_processes(std::span<const HostReport> hosts, Report& report) {
  for (const HostReport& host : hosts)
    for (ReportProcess line : host.report.processes) {
      line.host = name_of(host);
      line.share.reset();
      if (line.joules && report.energy.joules && report.energy.joules->value > Energy{})
        line.share = *line.joules / report.energy.joules->value;
      report.processes.push_back(std::move(line));
    }
  std::ranges::stable_sort(report.processes, [](const ReportProcess& a, const ReportProcess& b) {
    return (a.pid != 0) != (b.pid != 0) ? a.pid != 0 : a.pid != 0 && a.joules.value_or(Energy{}) > b.joules.value_or(Energy{});
  });
}

void add_baseline(std::span<const HostReport> hosts, Report& report) {
  ReportBaseline sum{0.0, Energy{}, "", ""};
  std::set<std::string> sources;
  for (const HostReport& host : hosts) {
    if (!host.report.baseline || !host.report.baseline->joules || !host.report.baseline->watts) {
      report.baseline_reason = fmt::format("host {}: {}", name_of(host), host.report.baseline_reason);
      return;
    }
    *sum.watts += *host.report.baseline->watts;
    *sum.joules += *host.report.baseline->joules;
    sources.insert(host.report.baseline->source);
  }
  sum.source = sources.size() == 1 ? *sources.begin() : "of each host in its own way";
  report.baseline = sum;
}

void add_sampling(std::span<const HostReport> hosts, Report& report) {
  for (const HostReport& host : hosts) {
    const ReportSampling& own = host.report.sampling;
    const double later = report.hosts[static_cast<std::size_t>(&host - hosts.data())].begin_s;
    if (&host == hosts.data() || own.interval_s < report.sampling.interval_s) report.sampling.interval_s = own.interval_s;
    report.sampling.rounds += own.rounds;
    report.sampling.missed += own.missed;
    for (const ReportGap& gap : own.gaps)
      report.sampling.gaps.push_back({later + gap.begin_s, later + gap.end_s, name_of(host) + ": " + gap.reason, gap.energy_lost});
  }
}

// "vm-share" of node-a becomes "vm-share: node-a", "sources-disagree: …" becomes "sources-disagree: node-a: …".
void add_flags(std::span<const HostReport> hosts, Report& report) {
  for (const HostReport& host : hosts)
    for (const std::string& flag : host.report.flags) {
      const std::size_t colon = flag.find(':');
      report.flags.push_back(colon == std::string::npos
                                 ? fmt::format("{}: {}", flag, name_of(host))
                                 : fmt::format("{}: {}{}", flag.substr(0, colon), name_of(host), flag.substr(colon)));
    }
}

void add_power_limits(std::span<const HostReport> hosts, Report& report) {
  for (const HostReport& host : hosts)
    for (ReportPowerLimit limit : host.report.power_limits) {
      limit.path = fmt::format("host/{}/{}", name_of(host), limit.path);
      report.power_limits.push_back(std::move(limit));
    }
}

void add_to(std::optional<Estimate>& sum, const std::optional<Estimate>& one) {
  if (!sum || !one)
    sum.reset();
  else
    sum = Estimate{sum->value + one->value, sum->low + one->low, sum->high + one->high};
}

std::optional<double> share_of(const std::optional<Estimate>& part, const std::optional<Estimate>& whole) {
  if (!part || !whole || whole->value <= Energy{}) return std::nullopt;
  return part->value / whole->value;
}

void add_parts(const HostReport& host, const ReportLayer& own, ReportLayer& layer) {
  for (ReportLayerPart part : own.parts) {
    part.path = fmt::format("host/{}/{}", name_of(host), part.path);
    part.label = fmt::format("{}: {}", name_of(host), part.label);
    layer.parts.push_back(std::move(part));
  }
}

// One layer of all hosts together: known where it is of each.
ReportLayer sum_layers(std::span<const HostReport> hosts, std::size_t which, const Report& report) {
  ReportLayer sum = hosts.front().report.layers[which];
  sum.parts.clear();
  sum.begin_s = report.duration_s;
  sum.end_s = 0;
  for (const HostReport& host : hosts) {
    const ReportLayer& own = host.report.layers[which];
    const double later = report.hosts[static_cast<std::size_t>(&host - hosts.data())].begin_s;
    add_parts(host, own, sum);
    sum.begin_s = std::min(sum.begin_s, later + own.begin_s);
    sum.end_s = std::max(sum.end_s, later + own.end_s);
    if (&host == hosts.data()) {
      if (!own.joules) sum.reason = fmt::format("{}: {}", name_of(host), own.reason);
      continue;
    }
    if (!own.joules && sum.joules) sum.reason = fmt::format("{}: {}", name_of(host), own.reason);
    add_to(sum.joules, own.joules);
    add_to(sum.residual.joules, own.residual.joules);
    sum.quality = worst(sum.quality, own.quality);
    sum.partial = sum.partial || own.partial;
    if (sum.meter != own.meter) sum.meter = sum.meter.empty() || own.meter.empty() ? sum.meter + own.meter : sum.meter + ", " + own.meter;
    if (!own.residual.joules) sum.residual.reason = own.residual.reason;
  }
  for (ReportLayerPart& part : sum.parts) part.share = share_of(part.joules, sum.joules);
  sum.residual.share = share_of(sum.residual.joules, sum.joules);
  return sum;
}

void add_layers(std::span<const HostReport> hosts, Report& report) {
  for (std::size_t which = 0; which < hosts.front().report.layers.size(); ++which)
    report.layers.push_back(sum_layers(hosts, which, report));
  for (const HostReport& host : hosts)
    for (ReportDelay delay : host.report.delays) {
      delay.path = fmt::format("host/{}/{}", name_of(host), delay.path);
      report.delays.push_back(std::move(delay));
    }
  for (ReportLayer& layer : report.layers)
    if (layer.name == "workloads") {  // its whole is the job's energy, errors of one kind of meter counted together
      layer.joules = report.energy.joules;
      layer.quality = report.energy.quality;
    }
}

// Grams of each host at its own place.
void add_carbon(std::span<const HostReport> hosts, Report& report) {
  ReportCarbon sum;
  sum.grams = sum.low = sum.high = 0;
  std::set<std::string> places, sources, notes;
  double weight = 0, intensity = 0, pue = 0;
  for (const HostReport& host : hosts) {
    if (!host.report.carbon || !host.report.carbon->grams || !host.report.carbon->low || !host.report.carbon->high) {
      report.carbon_reason = fmt::format("host {}: its grams are not known", name_of(host));
      return;
    }
    const ReportCarbon& own = *host.report.carbon;
    *sum.grams += *own.grams, *sum.low += *own.low, *sum.high += *own.high;
    const double energy = own.g_per_kwh * own.pue > 0 ? *own.grams / (own.g_per_kwh * own.pue) : 0;  // the same as counted, or at the wall
    weight += energy, intensity += energy * own.g_per_kwh, pue += energy * own.pue;
    places.insert(own.place), sources.insert(own.source);
    if (!own.note.empty()) notes.insert(own.note);
    if (&host == hosts.data()) sum.boundary = own.boundary, sum.year = own.year;
    if (own.boundary != sum.boundary) sum.boundary = "node";
    if (own.year != sum.year) sum.year = 0;
  }
  const ReportCarbon& first = *hosts.front().report.carbon;
  const bool alike = std::ranges::all_of(
      hosts, [&](const HostReport& h) { return h.report.carbon->g_per_kwh == first.g_per_kwh && h.report.carbon->pue == first.pue; });
  sum.g_per_kwh = alike || weight <= 0 ? first.g_per_kwh : intensity / weight;
  sum.pue = alike || weight <= 0 ? first.pue : pue / weight;
  const auto joined = [](const std::set<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
  };
  sum.place = joined(places), sum.source = joined(sources), sum.note = joined(notes);
  if (!alike)
    sum.note += (sum.note.empty() ? "" : "; ") + std::string("each host at its own place; intensity and PUE are their means by energy");
  report.carbon = std::move(sum);
}

void add_cost(std::span<const HostReport> hosts, Report& report) {
  std::optional<ReportCost> sum;
  for (const HostReport& host : hosts) {
    const auto& own = host.report.cost;
    if (!own || (sum && sum->currency != own->currency)) {
      report.cost_reason = !own ? (host.report.cost_reason.starts_with("no tariff") && !sum
                                       ? host.report.cost_reason
                                       : fmt::format("host {}: {}", name_of(host), host.report.cost_reason))
                                : "the hosts pay in different currencies: give one with --tariff";
      return;
    }
    if (!sum)
      sum = *own;
    else
      sum->amount += own->amount;
    if (sum->source != own->source) sum->source = "each host by its own tariff";
  }
  report.cost = std::move(sum);
}

}  // namespace

Report make_job_report(const RunRecord& job, std::span<const HostReport> hosts) {
  Report report = make_figures(job);
  add_hosts(job, hosts, report);
  add_processes(hosts, report);
  add_baseline(hosts, report);
  add_sampling(hosts, report);
  add_layers(hosts, report);
  add_power_limits(hosts, report);
  add_flags(hosts, report);
  const std::string& first = hosts.front().report.energy.boundary;
  const auto other = std::ranges::find_if(hosts, [&](const HostReport& host) { return host.report.energy.boundary != first; });
  if (other != hosts.end())
    report.flags.push_back(fmt::format("mixed-boundary: {} at the {}, {} at the {}", name_of(hosts.front()), first, name_of(*other),
                                       other->report.energy.boundary));
  report.flags.insert(report.flags.end(), job.facts.notes.begin(), job.facts.notes.end());
  add_carbon(hosts, report);
  add_cost(hosts, report);
  return report;
}

}  // namespace joulery
