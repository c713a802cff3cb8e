// The program `joulery`: one list of commands.
#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "app/command.h"
#include "app/version.h"
#include "core/near_names.h"

namespace {

using joulery::Command;

constexpr Command commands[] = {
    {"run", "run a command and report its energy: joulery run -- CMD", joulery::run_command},
    {"report", "the summary of a recording: text, JSON, Markdown, CSV, HTML", joulery::report_command},
    {"ledger", "a recording layer by layer: wall, node, components, workloads", joulery::ledger_command},
    {"profile", "a profiler's trace with joules: by step, operator, layer, kernel", joulery::profile_command},
    {"export", "a recording's samples as CSV or JSON, or a trace for Perfetto", joulery::export_command},
    {"sql", "ask a recording in SQL: joulery sql FILE 'SELECT ...'", joulery::sql_command},
    {"query", "ask the agent's store: series over time, and SQL", joulery::query_command},
    {"import", "another tool's log as a recording: nvidia-smi, rocm-smi, perf, PTDaemon, ...", joulery::import_command},
    {"merge", "recordings of several hosts or ranks as one of their job", joulery::merge_command},
    {"log", "stream watts and utilisation by component until stopped", joulery::log_command},
    {"top", "who burns how much, live: processes, containers, jobs, GPUs", joulery::top_command},
    {"flame", "where a command's CPU energy goes, by function: joulery flame -- CMD", joulery::flame_command},
    {"fleet", "what whole fleets have burnt, from the engine that their agents push to", joulery::fleet_command},
    {"serve-watch", "joules per token and request of a model server: metrics, logs, or a proxy", joulery::serve_watch_command},
    {"agent", "watch this node: measure, attribute, store, serve, push", joulery::agent_command},
    {"doctor", "which meters this machine has, and how to make the others work", joulery::doctor_command},
    {"power", "the power limits of this machine, and what is left to be put back", joulery::power_command},
    {"calibrate", "teach the estimate what a wall meter shows", joulery::calibrate_command},
    {"config", "what is configured and where it was set: joulery config show --origin", joulery::config_command},
    {"places", "the places whose carbon intensity is known", joulery::places_command},
};

int help(std::FILE* to) {
  fmt::print(to,
             "joulery: every joule accounted for, from the wall to the training step\n\n"
             "  joulery run -- python train.py     measure a command\n"
             "  joulery doctor                     see what can be measured here\n\nCommands:\n");
  for (const Command& command : commands) fmt::print(to, "  {:<11} {}\n", command.name, command.summary);
  fmt::print(to, "\n`joulery COMMAND --help` tells more, `joulery --version` which this is.\n");
  return to == stdout ? 0 : joulery::exit_usage;
}

int unknown(std::string_view name) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.emplace_back(command.name);
  const std::string nearest = joulery::nearest_name(name, names);
  fmt::print(stderr, "joulery: no command '{}'{}\n", name,
             nearest.empty() ? " (joulery --help lists them)" : fmt::format(" (did you mean '{}'?)", nearest));
  return joulery::exit_usage;
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> arguments(values + 1, values + count);
  if (arguments.empty()) return help(stderr);
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h" || first == "help") return help(stdout);
  if (first == "--version" || first == "version") {
    fmt::print("joulery {}\n", joulery::version);
    return 0;
  }
  for (const Command& command : commands)
    if (first == command.name) return command.run({arguments.begin() + 1, arguments.end()});
  return unknown(first);
}
