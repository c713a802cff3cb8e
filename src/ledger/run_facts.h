// What a recording says about its run besides series: the command, how it ended, the machine, the factors asked for.
// Kept in the recording's metadata as JSON; this is the one place that knows the names (docs/formats/recording.md lists them).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/cpu_identity.h"
#include "core/host_identity.h"
#include "core/machine_kind.h"
#include "core/result.h"
#include "core/time.h"
#include "ledger/ledger.h"
#include "ledger/steps.h"
#include "record/recording.h"
#include "watch/short_lived.h"

namespace joulery {

// What the machine draws with nothing running, and how that is known.
struct IdlePower {
  Power host;               // all but accelerators
  Power accelerators;
  std::string source;       // "measured for 5 s before the run", "learnt on 2026-03-01"
};

// What the user said about grams and money; empty means "not said".
struct FactorChoice {
  std::string place;
  std::optional<CarbonIntensity> intensity;
  std::optional<double> pue;
  std::string tariff;       // "0.30 EUR/kWh"
  friend bool operator==(const FactorChoice&, const FactorChoice&) = default;
};

// A power limit that was held for the run (docs/formats/recording.md). Powers in whole microwatts, as read back from the hardware.
struct HeldPowerLimit {
  Component component;
  std::string name;                         // "long_term"; "" where the component has only one
  std::int64_t asked_uw = 0, took_uw = 0, before_uw = 0;
  std::optional<std::int64_t> enforced_uw;  // what the driver kept to, where it tells it apart
  std::string by;                           // "agent", "joulery": who set it
  std::string changed;                      // what became of it before the run ended; "" where it was held to the end
  friend bool operator==(const HeldPowerLimit&, const HeldPowerLimit&) = default;
};

struct RunFacts {
  std::string version;                  // of joulery
  std::vector<std::string> command;
  std::optional<int> exit_code;
  Duration interval;                    // that was asked for; a counter that wraps fast is read more often
  std::optional<Interval> run;          // unset end: see run_ended
  bool run_ended = false;
  std::optional<Interval> baseline;
  CpuIdentity machine;
  MachineKind kind;                     // board and accelerators
  HostIdentity host;                    // empty names where the recording does not tell
  std::optional<Duration> wall_clock_error;  // the most by which the wall clock was off, as the kernel knew when the run ended
  std::vector<MissingPart> missing;
  std::vector<WorkDone> work;           // --work
  std::int64_t marks_lost = 0;
  std::vector<std::string> notes;       // what went wrong beside the meters: flags of the report, "marks-unheard: 2 processes"
  Duration unseen_cpu;                  // CPU time of children that came and went unseen
  std::vector<ShortLivedSum> short_lived;  // those of them that the scheduler's account told of
  std::optional<IdlePower> idle;
  std::vector<HeldPowerLimit> power_limits;
  FactorChoice factors;
  Fill fill = Fill::automatic;
};

// Only what is set is written. run_begin is written with `run`; run_end only where run_ended.
Metadata to_metadata(const RunFacts& facts);
// Errors: `format`, naming the entry. Entries that are absent keep their defaults.
Result<RunFacts> facts_from(const Metadata& metadata);

}  // namespace joulery
