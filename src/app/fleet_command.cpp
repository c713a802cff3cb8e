// `joulery fleet report`: what whole fleets have burnt, asked back from the engine to which their agents push.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "app/command.h"
#include "app/command_line.h"
#include "app/fleet_query.h"
#include "app/time_words.h"
#include "core/near_names.h"
#include "ledger/node_account.h"
#include "publish/fleet.h"
#include "publish/remote_write.h"

namespace joulery {
namespace {

struct FleetWords {
  std::string url, from = "-24h", to = "now", kind, node = "instance";
  std::vector<std::string> by, where, sets;
  FormChoice form;
  FactorWords factors;
};

// In whole milliseconds, which is what engines know.
Result<WallTime> time_of(const std::string& text, const char* option, WallTime now) {
  auto time = parse_time(text, option, now);
  if (time) time->ns = (time->ns + 500'000) / 1'000'000 * 1'000'000;
  return time;
}

std::vector<std::string> consumer_kinds() {
  std::vector<std::string> kinds;
  for (const ConsumerKind kind : {ConsumerKind::process, ConsumerKind::cgroup, ConsumerKind::container, ConsumerKind::pod,
                                  ConsumerKind::unit, ConsumerKind::job, ConsumerKind::step, ConsumerKind::user})
    kinds.emplace_back(name_of(kind));
  return kinds;
}

// What to ask of which kinds follows from what the rows shall be.
Result<FleetQuestion> question_of(FleetWords& words, WallTime now) {
  FleetQuestion question;
  const auto from = time_of(words.from, "--from", now), to = time_of(words.to, "--to", now);
  if (!from) return std::unexpected(from.error());
  if (!to) return std::unexpected(to.error());
  if (*from >= *to) return fail(ErrorCode::usage, "--from is not before --to", "", "");
  question.from = *from;
  question.to = *to;
  question.node_label = words.node;
  const std::vector<std::string> kinds = consumer_kinds();
  if (words.by.empty()) words.by = {words.kind.empty() ? words.node : "name"};
  const bool all = std::ranges::find(words.by, "kind") != words.by.end();
  if (!words.kind.empty() && std::ranges::find(kinds, words.kind) == kinds.end()) {
    const std::string near = nearest_name(words.kind, kinds);
    return fail(ErrorCode::usage, fmt::format("no kind of consumer is called '{}'", words.kind), "--kind",
                near.empty() ? fmt::format("{}", fmt::join(kinds, ", ")) : fmt::format("did you mean '{}'?", near));
  }
  if (words.kind.empty() && !all && std::ranges::find(words.by, "name") != words.by.end())
    return fail(ErrorCode::usage, "names are those of a kind of consumers", "--by name", "say which: --kind job");
  question.kinds = all ? kinds : words.kind.empty() ? std::vector<std::string>() : std::vector{words.kind};
  for (const std::string& by : words.by)
    if (!is_label_name(by)) return fail(ErrorCode::usage, fmt::format("'{}' is no label", by), "--by", "");
  if (!is_label_name(words.node)) return fail(ErrorCode::usage, fmt::format("'{}' is no label", words.node), "--node", "");
  for (const std::string& where : words.where) {
    const auto equals = where.find('=');
    const std::string label = where.substr(0, equals);
    if (equals == std::string::npos || !is_label_name(label))
      return fail(ErrorCode::usage, fmt::format("'{}' is not LABEL=VALUE", where), "--where", "--where team=vision");
    if (label == "kind" || label == "name" || label == "component" || label == "quality")
      return fail(ErrorCode::usage, fmt::format("--where chooses nodes, and '{}' is no label of a node", label), "",
                  "--kind and --by choose rows");
    question.where.emplace_back(label, where.substr(equals + 1));
  }
  return question;
}

Result<PromEndpoint> endpoint_of(const Settings& settings) {
  const auto url = settings.text("fleet.url");
  if (!url) return std::unexpected(url.error());
  if (!*url) return fail(ErrorCode::usage, "nobody says which engine to ask", "--prometheus", "give its address, or set fleet.url");
  const auto timeout = settings.duration("fleet.timeout");
  if (!timeout) return std::unexpected(timeout.error());
  std::string warning;
  auto access = read_http_access(settings, "fleet", warning);
  if (!access) return std::unexpected(access.error());
  if (!warning.empty()) put(stderr, fmt::format("joulery fleet: {}\n", warning));
  return PromEndpoint::make(**url, *std::move(access), timeout->value_or(seconds(60)));
}

// Grams and money of the total, and of each row its part of them: both are proportional to the energy.
Result<void> add_grams_and_cost(const FactorChoice& factors, FleetReport& fleet) {
  Report report;
  report.energy.joules = Estimate{fleet.total.energy, fleet.total.energy, fleet.total.energy};
  report.energy.boundary = "node";
  if (const auto added = add_factors(factors, std::nullopt, report); !added) return std::unexpected(added.error());
  fleet.carbon = report.carbon;
  fleet.cost = report.cost;
  fleet.cost_reason = report.cost_reason;
  const auto share = [&](FleetRow& row) {
    const double part = fleet.total.energy > Energy{} ? row.energy / fleet.total.energy : 0;
    if (fleet.carbon && fleet.carbon->grams) row.grams = *fleet.carbon->grams * part;
    if (fleet.cost) row.cost = fleet.cost->amount * part;
  };
  std::ranges::for_each(fleet.rows, share);
  share(fleet.total);
  return {};
}

int fleet_report(FleetWords& words) {
  const auto style = style_for(words.form, STDOUT_FILENO);
  if (!style) return complain("fleet", style.error(), exit_usage);
  if (!words.url.empty()) words.sets.push_back("fleet.url=" + words.url);
  const auto settings = settings_with(words.factors, words.sets);
  if (!settings) return complain("fleet", settings.error(), exit_usage);
  const auto choices = choices_from(*settings, "");
  if (!choices) return complain("fleet", choices.error(), exit_usage);
  const auto question = question_of(words, wall_now());
  if (!question) return complain("fleet", question.error(), exit_usage);
  auto engine = endpoint_of(*settings);
  if (!engine) return complain("fleet", engine.error(), engine.error().code == ErrorCode::usage ? exit_usage : 1);
  auto facts = ask_fleet(*engine, *question);
  if (!facts) return complain("fleet", facts.error(), 1);
  FleetReport report = make_fleet_report(*std::move(facts), {words.node, words.kind, words.by});
  if (report.too_much)
    return complain(
        "fleet", {ErrorCode::unsupported, "the fleet has burnt more than 9.2e12 J in this time", "", "ask for a shorter time, or --where"},
        1);
  if (const auto added = add_grams_and_cost(choices->factors, report); !added) return complain("fleet", added.error(), exit_usage);
  const std::string text = words.form.json ? fleet_json(report) : words.form.csv ? fleet_csv(report) : fleet_text(report, *style);
  return put(stdout, text) ? 0 : complain("fleet", error_from_errno(errno, "cannot write", "standard output"), 1);
}

}  // namespace

int fleet_command(std::vector<std::string> arguments) {
  CLI::App app("Tells what whole fleets have burnt, from the engine to which their agents push.", "joulery fleet");
  app.require_subcommand(1);
  FleetWords words;
  CLI::App* report = app.add_subcommand("report", "energy by node, team, job ... between two moments");
  report->add_option("--prometheus", words.url, "address of Prometheus, VictoriaMetrics or the like; fleet.url where not given")
      ->type_name("URL");
  report->add_option("--from", words.from, "beginning: -24h, 2026-03-01, 2026-03-01T10:00:00Z")->type_name("TIME")->capture_default_str();
  report->add_option("--to", words.to, "end; as --from")->type_name("TIME")->capture_default_str();
  report->add_option("--by", words.by, "labels whose values make the rows: instance, team, component; kind; name with --kind")
      ->type_name("LABEL")
      ->delimiter(',');
  report->add_option("--kind", words.kind, "whose joules: process, cgroup, container, pod, unit, job, step, user")->type_name("KIND");
  report->add_option("--where", words.where, "only nodes with this label, as often as one likes")
      ->type_name("LABEL=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  report->add_option("--node", words.node, "the label that names a node")->type_name("LABEL")->capture_default_str();
  CLI::Option_group* forms = report->add_option_group("Form of the report");
  forms->add_flag("--json", words.form.json, "as JSON, schema joulery.fleet/1");
  forms->add_flag("--csv", words.form.csv, "the rows as CSV");
  forms->require_option(0, 1);
  report->add_option("--color", words.form.color, "auto (a terminal only; NO_COLOR is obeyed), always or never")->type_name("WHEN");
  report->add_option("--place", words.factors.place, "country or cloud region whose electricity is used: SWE, aws:eu-west-1")
      ->type_name("PLACE");
  report->add_option("--carbon-intensity", words.factors.intensity, "a factor of your own: 334 (g/kWh) or 412lb/MWh")->type_name("FACTOR");
  report->add_option("--pue", words.factors.pue, "power usage effectiveness of the data centre, 1 or more")->type_name("N");
  report->add_option("--tariff", words.factors.tariff, "price of electricity: \"0.30 EUR/kWh\"")->type_name("PRICE");
  add_set_option(*report, words.sets);
  if (const auto code = parse(app, std::move(arguments))) return *code;
  return fleet_report(words);
}

}  // namespace joulery
