#include "ledger/profile/profile_account.h"

#include <algorithm>
#include <map>

#include "ledger/profile/activity.h"
#include "ledger/profile/work_energy.h"
#include "ledger/split.h"

namespace joulery {
namespace {

constexpr std::string_view own_code = "(host code outside of operators)";

std::string work_name(const Profile& profile, const ActivityWork& work) {
  return work.name == 0 && work.kind == EventKind::python ? std::string(own_code) : std::string(profile.name(work.name));
}

// A cell's time, and what it is given of the energy.
struct CellShare {
  double seconds = 0;
  std::optional<Energy> energy;
  std::optional<double> low, high;     // J
  Quality quality = Quality::missing;
};

struct Bounds {
  double low = 0, high = 0;            // J
  bool known = true;
};

void add(ProfileFigures& to, Bounds& bounds, const CellShare& cell, bool device) {
  (device ? to.device : to.host) += seconds(cell.seconds);
  if (!cell.energy) return;
  to.quality = to.energy ? worst(to.quality, cell.quality) : cell.quality;
  to.energy = to.energy.value_or(Energy{}) + *cell.energy;
  bounds.known = bounds.known && (cell.low || *cell.energy == Energy{});
  bounds.low += cell.low.value_or(0);
  bounds.high += cell.high.value_or(0);
  to.low = bounds.known ? std::optional(std::min(joules(bounds.low), *to.energy)) : std::nullopt;
  to.high = bounds.known ? std::optional(std::max(joules(bounds.high), *to.energy)) : std::nullopt;
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
    for (const ActivitySide& side : sides) add_side(side);
    if (energy_)
      account_.how = !fitted_ ? "share of time" : by_time_ ? "fitted powers, and share of time where none fits" : "fitted powers";
    sum_sides();
    add_lines();
    add_steps();
    account_.activity = std::move(sides);
    return std::move(account_);
  }

 private:
  // What the side burnt: each of its rows' energy, of which what is unknown makes the side partial.
  std::vector<std::optional<Estimate>> measure(const ActivitySide& side, ProfileSide& told) {
    std::vector<std::optional<Estimate>> rows;
    for (const Row* row : side.rows) {
      told.components.push_back(row->component.path());
      const Span span = energy_->ledger.energy(*row, when_);
      rows.push_back(span.energy);
      told.partial = told.partial || span.partial || !span.energy;
      if (!span.energy) continue;
      told.quality = told.energy ? worst(told.quality, span.quality) : span.quality;
      told.energy = told.energy.value_or(Energy{}) + span.energy->value;
    }
    return rows;
  }

  void add_side(const ActivitySide& side) {
    ProfileSide told;
    told.device = side.device;
    told.busy = seconds(side.busy_seconds);
    std::vector<CellShare> cells(side.cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i].seconds = side.cells[i].seconds;
    GapLine gap{side.device, false, account_.length - told.busy, std::nullopt, Quality::missing};
    std::vector<std::string> merged(side.works.size());
    if (energy_) {
      const auto rows = measure(side, told);
      if (told.energy) {
        WorkEnergy works = work_energy(*profile_, side, rows, energy_->recording, energy_->clock, when_);
        give(side, works, cells);
        gap.energy = works.rest;
        gap.all_the_time = works.rest_is_static;
        gap.quality = worst(told.quality, works.fitted ? Quality::derived : Quality::estimated);
        merged = std::move(works.merged);
        (works.fitted ? fitted_ : by_time_) = true;
        account_.notes.insert(account_.notes.end(), works.notes.begin(), works.notes.end());
      }
    }
    account_.cell_joules.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      add_cell(side, side.cells[i], cells[i], merged[side.cells[i].work]);
      if (told.energy) account_.cell_joules.back().push_back(to_joules(*cells[i].energy));
    }
    account_.merged_works.push_back(std::move(merged));
    account_.gaps.push_back(std::move(gap));
    account_.sides.push_back(std::move(told));
  }

  // Each work's energy to its cells: by time, for its power is one.
  void give(const ActivitySide& side, const WorkEnergy& works, std::vector<CellShare>& shares) {
    std::vector<std::vector<std::size_t>> cells_of(side.works.size());
    for (std::size_t i = 0; i < side.cells.size(); ++i) cells_of[side.cells[i].work].push_back(i);
    for (std::size_t work = 0; work < cells_of.size(); ++work) {
      std::vector<double> weights;
      for (const std::size_t cell : cells_of[work])
        weights.push_back(works.fitted ? side.cells[cell].seconds : std::max(0.0, side.cells[cell].joules));
      const std::vector<Energy> parts = split(works.works[work], weights);
      double sum = 0;
      for (const double weight : weights) sum += weight;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        CellShare& share = shares[cells_of[work][i]];
        share.energy = parts[i];
        share.quality = works.fitted ? Quality::derived : Quality::estimated;
        if (!works.low[work] || sum <= 0) continue;
        share.low = to_joules(*works.low[work]) * weights[i] / sum;
        share.high = to_joules(*works.high[work]) * weights[i] / sum;
      }
    }
  }

  void add_cell(const ActivitySide& side, const ActivityCell& cell, const CellShare& share, const std::string& merged) {
    const ActivityWork& work = side.works[cell.work];
    const bool device = side.device >= 0;
    const std::string own = work_name(*profile_, work);
    const std::string op = device && cell.op != 0 ? std::string(profile_->name(cell.op)) : own;
    auto& [line, line_bounds] = operators_[op];
    add(line.figures, line_bounds, share, device);
    if (line.merged.find(merged) == std::string::npos) line.merged += (line.merged.empty() ? "" : "; ") + merged;
    if (!device || cell.op == 0) line.figures.calls += cell.calls;
    if (device) {
      auto& [kernel, bounds] = kernels_[{side.device, own}];
      add(kernel.figures, bounds, share, true);
      kernel.figures.calls += cell.calls;
      kernel.merged = merged;
    }
    auto& [layer, bounds] = layers_[std::string(profile_->name(cell.layer))];
    add(layer.figures, bounds, share, device);
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
        account_.notes.push_back(side.device < 0
                                     ? "no meter measured the host: its operators have time alone"
                                     : "no meter measured device " + std::to_string(side.device) + ": its kernels have time alone");
  }

  void add_lines() {
    for (auto& [name, entry] : operators_) {
      OperatorLine& line = entry.first;
      line.name = name;
      account_.operators.push_back(std::move(line));
    }
    for (auto& [key, entry] : kernels_) {
      KernelLine& line = entry.first;
      line.device = key.first;
      line.name = key.second;
      account_.kernels.push_back(std::move(line));
    }
    for (auto& [path, entry] : layers_) {
      LayerLine& line = entry.first;
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
      PhaseLine line{phase.name == "run" ? "profile" : phase.name, {}, account_.energy ? std::optional(Energy{}) : std::nullopt};
      for (const Interval& piece : phase.pieces) {
        line.length += piece.length();
        const auto energy = counted(piece.begin.ns, piece.end.ns);
        line.energy = line.energy && energy ? std::optional(*line.energy + *energy) : std::nullopt;
      }
      account_.phases.push_back(std::move(line));
    }
  }

  const Profile* profile_;
  const ProfileEnergySource* energy_;
  Interval when_;
  ProfileAccount account_;
  bool fitted_ = false, by_time_ = false;
  std::map<std::string, std::pair<OperatorLine, Bounds>> operators_;
  std::map<std::pair<int, std::string>, std::pair<KernelLine, Bounds>> kernels_;
  std::map<std::string, std::pair<LayerLine, Bounds>> layers_;
};

}  // namespace

ProfileAccount account_profile(const Profile& profile, const ProfileEnergySource* energy) { return Accountant(profile, energy).make(); }

}  // namespace joulery
