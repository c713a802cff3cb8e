// One command of the program. To add one: write app/<name>_command.cpp with its function, declare it here, and add a
// line to the list in app/main.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace joulery {

// Exit codes of joulery itself; `run` otherwise gives the command's own.
inline constexpr int exit_usage = 2;
inline constexpr int exit_inconclusive = 3;
inline constexpr int exit_only_estimate = 4;
inline constexpr int exit_own_failure = 125;

struct Command {
  const char* name;
  const char* summary;
  int (*run)(std::vector<std::string> arguments);  // without the program's and the command's name; returns the exit code
};

int run_command(std::vector<std::string> arguments);
int doctor_command(std::vector<std::string> arguments);
int serve_watch_command(std::vector<std::string> arguments);
int agent_command(std::vector<std::string> arguments);
int top_command(std::vector<std::string> arguments);
int log_command(std::vector<std::string> arguments);
int report_command(std::vector<std::string> arguments);
int ledger_command(std::vector<std::string> arguments);
int export_command(std::vector<std::string> arguments);
int profile_command(std::vector<std::string> arguments);
int import_command(std::vector<std::string> arguments);
int merge_command(std::vector<std::string> arguments);
int query_command(std::vector<std::string> arguments);
int sql_command(std::vector<std::string> arguments);
int calibrate_command(std::vector<std::string> arguments);
int config_command(std::vector<std::string> arguments);
int flame_command(std::vector<std::string> arguments);
int fleet_command(std::vector<std::string> arguments);
int power_command(std::vector<std::string> arguments);
int places_command(std::vector<std::string> arguments);

}  // namespace joulery
