// What a run used, whose it was and what it bought: a value with no behaviour. judge/ makes it from a ledger,
// publish/ tells it (text, JSON, CSV, Markdown, HTML). Field for field the schema joulery.report/1
// (data/schemas/report.json). An empty optional is "unknown", and the field `reason` beside it says why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/quality.h"
#include "core/time.h"

namespace joulery {

struct ReportEnergy {
  std::optional<Estimate> joules;    // the sum of the rows that are counted once
  Quality quality = Quality::missing;
  bool partial = false;              // something that burns is not in the sum
  std::vector<std::string> missing;  // "node/dram: no DRAM domain on this CPU"
  std::string boundary = "node";     // how far out the joules reach: node | wall
};

struct ReportComponent {
  std::string path;                  // "node/cpu/package-0"
  std::string label;                 // "CPU package 0"
  std::optional<Estimate> joules;
  std::optional<double> share;       // 0..1 of the total; empty for overlaps
  std::optional<double> mean_watts, peak_watts;
  Quality quality = Quality::missing;
  std::string meter;                 // "rapl.powercap", "model" for estimates
  std::string reason;                // why it is missing or estimated; "" where measured
  bool overlap = false;              // contained in a row that is counted: shown apart, never added
};

struct ReportPhase {
  std::string name;                  // start-up, steps, between steps, tear-down
  double begin_s = 0, end_s = 0;     // since the start of the run; the parts of "steps" may interleave with "between steps"
  double seconds = 0;                // time in this phase
  std::optional<Energy> joules;
  std::string reason;                // why a figure above is unknown; "" where none is
};

struct ReportSteps {
  std::int64_t count = 0;
  std::optional<double> joules_median, joules_p95, seconds_median;
  std::int64_t marks_lost = 0;
  std::string reason;                // why a figure above is unknown; "" where none is
};

// A process that marked steps beside others: a rank of a distributed training. The joules of all ranks sum to the phase "steps".
struct ReportRank {
  std::optional<std::int64_t> rank;  // as the launcher numbers it
  std::string host;                  // "" where there is one host
  std::int64_t pid = 0;
  std::int64_t steps = 0;
  double work = 0;                   // units of work that its steps held
  std::optional<Energy> joules;      // its share of its host's, split evenly at each moment among the ranks that are in a step
  std::optional<double> share;       // of all ranks' joules
  std::optional<double> seconds_median;
  double waited_s = 0;               // for ranks that arrived later
  double waited_for_s = 0;           // that the others waited for it, all of them together
  std::int64_t last = 0;             // in how many rounds it arrived last
  std::string reason;                // why a figure above is unknown; "" where none is
};

struct ReportWork {
  std::string unit;                  // "sample"
  double count = 0;
  std::optional<double> joules_per_unit, units_per_joule, kwh_per_1000;
  std::optional<double> units_per_second, units_per_second_per_watt;
  std::string reason;                // why a figure above is unknown; "" where none is
};

// One value of a figure of success, and what had been burnt until then.
struct ReportKpiPoint {
  double time_s = 0;                 // since the start of the run
  double value = 0;
  std::optional<double> joules;
};

struct ReportKpi {
  std::string name;
  double last = 0;
  std::optional<double> joules_at_last;
  std::string reason;                // why a figure above is unknown; "" where none is
  std::int64_t count = 0;            // how many values were reported
  std::string better;                // more | less, as the name tells; "" where it does not
  std::optional<double> first, best, joules_at_best;
  std::optional<double> gained;      // from the first value to the best, never below 0
  std::optional<double> point;       // what counts as one point: 0.01 of a figure between 0 and 1, else 1
  std::optional<double> joules_per_point;
  std::string gain_reason;           // why a figure of the gain is unknown; "" where none is
  std::vector<ReportKpiPoint> points;  // by time, thinned where there are many
};

struct ReportProcess {
  std::int64_t pid = 0;
  std::string name;
  std::string host = {};             // "" where there is one host
  double cpu_s = 0;
  std::optional<Energy> joules;
  std::optional<double> share;
  std::string reason;                // why a figure above is unknown; "" where none is
};

struct ReportCarbon {
  std::optional<double> grams, low, high;
  double g_per_kwh = 0;
  double pue = 1.0;
  std::string place, source;
  std::int64_t year = 0;
  std::string note;                  // "no place given: the world's average"
  std::string reason;                // why a figure above is unknown; "" where none is
  std::string boundary = "node";     // whose joules these grams are of: node | wall
};

struct ReportCost {
  double amount = 0;
  std::string currency, source;
  std::string boundary = "node";     // as for carbon
};

struct ReportGap {
  double begin_s = 0, end_s = 0;
  std::string reason;                // "rapl.powercap package-0: read failed"
  bool energy_lost = false;          // false where the counter ran on and its difference covers the gap
};

struct ReportSampling {
  double interval_s = 0;
  std::int64_t rounds = 0, missed = 0;
  std::vector<ReportGap> gaps;
};

// What the machine would have used in the same time with nothing running.
struct ReportBaseline {
  std::optional<double> watts;
  std::optional<Energy> joules;
  std::string source;                // measured | learnt | estimated, and from what
  std::string reason;                // why a figure above is unknown; "" where none is
};

// A power limit that was held while the command ran.
struct ReportPowerLimit {
  std::string path, name;            // "node/cpu/package-0", "long_term"; name: "" where the component has only one
  double asked_watts = 0;
  double watts = 0;                  // as the hardware took it
  double before_watts = 0;           // put back afterwards
  std::optional<double> enforced_watts;  // what the driver kept to, where it tells that apart
  std::string by;                    // agent | joulery
  std::optional<Energy> joules;      // of the component, over the run
  std::optional<double> mean_watts;
  std::string reason;                // why a figure above is unknown; "" where none is
  std::string changed;               // what became of it before the run ended; "" where it was held to the end
};

// A part of a layer; the parts and the residual sum to the layer's whole to the microjoule.
struct ReportLayerPart {
  std::string path, label;           // "node/gpu/0", "GPU 0"; "process/4711" for a workload
  std::optional<Estimate> joules;
  std::optional<double> share;       // of the layer's whole
  Quality quality = Quality::missing;
  std::string meter, reason;         // reason: why a figure above is unknown or derived; "" where there is nothing to say
};

// What a layer's parts leave of its whole.
struct ReportResidual {
  std::optional<Estimate> joules;    // below 0 where the meters disagree: never cut off at 0
  std::optional<double> share;
  std::string likely;                // what it probably is: "fans, board, storage, network"
  std::string reason;                // why it is unknown or negative; "" where there is nothing to say
};

struct ReportLayer {
  std::string name;                  // wall | node | workloads, outermost first
  std::string label;
  std::optional<Estimate> joules;    // the whole, by its own meter, over begin_s to end_s
  Quality quality = Quality::missing;
  std::string meter, reason;
  double begin_s = 0, end_s = 0;     // since the start of the run; shorter than the run where a meter tells late
  std::vector<ReportLayerPart> parts;
  ReportResidual residual;
  bool partial = false;              // some of that time has no readings of the whole
};

// How much later than the reference a meter tells what burnt.
struct ReportDelay {
  std::string path, meter;
  std::string reference;             // the meters of the parts that it was compared with
  std::optional<double> milliseconds, low, high;  // 90 % interval
  std::optional<double> correlation; // at that delay, -1..1
  std::string reason;                // why there is none; "" where there is one
};

// How a host's clock was laid on the first one's. 90 % intervals.
struct ReportClock {
  double ahead_ms = 0;               // of its wall clock before the first host's, in the middle of the run
  std::optional<double> low_ms, high_ms;
  double drift_ppm = 0;              // by which it gets further ahead
  std::optional<double> drift_low_ppm, drift_high_ppm;
  std::string source;                // "120 common steps", "wall clocks", "the job's clock"
  std::string reason;                // why a figure above is unknown; "" where none is
};

// One host of a job that ran on several; the joules of all sum to the report's.
struct ReportHost {
  std::string name;
  std::optional<Estimate> joules;
  std::optional<double> share, mean_watts;  // mean_watts: while it took part
  Quality quality = Quality::missing;
  bool partial = false;
  double begin_s = 0, end_s = 0;     // since the job's start: when it took part
  std::int64_t recordings = 1;       // that were merged for it
  ReportClock clock;
  std::optional<double> grams;       // CO2e
  std::string place;                 // whose carbon intensity that is
  std::string reason;                // why a figure above is unknown; "" where none is
};

struct Report {
  std::vector<std::string> command;
  std::optional<int> exit_code;      // empty where the recording ends before the command did
  std::string begin;                 // ISO 8601, UTC
  double duration_s = 0;
  std::optional<double> mean_watts, peak_watts;
  ReportEnergy energy;
  std::vector<ReportComponent> components;
  std::vector<ReportPhase> phases;
  ReportSteps steps;
  std::vector<ReportRank> ranks;     // none where fewer than two processes marked steps
  std::int64_t rounds = 0;           // steps that every rank has
  std::vector<ReportHost> hosts;     // none where there is one
  std::vector<ReportWork> work;
  std::vector<ReportKpi> kpis;
  std::vector<ReportProcess> processes;
  std::vector<ReportLayer> layers;
  std::vector<ReportDelay> delays;
  std::optional<ReportBaseline> baseline;
  std::vector<ReportPowerLimit> power_limits;
  std::optional<ReportCarbon> carbon;
  std::optional<ReportCost> cost;
  ReportSampling sampling;
  std::vector<std::string> flags;    // "vm-share", "ambiguous-wrap", "suspended"
  std::string carbon_reason, cost_reason, baseline_reason;  // why carbon, cost, baseline are empty; "" where they are not
};

// Power over time by component, and what happened when: for pictures. Times in seconds since the start.
struct PowerTrack {
  std::string path, label;
  Quality quality = Quality::missing;
  bool overlap = false;
  std::vector<double> watts;         // mean over each slot of Chart::time; NaN where nothing is known
};

struct ChartBand {
  std::string kind, name;            // kind: phase | step | mark
  double begin_s = 0, end_s = 0;
  std::int64_t pid = 0;              // the process that marked it; 0 for the run as a whole
};

struct Chart {
  std::vector<double> time;          // slot edges, one more than the tracks have values
  std::vector<PowerTrack> tracks;
  std::vector<ChartBand> bands;
};

}  // namespace joulery
