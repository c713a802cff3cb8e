// The power of a machine without sensors: node, CPU packages and memory in watts from utilisation, each with a 90 %
// interval. Learnt from SPECpower_ssj2008 results by processor family, size and TDP; with the machine's own idle, maximum
// and half load (Calibration) it starts from those instead.
//
// The errors are this machine's own: at one level they are the same from minute to minute and do not average out. So the
// interval of an energy is the time-weighted mix of the levels' intervals: integrate low and high as value is integrated.
// Never narrow them by the number of samples.
//
// On a virtual machine the node is this guest's share, by threads, of all that its host takes beyond the memory, with the
// host as busy as the guest, and the guest's own memory. Size and memory of the host are assumed; a calibration is the host's.
//
// Invariant: low <= value <= high; none falls when utilisation grows; package(u) + memory() fits into node(u) in split(u).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cpu_identity.h"
#include "factors/calibration.h"
#include "factors/power_curve.h"

namespace joulery {

struct PowerBand {
  Power value, low, high;  // 90 % interval
  friend bool operator==(const PowerBand&, const PowerBand&) = default;
};

// The node's watts by part; value: package + memory + rest == node. rest is board, fans, disks and power supply.
struct PowerSplit {
  PowerBand node, package, memory, rest;
};

class PowerModel {
 public:
  // Never fails: what the machine does not say is assumed, flagged and widens the interval. `tdp_override` is in watts per
  // chip and goes before the table of TDPs.
  static PowerModel for_machine(const CpuIdentity& cpu, const std::optional<Calibration>& calibration = {},
                                std::optional<Power> tdp_override = {});

  // At the wall, before any PUE; utilisation is 0..1 of all threads and is brought inside.
  PowerBand node(double utilisation) const;
  // All CPU packages together: at most the node. From four processors alone, so its interval is an envelope.
  PowerBand package(double utilisation) const;
  // What this machine, guest or control group may use of the memory, whatever the load.
  PowerBand memory() const { return memory_; }
  // All of the machine's (of a guest: the guest's) memory, for showing apart where memory() is a share of it.
  PowerBand host_memory() const { return host_memory_; }
  // Parts that fit: where package and memory together exceed the node, both shrink alike.
  PowerSplit split(double utilisation) const;

  // 1 on bare metal; on a virtual machine its threads over those of the (assumed) host.
  double machine_share() const { return machine_share_; }
  // All packages' TDP that the estimate rests on.
  Power total_tdp() const { return total_tdp_; }
  // "cpu-assumed", "tdp-assumed", "size-assumed", "vm-share", "memory-share", "calibrated", "family-by-numbers".
  std::span<const std::string> flags() const { return flags_; }
  // Which band of data/power_model.csv holds: "a_priori", "no_tdp", "no_family", "neither", "new_family", "two_points",
  // "three_points".
  std::string_view mode() const { return mode_; }
  // What it rests on, in one line for the report.
  std::string source() const;

 private:
  struct Curve {
    Levels value{}, low{}, high{};
  };
  static PowerBand at(const Curve& curve, double utilisation);

  Curve node_, package_;
  PowerBand memory_, host_memory_;
  double machine_share_ = 1;
  Power total_tdp_;
  std::string mode_, family_, calibration_source_;
  int family_results_ = 0;
  std::vector<std::string> flags_;

  friend class PowerModelBuilder;
};

}  // namespace joulery
