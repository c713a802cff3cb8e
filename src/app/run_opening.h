// How the commands that measure begin: their words, what they are configured with, where their recording goes, and what it is
// told of the machine before anything runs.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.h"
#include "ledger/run_facts.h"
#include "sense/machine.h"
#include "sense/meter.h"

namespace joulery {

// Words that `joulery run` and `joulery flame` share.
struct RunWords {
  std::string interval = "100ms", sysroot;
  FormChoice form;
  FactorWords factors;
  std::vector<std::string> sets, command;
};

// Parses options up to "--", or up to the first word that is neither an option nor an option's value; the rest is the command, and
// there must be one. Empty where the command may go on, else the exit code.
std::optional<int> parse_before_command(CLI::App& options, std::string_view name, std::vector<std::string> arguments,
                                        std::vector<std::string>& command);

struct RunOpening {
  Duration interval;
  TextStyle style;  // of what goes to stderr
  Settings settings;
  ReportChoices choices;
};
// Errors: usage.
Result<RunOpening> open_run(const RunWords& words);

// What is known before it begins: program and command, machine, missing parts, factors, idle power.
RunFacts facts_beforehand(std::vector<std::string> command, Duration interval, const Machine& machine, const Discovery& discovery,
                          const ReportChoices& choices);

// "2026-03-01T141503-python3-4711.joulery" in the user's data folder, with a number where that name is taken. Errors: permission, io.
Result<std::string> new_recording(std::string_view what);
// A file that nobody else knows, and its end. Errors: those of make_passing_folder.
Result<std::string> passing_recording();
void forget_passing(const std::string& recording);

}  // namespace joulery
