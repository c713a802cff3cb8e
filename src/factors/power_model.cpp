#include "factors/power_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace joulery {
namespace {

// Nobody measured it: what neighbours do and how big the host is are unknown to the guest. In logarithms, both ways.
const double vm_spread = std::log(1.5);

PowerBand scaled(const Bounded& per_unit, double units) {
  return {watts(per_unit.value * units), watts(per_unit.low * units), watts(per_unit.high * units)};
}

PowerBand scaled(const PowerBand& band, double factor) {
  return {watts(to_watts(band.value) * factor), watts(to_watts(band.low) * factor), watts(to_watts(band.high) * factor)};
}

void never_fall(Levels& levels) {
  for (std::size_t i = 1; i < level_count; ++i) levels[i] = std::max(levels[i], levels[i - 1]);
}

}  // namespace

// Gathers what is known of the machine, assumes the rest, and fills the curves once.
class PowerModelBuilder {
 public:
  PowerModelBuilder(const CpuIdentity& cpu, const std::optional<Calibration>& calibration, std::optional<Power> tdp_override)
      : cpu_(cpu),
        calibration_(calibration),
        tdp_override_(tdp_override),
        table_(read_power_table(shipped::power_model())),
        kind_(find_cpu_kind(cpu)),
        host_(table_.host_of(kind_.family)) {}

  PowerModel build() {
    shape_.family = kind_.family;
    shape_.year = kind_.year;
    shape_.market_class = kind_.market_class;
    if (cpu_.virtual_machine)
      assume_host();
    else
      take_machine();
    take_tdp();
    model_.family_ = kind_.family;
    model_.total_tdp_ = watts(shape_.tdp * shape_.chips);
    fill_memory();
    fill_node();
    fill_package();
    write_flags();
    return std::move(model_);
  }

 private:
  void take_machine() {
    const double threads_per_core = host_.threads_per_core;
    shape_.chips = std::max(1, cpu_.sockets);
    shape_.threads = cpu_.threads;
    if (cpu_.threads <= 0) shape_.threads = (cpu_.cores > 0 ? cpu_.cores : shape_.chips * host_.cores_per_chip) * threads_per_core;
    shape_.cores = cpu_.cores > 0 ? cpu_.cores : std::max(1.0, shape_.threads / threads_per_core);
    shape_.threads = std::max(shape_.threads, shape_.cores);
    shape_.memory_gb = cpu_.memory_gb > 0 ? cpu_.memory_gb : host_.gb_per_core * shape_.cores;
    size_assumed_ = cpu_.threads <= 0 || cpu_.memory_gb <= 0;
  }

  // The host of a guest: the median machine of its family, or as large as the guest where that is larger.
  void assume_host() {
    shape_.chips = host_.chips;
    shape_.cores = host_.chips * host_.cores_per_chip;
    shape_.threads = shape_.cores * host_.threads_per_core;
    const double growth = cpu_.threads / shape_.threads;
    if (growth > 1) {
      shape_.chips *= growth;
      shape_.cores *= growth;
      shape_.threads = cpu_.threads;
    }
    shape_.memory_gb = host_.gb_per_core * shape_.cores;
    model_.machine_share_ = std::min(1.0, std::max(1, cpu_.threads) / shape_.threads);
  }

  void take_tdp() {
    const auto stated = find_tdp(cpu_.model_name);
    tdp_known_ = (tdp_override_ && to_watts(*tdp_override_) > 0) || stated;
    if (tdp_override_ && to_watts(*tdp_override_) > 0)
      shape_.tdp = to_watts(*tdp_override_);
    else if (stated)
      shape_.tdp = to_watts(*stated);
    else
      shape_.tdp = host_.tdp_per_core * shape_.cores / shape_.chips;
  }

  std::string mode() {
    if (calibration_) return calibration_->half ? "three_points" : "two_points";
    const auto family = table_.families.find(kind_.family);
    if (family == table_.families.end() || family->second.results == 0) return tdp_known_ ? "no_family" : "neither";
    if (!family->second.has_curve()) return tdp_known_ ? "new_family" : "neither";
    return tdp_known_ ? "a_priori" : "no_tdp";
  }

  void fill_node() {
    model_.mode_ = mode();
    const auto family = table_.families.find(kind_.family);
    if (family != table_.families.end()) model_.family_results_ = family->second.results;
    const BandRow band = table_.bands[model_.mode_];
    if (calibration_)
      fill_calibrated(band);
    else
      fill_predicted(band);
    order(model_.node_);
    if (cpu_.virtual_machine) take_guest();
  }

  static void order(PowerModel::Curve& c) {
    never_fall(c.low);
    never_fall(c.high);
    for (std::size_t i = 0; i < level_count; ++i) {
      c.low[i] = std::min(c.low[i], c.value[i]);
      c.high[i] = std::max(c.high[i], c.value[i]);
    }
  }

  // From the host's node to the guest's: its share of all but the memory, and its own memory. The host's watts and the
  // watts of a GB err independently: their errors add up in squares.
  void take_guest() {
    const double own_gb = own_memory_gb(), most = to_watts(model_.total_tdp_);
    const auto guest = [&](double host, double per_gb) {
      return model_.machine_share_ * std::max(0.0, host - per_gb * shape_.memory_gb) + per_gb * own_gb;
    };
    const Bounded& gb = table_.memory;
    PowerModel::Curve& c = model_.node_;
    for (std::size_t i = 0; i < level_count; ++i) {
      const double value = guest(c.value[i], gb.value), less = guest(c.value[i], gb.low), more = guest(c.value[i], gb.high);
      const double below = std::hypot(value - guest(c.low[i], gb.value), std::max(0.0, value - std::min(less, more)));
      const double above = std::hypot(guest(c.high[i], gb.value) - value, std::max(0.0, std::max(less, more) - value));
      c.value[i] = std::min(value, most);
      c.low[i] = std::clamp(value - below, 0.0, most);
      c.high[i] = std::min(value + above, most);
    }
    order(c);
  }

  void fill_predicted(const BandRow& band) {
    const Ends ends = predict_ends(table_, shape_);
    const Levels fractions = predict_fractions_unseen(table_, shape_, ends);
    const double spread = cpu_.virtual_machine ? vm_spread : 0.0;
    for (std::size_t i = 0; i < level_count; ++i) {
      const double value = ends.idle + (ends.full - ends.idle) * fractions[i];
      model_.node_.value[i] = value;
      model_.node_.low[i] = value * std::exp(band.low[i] - spread);
      model_.node_.high[i] = value * std::exp(band.high[i] + spread);
    }
  }

  // Given points are exact: their band in the table is empty.
  void fill_calibrated(const BandRow& band) {
    const Ends ends{to_watts(calibration_->idle), to_watts(calibration_->max)};
    const double span = ends.full - ends.idle;
    Levels fractions = predict_fractions(table_, shape_, ends);
    if (calibration_->half) fractions = bend_through(table_, fractions, (to_watts(*calibration_->half) - ends.idle) / span);
    for (std::size_t i = 0; i < level_count; ++i) {
      const auto at = [&](double fraction) { return ends.idle + span * std::clamp(fraction, 0.0, 1.0); };
      model_.node_.value[i] = at(fractions[i]);
      model_.node_.low[i] = at(fractions[i] + band.low[i]);
      model_.node_.high[i] = at(fractions[i] + band.high[i]);
    }
    pin(0, ends.idle);
    pin(level_count - 1, ends.full);
    if (calibration_->half) keep_sides(to_watts(*calibration_->half));
  }

  void pin(std::size_t level, double value) { model_.node_.value[level] = model_.node_.low[level] = model_.node_.high[level] = value; }

  // Below half load nothing exceeds what half load was measured to take, above it nothing falls below.
  void keep_sides(double half) {
    pin(5, half);
    for (std::size_t i = 0; i < level_count; ++i) {
      for (double* v : {&model_.node_.low[i], &model_.node_.high[i]}) *v = i <= 5 ? std::min(*v, half) : std::max(*v, half);
    }
  }

  void fill_package() {
    const double tdp = to_watts(model_.total_tdp_) * model_.machine_share_;
    const Bounded guess = tdp_known_ ? Bounded{1, 1, 1} : table_.tdp_guess;
    PowerModel::Curve& c = model_.package_;
    for (std::size_t i = 0; i < level_count; ++i) {
      const Bounded& row = table_.package[i];
      c.value[i] = std::min(row.value * tdp, model_.node_.value[i]);
      c.low[i] = std::min(row.low * guess.low * tdp, c.value[i]);
      c.high[i] = std::clamp(row.high * guess.high * tdp, c.value[i], model_.node_.high[i]);
    }
  }

  // Of the whole machine, or of all that the guest has.
  double own_memory_gb() const { return cpu_.memory_gb > 0 ? cpu_.memory_gb : shape_.memory_gb * model_.machine_share_; }

  void fill_memory() {
    const double all = own_memory_gb();
    model_.host_memory_ = scaled(table_.memory, all);
    memory_share_ = cpu_.memory_limit_gb && *cpu_.memory_limit_gb < all ? std::max(0.0, *cpu_.memory_limit_gb) / all : 1.0;
    model_.memory_ = scaled(model_.host_memory_, memory_share_);
  }

  void write_flags() {
    const std::pair<bool, const char*> all[] = {
        {calibration_.has_value(), "calibrated"},
        {kind_.family.empty(), "cpu-assumed"},
        {!kind_.family.empty() && !kind_.by_name, "family-by-numbers"},
        {!tdp_known_, "tdp-assumed"},
        {size_assumed_, "size-assumed"},
        {cpu_.virtual_machine, "vm-share"},
        {memory_share_ < 1, "memory-share"},
    };
    for (const auto& [holds, flag] : all) {
      if (holds) model_.flags_.emplace_back(flag);
    }
    if (calibration_) model_.calibration_source_ = calibration_->source;
  }

  const CpuIdentity& cpu_;
  const std::optional<Calibration>& calibration_;
  std::optional<Power> tdp_override_;
  PowerTable table_;
  CpuKind kind_;
  TypicalHost host_;
  MachineShape shape_;
  PowerModel model_;
  bool tdp_known_ = false, size_assumed_ = false;
  double memory_share_ = 1;
};

PowerModel PowerModel::for_machine(const CpuIdentity& cpu, const std::optional<Calibration>& calibration,
                                   std::optional<Power> tdp_override) {
  return PowerModelBuilder(cpu, calibration, tdp_override).build();
}

PowerBand PowerModel::at(const Curve& curve, double utilisation) {
  return {watts(at_utilisation(curve.value, utilisation)), watts(at_utilisation(curve.low, utilisation)),
          watts(at_utilisation(curve.high, utilisation))};
}

PowerBand PowerModel::node(double utilisation) const { return at(node_, utilisation); }
PowerBand PowerModel::package(double utilisation) const { return at(package_, utilisation); }

PowerSplit PowerModel::split(double utilisation) const {
  PowerSplit out{node(utilisation), package(utilisation), memory_, {}};
  const double parts = to_watts(out.package.value) + to_watts(out.memory.value), whole = to_watts(out.node.value);
  if (parts > whole) {
    out.package = scaled(out.package, whole / parts);
    out.memory = scaled(out.memory, whole / parts);
  }
  const double rest = std::max(0.0, whole - to_watts(out.package.value) - to_watts(out.memory.value));
  // The parts' errors are independent: what they leave of the node's error, in squares, is the rest's.
  const auto left = [](Power node_error, Power a, Power b) {
    return std::sqrt(std::max(0.0, std::pow(to_watts(node_error), 2) - std::pow(to_watts(a), 2) - std::pow(to_watts(b), 2)));
  };
  const double below = left(out.node.value - out.node.low, out.package.value - out.package.low, out.memory.value - out.memory.low);
  const double above = left(out.node.high - out.node.value, out.package.high - out.package.value, out.memory.high - out.memory.value);
  out.rest = {watts(rest), watts(std::max(0.0, rest - below)), watts(rest + above)};
  return out;
}

std::string PowerModel::source() const {
  const std::string learnt = family_results_ > 0 ? fmt::format("SPECpower_ssj2008, {} results of {}", family_results_, family_)
                                                 : "SPECpower_ssj2008, all processor families";
  if (std::ranges::find(flags_, "calibrated") == flags_.end()) return learnt;
  return fmt::format("own calibration{}{}, curve from {}", calibration_source_.empty() ? "" : " by ", calibration_source_, learnt);
}

}  // namespace joulery
