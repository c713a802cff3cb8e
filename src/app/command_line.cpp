#include "app/command_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "app/command.h"
#include "core/near_names.h"
#include "core/units.h"
#include "publish/csv.h"
#include "publish/html.h"
#include "publish/json.h"
#include "publish/markdown.h"
#include "publish/text.h"

namespace joulery {
namespace {

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}
std::optional<std::string> environment_if_set(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::string nearest_option(const CLI::App& options, const std::vector<std::string>& arguments) {
  std::vector<std::string> known;
  for (const CLI::Option* option : options.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    if (!name.starts_with("--") || std::ranges::find(known, name) != known.end()) continue;
    if (const std::string nearest = nearest_name(name, known); !nearest.empty()) return fmt::format("did you mean {}?", nearest);
  }
  return fmt::format("{} --help lists the options", options.get_name());
}

int terminal_width(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return std::min<int>(size.ws_col, 120);
  return 80;
}

constexpr int chart_slots = 480, chart_bands = 400;  // what a page of common width can show

}  // namespace

bool put(std::FILE* to, std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), to) == text.size() && std::fflush(to) == 0;
}

int complain(std::string_view command, const Error& error, int code) {
  put(stderr, fmt::format("joulery {}: {}\n", command, one_line(error.line())));
  return code;
}

std::optional<int> parse(CLI::App& options, std::vector<std::string> arguments) {
  std::ranges::reverse(arguments);  // CLI11 takes them from the back
  const std::vector<std::string> given = arguments;
  try {
    options.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    put(stdout, options.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    return complain(options.get_name().substr(std::string_view("joulery ").size()),
                    {ErrorCode::usage, error.what(), "", nearest_option(options, given)}, exit_usage);
  }
  return std::nullopt;
}

void add_forms(CLI::App& options, FormChoice& choice, bool files_too) {
  CLI::Option_group* forms = options.add_option_group("Form of the report");
  forms->add_flag("--json", choice.json, "as JSON, schema joulery.report/1");
  forms->add_flag("--csv", choice.csv, "the components as CSV");
  if (files_too) {
    forms->add_flag("--markdown", choice.markdown, "as Markdown, for a pull request");
    forms->add_flag("--html", choice.html, "as one self-contained page");
  }
  forms->require_option(0, 1);
  options.add_option("--color", choice.color, "auto (a terminal only; NO_COLOR is obeyed), always or never")->type_name("WHEN");
}

Result<TextStyle> style_for(const FormChoice& choice, int descriptor) {
  const auto colour = parse_colour_choice(choice.color);
  if (!colour) return std::unexpected(colour.error());
  const bool terminal = ::isatty(descriptor) == 1;
  const auto no_color = environment_if_set("NO_COLOR"), term = environment_if_set("TERM");
  TextStyle style;
  style.colour = use_colour(*colour, no_color, term, terminal);
  style.unicode = use_unicode(environment("LC_ALL"), environment("LC_CTYPE"), environment("LANG"));
  style.width = terminal_width(descriptor);
  return style;
}

void add_factor_options(CLI::App& options, FactorWords& words) {
  options.add_option("--place", words.place, "country or cloud region whose electricity is used: SWE, Germany, aws:eu-west-1")
      ->type_name("PLACE");
  options.add_option("--carbon-intensity", words.intensity, "a factor of your own: 334 (g/kWh) or 412lb/MWh")->type_name("FACTOR");
  options.add_option("--pue", words.pue, "power usage effectiveness of the data centre, 1 or more")->type_name("N");
  options.add_option("--tariff", words.tariff, "price of electricity: \"0.30 EUR/kWh\"")->type_name("PRICE");
  options
      .add_option("--estimate", words.estimate, "which parts without a sensor to estimate: auto (only where nothing has one), all, none")
      ->type_name("WHICH");
}

void add_set_option(CLI::App& options, std::vector<std::string>& sets) {
  options.add_option("--set", sets, "a setting for this call: --set meters.bmc.timeout=2s; joulery config keys lists them")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Result<Fill> parse_fill(std::string_view text) {
  constexpr std::pair<std::string_view, Fill> names[] = {{"auto", Fill::automatic}, {"all", Fill::all}, {"none", Fill::none}};
  for (const auto& [name, fill] : names)
    if (text == name) return fill;
  return fail(ErrorCode::usage, fmt::format("no such choice for --estimate: '{}'", text), "", "auto, all or none");
}

std::string told(const LoadedRun& run, const FormChoice& form, const TextStyle& style) {
  const Report report = run.report();
  if (form.json) return report_json(report);
  if (form.csv) return report_csv(report);
  if (form.markdown) return report_markdown(report);
  if (form.html) return report_html(report, run.chart(chart_slots, chart_bands));
  return report_text(report, style);
}

Result<void> check_sysroot(const std::string& folder) {
  struct stat found{};
  if (folder.empty() || (::stat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode))) return {};
  return fail(ErrorCode::usage, "--sysroot is no folder", folder, "give a tree with sys/ and proc/ in it");
}

Result<Duration> parse_interval(const std::string& text) {
  const auto interval = parse_duration(text);
  if (!interval) return fail(ErrorCode::usage, interval.error().what, "--interval", interval.error().hint);
  if (*interval < milliseconds(1) || *interval > seconds(3600))
    return fail(ErrorCode::usage, fmt::format("an interval of {} is out of range", text), "--interval", "1ms to 1h");
  return interval;
}

}  // namespace joulery
