// The program `joulery-agent`, which `joulery agent` runs.
#include <fmt/format.h>

#include "app/agent/agent.h"
#include "app/command.h"
#include "app/command_line.h"
#include "app/user_folders.h"
#include "config/load.h"

namespace joulery {
namespace {

constexpr const char* command = "agent";

struct AgentWords {
  AgentOptions options;
  std::string config, interval = "1s";
  std::vector<std::string> sets;
  bool unconfined = false;
};

std::optional<int> read_options(std::vector<std::string> arguments, AgentWords& words) {
  CLI::App app("Watches this node: measures, attributes, stores, serves. Runs in the foreground until asked to end.", "joulery agent");
  app.add_option("--config", words.config, "this file alone, instead of the system's, the user's and ./joulery.toml")->type_name("FILE");
  app.add_option("--listen", words.options.listen, "where to serve HTTP (127.0.0.1:9787)")->type_name("ADDR:PORT");
  app.add_option("--store", words.options.store, "folder of the history")->type_name("DIR");
  app.add_option("--sysroot", words.options.watch.sysroot, "read meters from a tree with sys/ and proc/ in it")->type_name("DIR");
  app.add_option("--interval", words.interval, "time between ticks, 100ms to 1h (1s)")->type_name("TIME");
  app.add_option("--idle", words.options.watch.idle, "who carries static power: separate, proportional or reserved (separate)")
      ->type_name("POLICY");
  app.add_option("--estimate", words.options.watch.estimate, "auto, all or none: which parts without a sensor to estimate")
      ->type_name("WHICH");
  app.add_option("--cpu-time", words.options.watch.cpu_time, "auto, ebpf or proc: how it is known who used the CPUs (auto)")
      ->type_name("HOW");
  app.add_flag("--unconfined", words.unconfined, "keep all rights and system calls, for a debugger");
  add_set_option(app, words.sets);
  return parse(app, std::move(arguments));
}

Result<Settings> settings_of(const AgentWords& words) {
  ConfigSources sources = ConfigSources::of_this_process();
  if (!words.config.empty()) {
    sources.system_file = words.config;
    sources.user_file = sources.local_file = "";
  }
  std::vector<ConfigFlag> flags;
  for (const std::string& text : words.sets) {
    auto flag = parse_set_flag(text);
    if (!flag) return std::unexpected(flag.error());
    flags.push_back(*std::move(flag));
  }
  return load_settings(sources, flags);
}

int run(std::vector<std::string> arguments) {
  AgentWords words;
  if (const auto code = read_options(std::move(arguments), words)) return *code;
  const auto interval = parse_interval(words.interval);
  if (!interval) return complain(command, interval.error(), exit_usage);
  words.options.watch.interval = std::max(*interval, milliseconds(100));
  words.options.confined = !words.unconfined;
  if (const auto there = check_sysroot(words.options.watch.sysroot); !there) return complain(command, there.error(), exit_usage);
  const auto settings = settings_of(words);
  if (!settings) return complain(command, settings.error(), exit_usage);
  if (words.options.store.empty()) {
    const auto folder = make_store_folder();
    if (!folder) return complain(command, folder.error(), 1);
    words.options.store = *folder;
  }
  auto gate = SignalGate::open();
  if (!gate) return complain(command, gate.error(), 1);
  auto agent = Agent::open(words.options, *settings);
  if (!agent) return complain(command, agent.error(), agent.error().code == ErrorCode::usage ? exit_usage : 1);
  if (!put(stdout, (*agent)->ready_line())) return 1;
  std::fflush(stdout);
  (*agent)->run(*gate);
  return 0;
}

}  // namespace
}  // namespace joulery

int main(int count, char** values) { return joulery::run({values + 1, values + count}); }
