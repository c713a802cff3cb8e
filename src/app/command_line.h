// What the commands' options have in common: how they are parsed, how errors are told, which way output is given.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/loaded_run.h"
#include "config/settings.h"
#include "core/result.h"
#include "publish/style.h"

namespace joulery {

// Writes all of `text`; false where nobody takes it (a closed pipe, a full device). Never throws, unlike fmt::print.
bool put(std::FILE* to, std::string_view text);

// Prints "joulery COMMAND: ..." as one line on stderr and returns `code`.
int complain(std::string_view command, const Error& error, int code);

// Parses `arguments`; empty where the command may go on, else the exit code (0 after --help, 2 after an error, told in
// one line that names the nearest option).
std::optional<int> parse(CLI::App& options, std::vector<std::string> arguments);

// How a report is printed. At most one of the forms is asked for.
struct FormChoice {
  bool json = false, csv = false, markdown = false, html = false;
  std::string color = "auto";
};
void add_forms(CLI::App& options, FormChoice& choice, bool files_too);
// `descriptor`: 1 for stdout, 2 for stderr. Errors: usage.
Result<TextStyle> style_for(const FormChoice& choice, int descriptor);

// --place, --carbon-intensity, --pue, --tariff, --estimate.
struct FactorWords {
  std::string place, intensity, tariff, estimate;
  std::optional<double> pue;
};
void add_factor_options(CLI::App& options, FactorWords& words);
// --set KEY=VALUE, as often as one likes.
void add_set_option(CLI::App& options, std::vector<std::string>& sets);
// All that is configured, the words and sets above all other layers. Errors: those of load_settings().
Result<Settings> settings_with(const FactorWords& words, const std::vector<std::string>& sets);
// What the settings say of grams and money, and how to estimate. Errors: usage, with near names.
Result<ReportChoices> choices_from(const Settings& settings, const std::string& estimate);

// "auto", "all", "none".
Result<Fill> parse_fill(std::string_view text);

// A report in the form that was asked for.
std::string told(const LoadedRun& run, const FormChoice& form, const TextStyle& style);

// A folder, or "" for this machine. Errors: usage.
Result<void> check_sysroot(const std::string& folder);

// 1 ms to 1 h. Errors: usage.
Result<Duration> parse_interval(const std::string& text);

}  // namespace joulery
