// How well a profiled run used its devices, and what was wasted: throughput, joules per sample, how busy and how full the devices were,
// where the energy went, and findings with their evidence and the joules at stake.
//
// Invariant: a figure that the trace does not tell is empty, never 0. Joules at stake are an upper bound, what the time in question burnt, and
// findings may overlap: they do not add up.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/profile/profile_account.h"
#include "watch/profile/profile.h"

namespace joulery {

struct EfficiencyFinding {
  std::string what;  // "pageable memory copies"
  std::string evidence;  // "120 copies, 34.5 ms, 12 % of the time"
  std::string advice;  // what to do
  Duration time;
  std::optional<Energy> at_stake;  // what burnt in that time
};

struct EfficiencyShare {
  std::string name;
  Duration time;
  std::optional<Energy> energy;
  std::optional<double> share;  // of the energy, of the time where there is none
  std::string merged;  // the groups in which its power, or that of a kernel of it, could not be told apart; "" where it was
};

struct EfficiencyDevice {
  int device = -1;  // -1: the host
  std::string name;
  double busy = 0;  // share of the time in which anything ran
  std::optional<double> occupancy;  // mean over kernels, by time
  std::optional<std::int64_t> peak_used, peak_reserved;  // bytes
  std::optional<Energy> energy;
};

struct Efficiency {
  Duration length;
  std::optional<Energy> energy;
  std::int64_t steps = 0;
  std::optional<double> steps_per_second, samples_per_second, joules_per_step, joules_per_sample;
  std::optional<Duration> launch_per_kernel;  // time in runtime calls per kernel, without start_up
  std::optional<Duration> start_up;  // in one-off runtime calls far longer than their function's others: contexts made, code loaded
  std::optional<Duration> gap_per_step;  // of the accelerators, in which none of their streams ran
  std::optional<double> input_stalled;  // share of the time in which a thread waited for its next batch
  std::vector<EfficiencyDevice> devices;
  std::vector<EfficiencyShare> operators;  // those that cost the most
  std::vector<EfficiencyFinding> findings;  // by joules at stake
  std::vector<std::string> notes;
};

// `samples_per_step`: 0 where it is not known.
Efficiency make_efficiency(const Profile& profile, const ProfileAccount& account, double samples_per_step);

}  // namespace joulery
