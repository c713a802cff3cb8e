// From a ledger to a report: the figures of one run, each with how it is known. Pure: no clock, no file.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "judge/report.h"
#include "ledger/ledger.h"
#include "ledger/process_shares.h"
#include "ledger/run_facts.h"
#include "ledger/steps.h"

namespace joulery {

// Everything about a run that a report is made of.
struct RunRecord {
  const Timeline& timeline;
  const Ledger& ledger;
  const RunFacts& facts;
  const Steps& steps;
  std::span<const ProcessSample> processes;
  const std::optional<PowerModel>& model;   // for what the node would have used idle
  WallTime begin;                           // of the run
  std::string_view no_wall = {};            // why no wall was derived: "" where nothing more is to be said
  // Of a job alone: the energy of each step, as its host tells it; the name of each member's host (ledger/job_host.h).
  std::span<const Energy> step_energies = {};
  std::span<const std::string> host_of_member = {};
};

// Peak power is the greatest mean over this long, or over one sampling interval where that is longer.
inline constexpr Duration peak_window = milliseconds(100);

// What is told of one host and of a job alike: energy by component, phases, steps, ranks, work and business figures.
Report make_figures(const RunRecord& run);

// Carbon and cost are left empty: judge/make_factors.h fills them in.
Report make_report(const RunRecord& run);

// What the machine would have used in the run's time with nothing running: measured before the run, else learnt, else
// estimated; empty where none of them is known.
std::optional<IdlePower> idle_power(const RunRecord& run);

}  // namespace joulery
