#include "ledger/profile/profile_account.h"

#include <algorithm>
#include <map>

#include "ledger/profile/activity.h"
#include "ledger/split.h"

namespace joulery {
namespace {

constexpr std::string_view own_code = "(host code outside of operators)";

std::string work_name(const Profile& profile, const ActivityWork& work) {
  return work.name == 0 && work.kind == EventKind::python ? std::string(own_code) : std::string(profile.name(work.name));
}

void add(ProfileFigures& to, const ActivityCell& cell, bool on_device, const std::optional<Energy>& energy, Quality quality) {
  (on_device ? to.device : to.host) += seconds(cell.seconds);
  if (!energy) return;
  to.quality = to.energy ? worst(to.quality, quality) : quality;
  to.energy = to.energy.value_or(Energy{}) + *energy;
}

// Falling energy, then falling time, then by name.
template <class Line, class Name>
void order(std::vector<Line>& lines, Name&& name) {
  std::ranges::sort(lines, [&](const Line& a, const Line& b) {
    const Energy ea = a.figures.energy.value_or(Energy{}), eb = b.figures.energy.value_or(Energy{});
    if (ea != eb) return ea > eb;
    const Duration ta = a.figures.host + a.figures.device, tb = b.figures.host + b.figures.device;
    return ta != tb ? ta > tb : name(a) < name(b);
  });
}

class Accountant {
 public:
  Accountant(const Profile& profile, const ProfileEnergySource* energy) : profile_(&profile), energy_(energy) {
    account_.length = nanoseconds(profile.end - profile.begin);
    if (energy) when_ = {energy->clock.at(profile.begin), energy->clock.at(profile.end)};
  }

  ProfileAccount make() {
    std::optional<EnergyClock> clock;
    if (energy_) clock = EnergyClock{&energy_->ledger, &energy_->clock};
    std::vector<ActivitySide> sides = activity_of(*profile_, clock);
    account_.how = energy_ ? "share of time" : "";
    for (const ActivitySide& side : sides) add_side(side);
    sum_sides();
    add_lines();
    add_steps();
    account_.activity = std::move(sides);
    return std::move(account_);
  }

 private:
  // What the side burnt: each of its rows' energy, of which what is unknown makes the side partial.
  void measure(const ActivitySide& side, ProfileSide& told) {
    for (const Row* row : side.rows) {
      told.components.push_back(row->component.path());
      const Span span = energy_->ledger.energy(*row, when_);
      told.partial = told.partial || span.partial || !span.energy;
      if (!span.energy) continue;
      told.quality = told.energy ? worst(told.quality, span.quality) : span.quality;
      told.energy = told.energy.value_or(Energy{}) + span.energy->value;
    }
  }

  void add_side(const ActivitySide& side) {
    ProfileSide told;
    told.device = side.device;
    told.busy = seconds(side.busy_seconds);
    if (energy_) measure(side, told);
    std::vector<double> weights;
    for (const ActivityCell& cell : side.cells) weights.push_back(std::max(0.0, cell.joules));
    weights.push_back(std::max(0.0, side.idle_joules));
    const std::vector<Energy> shares = told.energy ? split(*told.energy, weights) : std::vector<Energy>();
    for (std::size_t i = 0; i < side.cells.size(); ++i)
      add_cell(side, side.cells[i], told.energy ? std::optional(shares[i]) : std::nullopt);
    account_.cell_joules.emplace_back();
    if (told.energy)
      for (std::size_t i = 0; i < side.cells.size(); ++i) account_.cell_joules.back().push_back(to_joules(shares[i]));
    const std::optional<Energy> idle = told.energy ? std::optional(shares.back()) : std::nullopt;
    account_.gaps.push_back({side.device, account_.length - told.busy, idle, idle ? worst(told.quality, Quality::estimated) : Quality::missing});
    account_.sides.push_back(std::move(told));
  }

  void add_cell(const ActivitySide& side, const ActivityCell& cell, std::optional<Energy> energy) {
    const ActivityWork& work = side.works[cell.work];
    const bool on_device = side.device >= 0;
    const Quality quality = Quality::estimated;   // whatever the meter is, who of several took how much is told by time
    const std::string own = work_name(*profile_, work);
    const std::string op = on_device && cell.op != 0 ? std::string(profile_->name(cell.op)) : own;
    OperatorLine& line = operators_[op];
    add(line.figures, cell, on_device, energy, quality);
    if (!on_device || cell.op == 0) line.figures.calls += cell.calls;
    if (on_device) {
      KernelLine& kernel = kernels_[{side.device, own}];
      add(kernel.figures, cell, true, energy, quality);
      kernel.figures.calls += cell.calls;
    }
    LayerLine& layer = layers_[std::string(profile_->name(cell.layer))];
    add(layer.figures, cell, on_device, energy, quality);
    layer.figures.calls += cell.calls;
  }

  void sum_sides() {
    for (const ProfileSide& side : account_.sides) {
      account_.partial = account_.partial || side.partial;
      if (!side.energy) continue;
      account_.quality = account_.energy ? worst(account_.quality, side.quality) : side.quality;
      account_.energy = account_.energy.value_or(Energy{}) + *side.energy;
    }
    for (const ProfileSide& side : account_.sides)
      if (energy_ && !side.energy)
        account_.notes.push_back(side.device < 0 ? "no meter measured the host: its operators have time alone"
                                                 : "no meter measured device " + std::to_string(side.device) + ": its kernels have time alone");
  }

  void add_lines() {
    for (auto& [name, line] : operators_) {
      line.name = name;
      account_.operators.push_back(std::move(line));
    }
    for (auto& [key, line] : kernels_) {
      line.device = key.first;
      line.name = key.second;
      account_.kernels.push_back(std::move(line));
    }
    for (auto& [path, line] : layers_) {
      line.path = path;
      account_.layers.push_back(std::move(line));
    }
    if (account_.layers.size() == 1 && account_.layers.front().path.empty()) account_.layers.clear();   // the trace knows of none
    order(account_.operators, [](const OperatorLine& line) { return line.name; });
    order(account_.kernels, [](const KernelLine& line) { return line.name; });
    order(account_.layers, [](const LayerLine& line) { return line.path; });
  }

  std::optional<Energy> counted(std::int64_t begin, std::int64_t end) const {
    if (!energy_ || !account_.energy) return std::nullopt;
    return energy_->ledger.counted({energy_->clock.at(begin), energy_->clock.at(end)});
  }

  void add_steps() {
    std::vector<Step> as_marks;
    for (const ProfileStep& step : profile_->steps) {
      account_.steps.push_back({std::string(profile_->name(step.name)), step.number, nanoseconds(step.begin - profile_->begin),
                                nanoseconds(step.end - step.begin), counted(step.begin, step.end)});
      as_marks.push_back({{{step.begin}, {step.end}}, "", 0, 0, 0});
    }
    for (const Phase& phase : phases_of(as_marks, {{profile_->begin}, {profile_->end}})) {
      PhaseLine line{phase.name == "run" ? "profile" : phase.name, {}, std::nullopt};
      for (const Interval& piece : phase.pieces) {
        line.length += piece.length();
        if (const auto energy = counted(piece.begin.ns, piece.end.ns)) line.energy = line.energy.value_or(Energy{}) + *energy;
      }
      account_.phases.push_back(std::move(line));
    }
  }

  const Profile* profile_;
  const ProfileEnergySource* energy_;
  Interval when_;
  ProfileAccount account_;
  std::map<std::string, OperatorLine> operators_;
  std::map<std::pair<int, std::string>, KernelLine> kernels_;
  std::map<std::string, LayerLine> layers_;
};

}  // namespace

ProfileAccount account_profile(const Profile& profile, const ProfileEnergySource* energy) { return Accountant(profile, energy).make(); }

}  // namespace joulery
