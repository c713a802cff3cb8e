// A recording made ready to be told: timeline, ledger, steps and factors of one run, held together.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "judge/make_chart.h"
#include "judge/make_job_report.h"
#include "judge/make_report.h"
#include "judge/wall_fit.h"
#include "record/recording.h"

namespace joulery {

// What the reader of a recording may ask for instead of what was asked for when it was made.
struct ReportChoices {
  std::optional<Fill> fill;
  FactorChoice factors;       // what is set here wins
};

class LoadedRun {
 public:
  // Errors: those of Recording; an unknown place or a bad tariff.
  static Result<LoadedRun> load(const Recording& recording, const ReportChoices& choices);
  static Result<LoadedRun> load(const std::string& path, const ReportChoices& choices);

  Report report() const { return report_; }
  Chart chart(int slots, int bands) const { return make_chart(record(), slots, bands); }
  WallTime begin() const { return begin_; }
  Interval interval() const { return timeline_->run; }
  Duration sampling_interval() const { return timeline_->interval; }
  const Ledger& ledger() const { return *ledger_; }
  const Steps& steps() const { return steps_; }
  const Timeline& timeline() const { return *timeline_; }
  // What the wall delivers for what the parts take, from this recording. `source` names it. Errors: those of fit_wall().
  Result<WallFit> wall_fit(const std::string& source) const { return fit_wall(record(), source); }
  // The idle power of a baseline that this run measured; empty where it measured none.
  std::optional<IdlePower> measured_idle() const { return timeline_->baseline ? idle_power(record()) : std::nullopt; }

 private:
  LoadedRun() = default;
  static Result<LoadedRun> load_job(const Recording& recording, RunFacts facts, std::vector<JobHost> hosts, const ReportChoices& choices);
  Result<void> judge_sensors();
  void lay_together(const std::vector<JobHost>& hosts);
  void collect_job_steps(const std::vector<JobHost>& hosts);
  RunRecord record() const {
    return {*timeline_, *ledger_, facts_, steps_, processes_, model_, begin_, no_wall_, step_energies_, host_of_member_};
  }
  Result<void> derive_wall_layer();

  RunFacts facts_;
  std::unique_ptr<Timeline> timeline_;
  std::unique_ptr<Ledger> ledger_;
  Steps steps_;
  std::vector<ProcessSample> processes_;
  std::optional<PowerModel> model_;
  WallTime begin_;
  std::vector<std::unique_ptr<LoadedRun>> hosts_;  // of a job: each told alone, by its own clock
  std::vector<Energy> step_energies_;              // of a job's steps
  std::vector<std::string> host_of_member_;        // of a job's recordings
  std::string no_wall_;              // why the wall model that there is says nothing of this run
  Report report_;
};

// The power model of a machine, with the user's calibration where there is one. Errors: a calibration that cannot be read.
Result<PowerModel> power_model_of(const CpuIdentity& machine);

// Fills carbon and cost from what the user chose: of the energy at the wall where that was measured, else of the report's
// own. Errors: usage, with near names: call it once before anything runs, with an empty report, to refuse an unknown place
// early.
Result<void> add_factors(const FactorChoice& choice, const std::optional<Estimate>& wall, Report& report);

}  // namespace joulery
