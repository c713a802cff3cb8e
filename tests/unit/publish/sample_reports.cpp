#include "tests/unit/publish/sample_reports.h"

#include <cmath>
#include <limits>

namespace joulery::samples {
namespace {

ReportKpi kpi(std::string name, double last, std::optional<double> joules_at_last) {
  ReportKpi made;
  made.name = std::move(name);
  made.last = last;
  made.joules_at_last = joules_at_last;
  return made;
}

Estimate estimate(std::int64_t value_uj, std::int64_t low_uj, std::int64_t high_uj) {
  return {microjoules(value_uj), microjoules(low_uj), microjoules(high_uj)};
}

ReportComponent component(std::string path, std::string label, Estimate joules, double share, double mean, double peak, Quality quality,
                          std::string meter, std::string reason = {}) {
  ReportComponent c;
  c.path = std::move(path);
  c.label = std::move(label);
  c.joules = joules;
  c.share = share;
  c.mean_watts = mean;
  c.peak_watts = peak;
  c.quality = quality;
  c.meter = std::move(meter);
  c.reason = std::move(reason);
  return c;
}

ReportProcess process(std::int64_t pid, std::string name, double cpu_s, std::int64_t joules_whole, double share) {
  ReportProcess p;
  p.pid = pid;
  p.name = std::move(name);
  p.cpu_s = cpu_s;
  p.joules = microjoules(joules_whole * 1'000'000);
  p.share = share;
  return p;
}

ReportPhase phase(std::string name, double begin, double end, double seconds, std::optional<Energy> joules) {
  ReportPhase p;
  p.name = std::move(name);
  p.begin_s = begin;
  p.end_s = end;
  p.seconds = seconds;
  p.joules = joules;
  return p;
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

// 15000.123456 + 6250.000001 + 1250.500000 + 2499.376543 = 25000.000000 J.
Report gpu_run() {
  Report r;
  r.command = {"python", "train.py", "--epochs", "3"};
  r.exit_code = 0;
  r.begin = "2026-03-01T12:00:00Z";
  r.duration_s = 125;
  r.mean_watts = 200;
  r.peak_watts = 355;
  r.energy = {estimate(25'000'000'000, 24'100'000'000, 25'900'000'000), Quality::estimated, false, {}};
  r.components = {
      component("node/gpu-0", "GPU 0", estimate(15'000'123'456, 14'700'000'000, 15'300'000'000), 0.60000493824, 120.000987648, 240,
                Quality::measured, "nvml"),
      component("node/cpu/package-0", "CPU package 0", estimate(6'250'000'001, 6'187'500'000, 6'312'500'000), 0.25000000004, 50.000000008,
                95, Quality::measured, "rapl.powercap"),
      component("node/dram", "DRAM", estimate(1'250'500'000, 1'200'000'000, 1'300'000'000), 0.05002, 10.004, 14, Quality::measured,
                "rapl.powercap"),
      component("node/rest", "Rest of the node", estimate(2'499'376'543, 1'650'000'000, 3'350'000'000), 0.09997506172, 19.995012344, 21,
                Quality::estimated, "model", "no meter sees the whole node"),
      component("node/cpu/package-0/core", "CPU package 0 cores", estimate(4'000'000'000, 3'960'000'000, 4'040'000'000), 0, 32, 70,
                Quality::measured, "rapl.powercap"),
  };
  r.components[4].overlap = true;
  r.components[4].share.reset();
  r.phases = {phase("start-up", 0, 5, 5, microjoules(500'000'000)), phase("steps", 5, 120, 100, microjoules(23'000'000'000)),
              phase("between steps", 6, 119, 15, microjoules(1'250'000'000)), phase("tear-down", 120, 125, 5, microjoules(250'000'000))};
  r.steps = {1200, 19.1, 21.4, 0.0831, 0, {}};
  r.work = {{"sample", 76800, 25000.0 / 76800, 3.072, 25000.0 / 76800 * 1000 / 3.6e6, 614.4, 3.072, {}}};
  // From 0.53 after 4 kJ to 0.93 after 24 kJ: 40 points for 20 kJ.
  ReportKpi accuracy = kpi("accuracy", 0.93, 24000);
  accuracy.count = 2;
  accuracy.better = "more";
  accuracy.first = 0.53;
  accuracy.best = 0.93;
  accuracy.joules_at_best = 24000;
  accuracy.gained = 0.4;
  accuracy.point = 0.01;
  accuracy.joules_per_point = 500;
  accuracy.points = {{20, 0.53, 4000}, {100, 0.93, 24000}};
  r.kpis = {accuracy};
  r.processes = {process(4242, "python", 230.5, 20000, 0.8),
                 process(4243, "python: loader 0", 60.25, 3000, 0.12),
                 process(4244, "python: loader 1", 20, 1000, 0.04),
                 process(4245, "nvidia-smi", 4, 250, 0.01),
                 process(4246, "sh", 3, 250, 0.01),
                 process(4247, "git", 2, 300, 0.012),
                 process(4248, "uname", 1, 200, 0.008)};
  r.baseline = ReportBaseline{40, microjoules(5'000'000'000), "measured for 5 s before the run", {}};
  r.carbon = ReportCarbon{
      25000.0 / 3.6e6 * 480, 24100.0 / 3.6e6 * 480, 25900.0 / 3.6e6 * 480, 480, 1.0, "world", "Ember", 2023, "no place given", {}};
  r.cost = ReportCost{25000.0 / 3.6e6 * 0.3, "EUR", "0.30 EUR/kWh from --tariff"};
  r.sampling = {0.1, 1250, 0, {}};
  return r;
}

Report vm_estimate() {
  Report r;
  r.command = {"make", "-j2"};
  r.exit_code = 0;
  r.begin = "2026-03-01T12:00:00Z";
  r.duration_s = 60;
  r.mean_watts = 10;
  r.peak_watts = 18;
  r.energy = {estimate(600'000'000, 420'000'000, 780'000'000), Quality::estimated, false, {}};
  const std::string reason = "no power meter in this virtual machine; utilisation and the curve of Intel Ice Lake servers";
  r.components = {component("node/cpu", "CPU (this VM's share)", estimate(450'000'000, 315'000'000, 585'000'000), 0.75, 7.5, 14,
                            Quality::estimated, "model", reason),
                  component("node/dram", "DRAM (this VM's share)", estimate(150'000'000, 105'000'000, 195'000'000), 0.25, 2.5, 2.5,
                            Quality::estimated, "model", reason)};
  r.steps = {};
  r.baseline = ReportBaseline{5, microjoules(300'000'000), "estimated from the model's idle power", {}};
  r.carbon =
      ReportCarbon{600.0 / 3.6e6 * 56 * 1.1, 420.0 / 3.6e6 * 56 * 1.1, 780.0 / 3.6e6 * 56 * 1.1, 56, 1.1, "FR", "Ember", 2023, "", {}};
  r.cost_reason = "no tariff was given; use --tariff";
  r.sampling = {0.1, 600, 0, {}};
  r.flags = {"vm-share", "tdp-assumed", "cpu-assumed"};
  return r;
}

Report partial() {
  Report r;
  r.command = {"./solve"};
  r.begin = "2026-03-01T12:00:00Z";
  r.duration_s = 20;
  r.mean_watts = 50;
  r.peak_watts = 80;
  r.energy = {estimate(1'000'000'000, 990'000'000, 1'010'000'000),
              Quality::measured,
              true,
              {"node/dram: this processor has no DRAM domain", "node/cpu/package-1: energy_uj may be read by root alone"}};
  r.components = {component("node/cpu/package-0", "CPU package 0", estimate(1'000'000'000, 990'000'000, 1'010'000'000), 1.0, 50, 80,
                            Quality::measured, "rapl.powercap")};
  ReportComponent package;
  package.path = "node/cpu/package-1";
  package.label = "CPU package 1";
  package.meter = "rapl.powercap";
  package.reason = "energy_uj may be read by root alone: sudo chmod a+r /sys/class/powercap/intel-rapl:1/energy_uj";
  ReportComponent dram;
  dram.path = "node/dram";
  dram.label = "DRAM";
  dram.reason = "this processor has no DRAM domain";
  r.components.push_back(package);
  r.components.push_back(dram);
  r.phases = {phase("start-up", 0, 4, 4, microjoules(200'000'000)), phase("steps", 4, 20, 16, std::nullopt)};
  r.phases[1].reason = "a gap covers its end";
  r.steps = {40, std::nullopt, std::nullopt, 0.4, 12, "a gap covers some steps"};
  r.work = {{"token", 4000, std::nullopt, std::nullopt, std::nullopt, 200, std::nullopt, "a gap covers some steps"}};
  r.kpis = {kpi("loss", 1.25, std::nullopt)};
  ReportProcess p;
  p.pid = 77;
  p.name = "solve";
  p.cpu_s = 19;
  p.reason = "/proc/77/schedstat could not be read";
  r.processes = {p};
  r.baseline_reason = "not yet learnt on this machine; use --baseline 5s";
  r.carbon_reason = "switched off";
  r.sampling = {0.1,
                180,
                20,
                {{8, 9, "rapl.powercap package-0: read failed (EIO)", false},
                 {11, 11.5, "rapl.powercap package-0: read failed (EIO)", false},
                 {18, 20, "rapl.powercap package-0: the counter was reset", true}}};
  r.flags = {"ambiguous-wrap", "not-ended"};
  return r;
}

Report zero_length() {
  Report r;
  r.command = {"true"};
  r.exit_code = 0;
  r.begin = "2026-03-01T12:00:00Z";
  r.energy.partial = true;
  r.energy.missing = {"node/cpu/package-0: fewer than two readings"};
  ReportComponent c;
  c.path = "node/cpu/package-0";
  c.label = "CPU package 0";
  c.meter = "rapl.powercap";
  c.reason = "fewer than two readings";
  r.components = {c};
  r.sampling.interval_s = 0.1;
  r.sampling.rounds = 1;
  return r;
}

Report failed() {
  Report r = vm_estimate();
  r.command = {"sh", "-c", "kill -9 $$"};
  r.exit_code = 137;
  r.flags = {"vm-share"};
  return r;
}

Report weird_names() {
  Report r = vm_estimate();
  r.command = {"sh",
               "-c",
               "echo 'a \"b\"' <in >out && printf '\n\t\x1b[31m'",
               "na\xc3\xafve",
               "\xe6\x97\xa5\xe6\x9c\xac",
               "bad\xff\xfe",
               "",
               "</script><script>alert(1)</script>",
               "|pipe|`tick`"};
  r.components[0].label = "CPU <0> & \"friends\"";
  r.components[1].label = "=HYPERLINK(\"x\"), b";
  ReportProcess p = process(1, "evil\x1b[2J\xe2\x80\xaename\n| a <b> & c", 1.5, 600, 1.0);
  r.processes = {p};
  r.kpis = {kpi("nan \"kpi\"", nan, std::nullopt)};
  r.work = {{"r\xc3\xb6w", 0, std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt, {}}};
  r.flags = {"odd flag\nwith a newline"};
  return r;
}

// A wall of 1300 J that tells 1.7 s late, a node of 1000 J by its own meter, and a package that leaves 400 J of it; memory
// that cannot be read; two processes and the rest of the machine.
Report layered() {
  Report r;
  r.command = {"python", "train.py"};
  r.exit_code = 0;
  r.begin = "2026-03-01T12:00:00Z";
  r.duration_s = 10;
  r.mean_watts = 100;
  r.peak_watts = 110;
  r.energy = {estimate(1'000'000'000, 950'000'000, 1'050'000'000), Quality::derived, false, {}};
  r.components = {
      component("node/cpu/package-0", "CPU package 0", estimate(600'000'000, 594'000'000, 606'000'000), 0.6, 60, 70, Quality::measured,
                "rapl.powercap"),
      component("node/rest", "rest of the node", estimate(400'000'000, 349'000'000, 451'000'000), 0.4, 40, 45, Quality::derived, "hwmon",
                "the node as a whole less its parts"),
      component("wall", "wall", estimate(1'300'000'000, 1'287'000'000, 1'313'000'000), 0, 130, 150, Quality::integrated, "http-json")};
  r.components[2].overlap = true;
  r.components[2].share.reset();
  r.processes = {process(71, "python", 9, 500, 0.5), process(72, "loader", 1, 100, 0.1), process(0, "idle", 0, 400, 0.4)};
  ReportLayer wall{"wall", "wall", estimate(1'079'000'000, 1'060'000'000, 1'098'000'000), Quality::integrated, "http-json", "", 0, 8.3,
                   {},     {}};
  wall.parts = {{"node", "whole node", estimate(830'000'000, 788'500'000, 871'500'000), 830.0 / 1079, Quality::integrated, "hwmon", ""}};
  wall.residual = {estimate(249'000'000, 203'000'000, 295'000'000), 249.0 / 1079, "loss of the power supply", ""};
  ReportLayer node{"node", "node", estimate(830'000'000, 788'500'000, 871'500'000), Quality::integrated, "hwmon", "", 0, 8.3, {}, {}};
  node.parts = {{"node/cpu/package-0", "CPU package 0", estimate(840'000'001, 831'600'000, 848'400'000), 840.000001 / 830,
                 Quality::measured, "rapl.powercap", ""},
                {"node/dram", "DRAM", std::nullopt, std::nullopt, Quality::missing, "", "this processor has no DRAM domain"}};
  node.residual = {estimate(-10'000'001, -52'000'000, 32'000'000), -10.000001 / 830, "fans, board, storage, network",
                   "the parts read 10.0 J more than the whole; their errors allow for it"};
  ReportLayer work{"workloads", "workloads", r.energy.joules, Quality::derived, "", "", 0, 10, {}, {}};
  work.parts = {
      {"process/71", "python", estimate(500'000'000, 475'000'000, 525'000'000), 0.5, Quality::derived, "", "shared out by CPU time"},
      {"process/72", "loader | <b>", estimate(100'000'000, 95'000'000, 105'000'000), 0.1, Quality::derived, "", "shared out by CPU time"}};
  work.residual = {estimate(400'000'000, 380'000'000, 420'000'000), 0.4, "idle", ""};
  r.layers = {wall, node, work};
  r.delays = {{"node", "hwmon", "rapl.powercap", std::nullopt, std::nullopt, std::nullopt, std::nullopt,
               "the load hardly changed: a flat power tells no delay"},
              {"wall", "http-json", "rapl.powercap", 1700, 1650, 1750, 0.98, ""}};
  r.carbon = ReportCarbon{1300.0 / 3.6e6 * 100, 1287.0 / 3.6e6 * 100, 1313.0 / 3.6e6 * 100, 100, 1.2, "FR", "Ember", 2023, "", {}, "wall"};
  r.cost_reason = "no tariff was given; use --tariff";
  r.baseline_reason = "not measured";
  r.sampling = {0.1, 100, 0, {}};
  return r;
}

std::vector<Report> three_runs() {
  std::vector<Report> runs;
  for (const int joules_whole : {90, 100, 110}) {
    Report r;
    const std::int64_t uj = joules_whole * 1'000'000LL;
    r.command = {"./bench"};
    r.exit_code = 0;
    r.begin = "2026-03-01T12:00:00Z";
    r.duration_s = joules_whole / 10.0;
    r.mean_watts = 10;
    r.peak_watts = 12;
    r.energy = {estimate(uj, uj - 1'000'000, uj + 1'000'000), Quality::measured, false, {}};
    r.components = {component("node/cpu/package-0", "CPU package 0", estimate(uj - 10'000'000, uj - 11'000'000, uj - 9'000'000),
                              1 - 10.0 / joules_whole, (joules_whole - 10) / r.duration_s, 11, Quality::measured, "rapl.powercap"),
                    component("node/dram", "DRAM", estimate(10'000'000, 9'900'000, 10'100'000), 10.0 / joules_whole, 10 / r.duration_s, 1.5,
                              Quality::measured, "rapl.powercap")};
    r.sampling = {0.1, joules_whole, 0, {}};
    runs.push_back(r);
  }
  return runs;
}

namespace {

ReportHost host_of_job(const char* name, double joules_used, double from, double to) {
  ReportHost host;
  host.name = name;
  host.joules = Estimate{joules(joules_used), joules(joules_used * 0.97), joules(joules_used * 1.03)};
  host.share = joules_used / 1000;
  host.mean_watts = joules_used / (to - from);
  host.quality = Quality::measured;
  host.begin_s = from;
  host.end_s = to;
  host.clock = {0, 0.0, 0.0, 0, 0.0, 0.0, "the job's clock", ""};
  return host;
}

ReportComponent package_of_job(const char* host, double joules_used) {
  ReportComponent c;
  c.path = std::string("host/") + host + "/node/cpu/package-0";
  c.label = std::string(host) + ": CPU package 0";
  c.joules = Estimate{joules(joules_used), joules(joules_used * 0.97), joules(joules_used * 1.03)};
  c.share = joules_used / 1000;
  c.mean_watts = joules_used / 10;
  c.peak_watts = joules_used / 8;
  c.quality = Quality::measured;
  c.meter = "rapl.powercap";
  return c;
}

}  // namespace

Report job() {
  Report r;
  r.command = {"torchrun", "train.py"};
  r.exit_code = 0;
  r.begin = "2026-03-01T12:00:00Z";
  r.duration_s = 10;
  r.mean_watts = 100;
  r.peak_watts = 125;
  r.energy.joules = Estimate{joules(1000), joules(970), joules(1030)};
  r.energy.quality = Quality::measured;
  r.components = {package_of_job("node-a", 600), package_of_job("node-b", 400)};
  r.hosts = {host_of_job("node-a", 600, 0, 10), host_of_job("node-b", 400, 0, 8)};
  r.hosts[0].recordings = 2;
  r.hosts[0].grams = 0.05;
  r.hosts[0].place = "Germany (DE)";
  r.hosts[1].clock = {-1.25, -1.5, -1.0, 12.5, 10.0, 15.0, "120 common steps", ""};
  r.steps = {240, 4.0, 4.5, 0.05, 0, ""};
  r.rounds = 120;
  r.ranks = {{0, "node-a", 4711, 120, 3840, joules(540), 0.6, 0.04, 1.5, 0, 0, ""},
             {1, "node-b", 4711, 120, 3840, joules(360), 0.4, 0.06, 0, 1.5, 118, ""}};
  r.processes = {{4711, "python3", "node-a", 9.5, joules(590), 0.59, ""}, {4711, "python3", "node-b", 7.5, joules(390), 0.39, ""}};
  r.flags = {"shared-host: 2 recordings of node-a share its joules, which are counted once"};
  r.sampling = {0.1, 180, 0, {}};
  return r;
}

std::vector<std::pair<std::string, Report>> all() {
  return {{"gpu_run", gpu_run()}, {"vm_estimate", vm_estimate()}, {"partial", partial()}, {"zero_length", zero_length()},
          {"failed", failed()},   {"weird_names", weird_names()}, {"layered", layered()}, {"job", job()}};
}

}  // namespace joulery::samples
