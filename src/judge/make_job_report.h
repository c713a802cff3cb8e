// From the reports of a job's hosts to the job's own. What is told over all hosts (phases, steps, ranks, work) comes from the
// job's ledger; what each host can tell alone (processes, idle, layers, sampling, grams) comes from its own report.
//
// Invariant: the hosts' joules sum to the job's, and each layer's parts and residual to its whole, to the microjoule.
#pragma once

#include <span>
#include <string>

#include "judge/make_report.h"
#include "ledger/job_host.h"

namespace joulery {

struct HostReport {
  const JobHost* host = nullptr;
  Report report;                 // of this host alone, with its carbon and cost
  Interval run;                  // on the job's clock
};

// `job`: its ledger is that of all hosts (Ledger's second constructor).
Report make_job_report(const RunRecord& job, std::span<const HostReport> hosts);

}  // namespace joulery
