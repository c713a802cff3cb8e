// Time and joules of a profile: by operator, kernel, layer, step, phase, and of the gaps in which nothing ran.
//
// Who pays what: the host's threads share the energy of everything but the accelerators that the trace saw; each
// accelerator's streams share that of its own component. In a moment in which n tracks work, each takes 1/n of it. What a
// component burns while none of its tracks works is a gap. What the operator on the host launched on a device is the
// operator's too, in a column of its own.
//
// Invariant: where there is energy, the cells and gaps of a side sum to the side's energy over the profile's time, and the
// sides to `energy`, to the microjoule; so do operators and gaps, layers and gaps, and the phases. A side without a
// meter has no energy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/quality.h"
#include "ledger/ledger.h"
#include "ledger/profile/activity.h"
#include "ledger/profile/trace_clock.h"
#include "ledger/steps.h"
#include "record/recording.h"
#include "watch/profile/profile.h"

namespace joulery {

// One thing's time and energy.
struct ProfileFigures {
  std::int64_t calls = 0;
  Duration host, device;               // by itself: shares of the moments in which it was at work
  std::optional<Energy> energy;        // of host and devices together, empty where nothing is known
  std::optional<Energy> low, high;     // 90 %; empty where only a share of time is behind the energy
  Quality quality = Quality::missing;
};

struct OperatorLine {
  std::string name;
  ProfileFigures figures;
  std::string merged;                  // the groups that it, or a kernel of it, could not be told apart in; "" where it stands alone
};
struct KernelLine {
  std::string name;
  int device = 0;
  ProfileFigures figures;
  std::string merged;                  // the group that it could not be told apart in
};
struct LayerLine {
  std::string path;                    // "" for what belongs to no known layer
  ProfileFigures figures;
};
struct GapLine {
  int device = -1;                     // -1: the host
  bool all_the_time = false;           // the energy is of a static power that burns beside all work, not of the gaps alone
  Duration time;                       // in which nothing ran
  std::optional<Energy> energy;
  Quality quality = Quality::missing;
};
struct StepLine {
  std::string name;
  std::int64_t number = -1;
  Duration begin;                      // since the profile's begin
  Duration length;
  std::optional<Energy> energy;        // of all that is counted, for as long as the step took
};
struct PhaseLine {
  std::string name;
  Duration length;
  std::optional<Energy> energy;
};
// One side that pays: the host, or an accelerator.
struct ProfileSide {
  int device = -1;
  std::vector<std::string> components; // of the recording, that it pays for
  std::optional<Energy> energy;        // over the profile's time
  Quality quality = Quality::missing;
  bool partial = false;
  Duration busy;
};

struct ProfileAccount {
  Duration length;                     // of the profile
  std::vector<ProfileSide> sides;
  std::optional<Energy> energy;        // the sum over the sides
  Quality quality = Quality::missing;
  bool partial = false;
  std::string how;                     // how the operators' joules are known: "share of time", "fitted power of each operator"
  std::vector<StepLine> steps;
  std::vector<PhaseLine> phases;
  std::vector<OperatorLine> operators; // by falling energy, else by falling time
  std::vector<KernelLine> kernels;     // likewise
  std::vector<LayerLine> layers;       // likewise
  std::vector<GapLine> gaps;           // by side
  std::vector<std::string> notes;
  std::vector<ActivitySide> activity;  // what it was made of, by side, and the joules of each side's cells; none without a meter
  std::vector<std::vector<double>> cell_joules;
  std::vector<std::vector<std::string>> merged_works;  // likewise, of each side's works: the group, or ""
};

// What is known of the energy while the profile ran.
struct ProfileEnergySource {
  const Ledger& ledger;
  TraceClock clock;
  const Recording* recording = nullptr;   // whose readings tell powers; null: by time alone
};

// `energy` is null where there is no recording: then the account has time alone.
ProfileAccount account_profile(const Profile& profile, const ProfileEnergySource* energy);

}  // namespace joulery
