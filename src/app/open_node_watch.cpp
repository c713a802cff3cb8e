#include "app/open_node_watch.h"

#include <unistd.h>

#include "app/agent_notes.h"
#include "app/command_line.h"
#include "app/loaded_run.h"
#include "app/measurement.h"
#include "sense/agent/agent_meters.h"
#include "sense/host/cpu_identity_reader.h"
#include "sense/meters.h"
#include "watch/open_cpu_account.h"
#include "watch/tag_rules.h"
#include "watch/workloads.h"

namespace joulery {
namespace {

Settings without_agents_meters(Settings settings) {
  settings.set("agent.meters.socket", {std::string(), {"the agent itself", 0}});
  return settings;
}

}  // namespace

Result<OpenedNodeWatch> open_node_watch(const NodeWatchOptions& options, const Settings& settings, const ShareDevices& share) {
  const auto policy = parse_idle_policy(options.idle);
  if (!policy)
    return fail(ErrorCode::usage, "no policy for static power '" + options.idle + "'", "--idle", "separate, proportional, reserved");
  const auto fill = parse_fill(options.estimate);
  if (!fill) return std::unexpected(fill.error());
  const Machine machine(options.sysroot);
  Discovery found = discover(machine, share ? without_agents_meters(settings) : settings, Look::thorough);
  if (share) {
    std::erase_if(found.findings, [](const Finding& finding) { return finding.kind == agent_kind; });  // it was not looked for
    share(found.devices);
  }
  const CpuIdentity cpu = read_cpu_identity(machine);
  auto model = power_model_of(cpu);
  if (!model) return std::unexpected(model.error());
  const auto choice = cpu_account_choice(options.cpu_time);
  if (!choice) return fail(ErrorCode::usage, "no way to CPU time '" + options.cpu_time + "'", "--cpu-time", "auto, ebpf, proc");
  auto rules = read_tag_rules(settings);
  if (!rules) return std::unexpected(rules.error());
  auto account = open_cpu_account(options.sysroot, *choice);
  if (!account) return std::unexpected(account.error());
  OpenedNodeWatch opened;
  NodeWatchPlan plan;
  plan.interval = options.interval;
  plan.linger = options.linger;
  plan.idle = *policy;
  plan.model = std::move(*model);
  plan.fill = *fill;
  plan.missing = missing_parts(found);
  plan.threads = cpu.threads;
  plan.root = options.sysroot;
  if (const std::string names = read_by_agent(found.devices); !names.empty()) opened.note = "The agent of this node reads " + names;
  opened.watch = std::make_unique<NodeWatch>(std::move(plan), std::move(found.devices), std::move(account->account),
                                             Workloads(options.sysroot, std::move(*rules)));
  if (account->instead_of_ebpf)
    opened.note += std::string(opened.note.empty() ? "" : "; ") +
                   "CPU time by looks through /proc, which miss who comes and goes between two: " + account->instead_of_ebpf->line();
  opened.findings = std::move(found.findings);
  return opened;
}

}  // namespace joulery
