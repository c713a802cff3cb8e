// `joulery run -- CMD`: runs a command as if nobody stood beside it, and tells what it used.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "act/power_knobs.h"
#include "app/agent_notes.h"
#include "app/command.h"
#include "app/command_line.h"
#include "app/gpu_notes.h"
#include "app/held_limits.h"
#include "app/idle_memory.h"
#include "app/measurement.h"
#include "app/run_opening.h"
#include "app/run_profile.h"
#include "core/units.h"
#include "publish/progress.h"
#include "publish/repeats.h"
#include "sense/host/host_identity_reader.h"
#include "sense/meters.h"
#include "watch/program.h"

namespace joulery {
namespace {

struct RunOptions : RunWords {
  std::string output, baseline, unit = "unit", summary, limits, profile;
  std::optional<double> work;
  bool no_save = false, quiet = false;
  int repeats = 1, warmup = 0;
};

void declare(CLI::App& app, RunOptions& o) {
  app.add_option("-o,--output", o.output, "keep the recording in this file")->type_name("FILE");
  app.add_flag("--no-save", o.no_save, "keep no recording");
  app.add_option("--interval", o.interval, "time between readings, 1ms to 1h (100ms)")->type_name("TIME");
  app.add_option("--baseline", o.baseline, "measure the idle machine for so long before CMD")->type_name("TIME");
  app.add_option("--work", o.work, "how much useful work CMD does")->type_name("N")->check(CLI::PositiveNumber);
  app.add_option("--unit", o.unit, "what that work is counted in: sample, token, request")->type_name("NAME");
  app.add_option("-r,--repeat", o.repeats, "run CMD so often; the summary gives mean and spread")
      ->type_name("N")
      ->check(CLI::Range(1, 10000));
  app.add_option("--warmup", o.warmup, "run CMD so often before, unmeasured")->type_name("N")->check(CLI::Range(0, 10000));
  app.add_option(
         "--profile", o.profile,
         "a folder that CMD's profiler may write to, named to it as JOULERY_PROFILE; the\ntrace is told with its joules after the summary")
      ->type_name("DIR");
  app.add_option("--power-limit", o.limits,
                 "hold power limits while CMD runs: node/gpu/0=250W,node/cpu/package-0=90W; joulery power lists them")
      ->type_name("LIMITS");
  app.add_option("--summary", o.summary, "write the summary to this file instead of stderr")->type_name("FILE");
  app.add_flag("--quiet", o.quiet, "print no summary");
  app.add_option("--sysroot", o.sysroot, "read meters from a tree with sys/ and proc/ in it")->type_name("DIR");
  add_forms(app, o.form, true);
  add_factor_options(app, o.factors);
  add_set_option(app, o.sets);
}

std::optional<int> parse_run(std::vector<std::string> arguments, RunOptions& o) {
  CLI::App app("Runs a command and reports its energy, by component and phase.", "joulery run");
  app.footer(
      "Usage: joulery run [options] -- CMD...\nCMD keeps its input, output, terminal, signals and exit code; the summary goes to stderr.");
  declare(app, o);
  if (const auto code = parse_before_command(app, "run", std::move(arguments), o.command)) return code;
  if (o.repeats > 1 && (o.form.csv || o.form.markdown || o.form.html))
    return complain("run",
                    {ErrorCode::usage, "a series of runs is told as text or --json only", "--repeat",
                     "or report on each recording: joulery report FILE"},
                    exit_usage);
  if (!o.profile.empty() && (o.repeats > 1 || o.form.json || o.form.csv || o.form.markdown || o.form.html))
    return complain("run",
                    {ErrorCode::usage, "a profile is told as text, of one run", "--profile", "joulery profile --json tells it otherwise"},
                    exit_usage);
  return std::nullopt;
}

std::string numbered(const std::string& path, int n, int of) {
  if (of == 1) return path;
  const std::filesystem::path whole(path);
  return (whole.parent_path() / fmt::format("{}-{}{}", whole.stem().string(), n, whole.extension().string())).string();
}

// Everything that one call of `joulery run` does, over all its repeats.
class Runner {
 public:
  Runner(RunOptions options, SignalGate gate) : o_(std::move(options)), gate_(std::move(gate)), machine_(o_.sysroot) {}

  int run() {
    if (const auto wrong = prepare()) return *wrong;
    if (const auto refused = hold_limits()) return *refused;
    const int code = run_all();
    let_go_of_limits();
    return code;
  }

 private:
  int run_all() {
    for (int i = 0; i < o_.warmup; ++i)
      if (const auto code = warm_up()) return *code;
    std::vector<Report> reports;
    int code = 0;
    for (int n = 1; n <= o_.repeats; ++n) {
      const auto path = recording_path(n);
      if (!path) return complain("run", path.error(), exit_own_failure);
      const MeasurementEnd end = measure_one(*path);
      if (!end.started) {
        forget(*path);
        return end.interrupted ? end.exit_code : complain("run", *end.error, end.exit_code);
      }
      if (code == 0) code = end.exit_code;
      if (end.error) {
        complain("run", *end.error, 0);
        if (code == 0) code = exit_own_failure;
      }
      if (const auto told_code = finish_one(end.recording, reports)) code = code == 0 ? *told_code : code;
      forget(*path);
      if (end.exit_code > 128 && o_.repeats > 1) break;  // Ctrl-C ends the series
    }
    if (o_.repeats > 1) print(o_.form.json ? repeats_json(reports) : repeats_text(reports, style_));
    return code;
  }

  // What a run left that was killed with all its helpers is put back first, whatever this run is for.
  std::optional<int> hold_limits() {
    for (const Undone& one : restore_left_limits(o_.sysroot)) complain("run", {ErrorCode::io, one.text, "", ""}, 0);
    if (requests_.empty()) return std::nullopt;
    auto limits = HeldLimits::take(requests_, o_.sysroot, settings_);
    if (!limits) return complain("run", limits.error(), exit_own_failure);
    limits_ = *std::move(limits);
    for (const HeldLimit& one : limits_->held())
      plan_.facts.power_limits.push_back(
          {one.component, one.taken.name, one.taken.asked_uw, one.taken.took_uw, one.taken.before_uw, one.taken.enforced_uw, one.by, ""});
    plan_.at_end = [this](RunFacts& facts) {
      const std::vector<std::string> changed = limits_->changed();
      for (std::size_t i = 0; i < changed.size() && i < facts.power_limits.size(); ++i) facts.power_limits[i].changed = changed[i];
    };
    return std::nullopt;
  }

  void let_go_of_limits() {
    if (!limits_) return;
    for (std::string& line : limits_->release()) complain("run", {ErrorCode::io, std::move(line), "", ""}, 0);
  }

  std::optional<int> prepare() {
    const auto refuse = [](const Error& error) { return complain("run", error, exit_usage); };
    auto opening = open_run(o_);
    if (!opening) return refuse(opening.error());
    const auto baseline = o_.baseline.empty() ? Result<Duration>(Duration{}) : parse_duration(o_.baseline);
    if (!baseline) return refuse({baseline.error().code, baseline.error().what, "--baseline", baseline.error().hint});
    if (!o_.limits.empty()) {
      auto requests = parse_limit_requests(o_.limits);
      if (!requests)
        return refuse({requests.error().code, requests.error().what, "--power-limit " + requests.error().where, requests.error().hint});
      requests_ = *std::move(requests);
    }
    settings_ = std::move(opening->settings);
    style_ = opening->style;
    if (!o_.profile.empty()) {
      auto folder = offer_profile_folder(o_.profile);
      if (!folder) return complain("run", folder.error(), exit_own_failure);
      o_.profile = std::move(*folder);
    }
    discovery_ = discover(machine_, settings_, Look::quick);
    plan_.command = o_.command;
    plan_.interval = opening->interval;
    plan_.baseline = *baseline;
    plan_.facts = facts_beforehand(o_.command, opening->interval, machine_, discovery_, opening->choices);
    plan_.facts.host = read_host_identity(machine_);
    if (const auto gpus = read_cuda_gpus(machine_)) plan_.facts.notes = gpu_notes(*gpus, cuda_environment(gpus->driver));
    std::ranges::move(agent_notes(discovery_.devices), std::back_inserter(plan_.facts.notes));
    if (o_.work) plan_.facts.work = {{o_.unit, *o_.work}};
    return std::nullopt;
  }

  std::optional<int> warm_up() {
    auto child = Child::start({o_.command, {}}, gate_);
    if (!child) return complain("run", child.error(), exit_code_of_start_failure(child.error()));
    const auto end = child->wait();
    if (!end) return complain("run", end.error(), exit_own_failure);
    return end->signal != 0 ? std::optional(end->exit_code) : std::nullopt;
  }

  Result<std::string> recording_path(int n) const {
    if (o_.no_save) return passing_recording();
    if (!o_.output.empty()) return numbered(o_.output, n, o_.repeats);
    return new_recording(std::filesystem::path(o_.command.front()).filename().string());
  }

  MeasurementEnd measure_one(const std::string& path) {
    plan_.recording = path;
    const bool shown = ::isatty(STDERR_FILENO) == 1 && !o_.quiet;
    Progress progress;
    if (shown)
      progress = [this](Duration elapsed, const LiveEnergy::Told& burnt) {
        put(stderr, std::string(progress_clear) + progress_line(elapsed, burnt.energy, burnt.power, style_));
      };
    const MeasurementEnd end = measure(plan_, discovery_.devices, gate_, progress);
    if (shown) put(stderr, progress_clear);
    return end;
  }

  std::optional<int> finish_one(const std::string& path, std::vector<Report>& reports) {
    const auto run = LoadedRun::load(path, {});
    if (!run) return complain("run", run.error(), exit_own_failure);
    reports.push_back(run->report());
    remember_idle(discovery_, *run);
    if (o_.repeats == 1 && !o_.quiet) print(told(*run, o_.form, style_));
    const bool plain = !o_.form.json && !o_.form.csv && !o_.form.markdown && !o_.form.html;
    if (!o_.no_save && !o_.quiet && plain && o_.repeats == 1) print(fmt::format("  Recording  {}\n", path));
    if (!o_.profile.empty() && !o_.quiet) tell_profile(path, run->begin());
    forget(path);
    return std::nullopt;
  }

  // Without a profile the run is still whole: that is a note.
  void tell_profile(const std::string& recording, WallTime begin) {
    const auto text = told_profile(o_.profile, recording, begin, style_);
    if (text)
      print("\n" + *text);
    else
      complain("run", text.error(), 0);
  }

  void forget(const std::string& path) const {
    if (o_.no_save) forget_passing(path);
  }

  void print(const std::string& text) {
    if (o_.quiet) return;
    if (o_.summary.empty()) {
      put(stderr, text);
      return;
    }
    std::ofstream file(o_.summary, summary_begun_ ? std::ios::app : std::ios::trunc);
    summary_begun_ = true;
    if (!(file << text).flush())
      complain("run", {ErrorCode::io, "cannot write the summary", o_.summary, "it is in the recording too: joulery report"}, 0);
  }

  RunOptions o_;
  SignalGate gate_;
  Machine machine_;
  Discovery discovery_;
  MeasurementPlan plan_;
  TextStyle style_;
  Settings settings_;
  std::vector<LimitRequest> requests_;
  std::unique_ptr<HeldLimits> limits_;
  bool summary_begun_ = false;
};

}  // namespace

int run_command(std::vector<std::string> arguments) {
  RunOptions options;
  if (const auto code = parse_run(std::move(arguments), options)) return *code;
  auto gate = SignalGate::open();
  if (!gate) return complain("run", gate.error(), exit_own_failure);
  return Runner(std::move(options), std::move(*gate)).run();
}

}  // namespace joulery
