#include "app/loaded_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/sensor_gains.h"
#include "app/user_folders.h"
#include "factors/calibration.h"
#include "factors/wall_model.h"
#include "judge/make_layers.h"
#include "ledger/cross_check.h"
#include "ledger/derived_wall.h"
#include "ledger/resonance.h"
#include "ledger/run_facts.h"
#include "ledger/sensor_gain.h"

namespace joulery {
namespace {

// The crossing of the clocks nearest to the run's start gives its wall time: later steps of the wall clock do not matter.
WallTime wall_begin(const std::vector<ClockMap>& maps, MonoTime begin) {
  const ClockMap* nearest = nullptr;
  for (const ClockMap& map : maps)
    if (!nearest || std::abs((map.mono - begin).base_units()) < std::abs((nearest->mono - begin).base_units())) nearest = &map;
  return nearest ? nearest->to_wall(begin) : WallTime{};
}

}  // namespace

namespace {

bool anything_measured(const Timeline& timeline) {
  return std::ranges::any_of(timeline.sources,
                             [](const EnergySource& s) { return s.channel.scope == Scope::component && !s.track.empty(); });
}

}  // namespace

Result<PowerModel> power_model_of(const CpuIdentity& machine) {
  const auto calibration = read_calibration(calibration_file());
  if (calibration) return PowerModel::for_machine(machine, *calibration);
  if (calibration.error().code != ErrorCode::not_found) return std::unexpected(calibration.error());
  return PowerModel::for_machine(machine);
}

// A wall without a meter, from the model that was learnt on a machine of this kind. Errors: a model that cannot be read.
Result<void> LoadedRun::derive_wall_layer() {
  if (ledger_->wall()) return {};
  const auto model = read_wall_model(wall_model_file());
  if (!model) return model.error().code == ErrorCode::not_found ? Result<void>() : std::unexpected(model.error());
  const WallInputs inputs = wall_inputs(*ledger_);
  no_wall_ = kind_difference(model->kind, wall_kind(facts_.machine, facts_.kind, inputs.sorts));
  if (!no_wall_.empty() || inputs.rows.empty()) return {};
  DerivedWall wall = derive_wall(inputs, *timeline_, *ledger_, *model);
  std::string reason = fmt::format("a model learnt from {}", model->source);
  if (wall.outside > 0.01) reason += fmt::format("; {:.0f} % of the time beyond the load that it was learnt at", wall.outside * 100);
  ledger_->add_derived_wall(std::move(wall.times), std::move(wall.track), std::move(reason));
  return {};
}

Result<LoadedRun> LoadedRun::load(const std::string& path, const ReportChoices& choices) {
  const auto recording = Recording::open(path);
  if (!recording) return std::unexpected(recording.error());
  auto run = load(**recording, choices);
  if (!run) return fail(run.error().code, run.error().what, run.error().where.empty() ? path : run.error().where, run.error().hint);
  return run;
}

// What sensors cannot know of themselves: a gain that a meter showed, steps that keep their pace, a counter that does not count.
Result<void> LoadedRun::judge_sensors() {
  const auto note = [&](std::vector<std::string> flags) { facts_.notes.insert(facts_.notes.end(), flags.begin(), flags.end()); };
  const auto gains = known_gains();
  if (!gains) return std::unexpected(gains.error());
  note(apply_gains(*timeline_, *gains));
  note(widen_for_resonance(*timeline_, steps_.steps));
  note(cross_check_counters(*timeline_));
  return {};
}

Result<LoadedRun> LoadedRun::load(const Recording& recording, const ReportChoices& choices) {
  LoadedRun run;
  auto facts = facts_from(recording.metadata());
  if (!facts) return std::unexpected(facts.error());
  auto hosts = job_hosts(recording.metadata());
  if (!hosts) return std::unexpected(hosts.error());
  if (!hosts->empty()) return load_job(recording, std::move(*facts), std::move(*hosts), choices);
  run.facts_ = std::move(*facts);
  auto timeline = Timeline::from(recording, run.facts_.machine.threads);
  if (!timeline) return std::unexpected(timeline.error());
  run.timeline_ = std::make_unique<Timeline>(std::move(*timeline));
  const auto marks = recording.marks();
  if (!marks) return std::unexpected(marks.error());
  run.steps_ = collect_steps(*marks, run.timeline_->run);
  if (const auto judged = run.judge_sensors(); !judged) return std::unexpected(judged.error());
  const Fill fill = choices.fill.value_or(run.facts_.fill);
  // Reading the model's tables costs more than a short run: only where it will be used.
  if (fill == Fill::all || (fill == Fill::automatic && !anything_measured(*run.timeline_))) {
    auto model = power_model_of(run.facts_.machine);
    if (!model) return std::unexpected(model.error());
    run.model_ = std::move(*model);
  }
  run.ledger_ = std::make_unique<Ledger>(*run.timeline_, run.model_, fill, run.facts_.missing);
  if (fill != Fill::none)
    if (const auto derived = run.derive_wall_layer(); !derived) return std::unexpected(derived.error());
  auto processes = recording.processes();
  if (!processes) return std::unexpected(processes.error());
  run.processes_ = std::move(*processes);
  const auto maps = recording.clock_maps();
  if (!maps) return std::unexpected(maps.error());
  run.begin_ = wall_begin(*maps, run.timeline_->run.begin);
  run.report_ = make_report(run.record());
  if (run.facts_.interval > Duration{}) run.report_.sampling.interval_s = to_seconds(run.facts_.interval);
  FactorChoice factors = run.facts_.factors;
  if (!choices.factors.place.empty()) factors.place = choices.factors.place;
  if (choices.factors.intensity) factors.intensity = choices.factors.intensity;
  if (choices.factors.pue) factors.pue = choices.factors.pue;
  if (!choices.factors.tariff.empty()) factors.tariff = choices.factors.tariff;
  if (const auto added = add_factors(factors, energy_at_wall(run.report_), run.report_); !added) return std::unexpected(added.error());
  return run;
}

}  // namespace joulery
