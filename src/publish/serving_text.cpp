#include <fmt/format.h>

#include "core/units.h"
#include "publish/numbers.h"
#include "publish/serving.h"
#include "publish/utf8.h"

namespace joulery {
namespace {

std::string count_of(const std::optional<double>& count) { return count ? grouped(to_whole(*count)) : "-"; }
std::string figure(const std::optional<double>& value) { return value ? compact(*value) : "-"; }

struct Printer {
  const TextStyle& style;
  std::string out;

  void heading(std::string_view text) { out += fmt::format("\n{}\n", painted(text, Ink::strong, style)); }
  void line(std::string_view name, const std::string& value, std::string_view words = {}) {
    out += fmt::format("  {:<24}{:>14}{}{}\n", name, value, words.empty() ? "" : "   ",
                       painted(printable(words, style.unicode), Ink::dim, style));
  }
};

void add_energy(Printer& to, const ServingReport& report) {
  const ServingSplit& split = report.split;
  const auto share = [&](Energy part) {
    return report.joules && report.joules->value > Energy{} ? percent(part / report.joules->value) : std::string();
  };
  to.heading("Energy");
  if (!report.joules) {
    to.line("energy", "missing", report.missing.empty() ? "nothing here measures it: joulery doctor" : report.missing.front());
    return;
  }
  to.line("active accelerators", to_text(split.active_accelerators), share(split.active_accelerators));
  to.line("active host", to_text(split.active_host), share(split.active_host));
  to.line("idle", to_text(split.idle),
          share(split.idle) +
              (split.idle_watts ? fmt::format(", {} W, {}", compact(*split.idle_watts), split.idle_source) : ", idle power not known"));
  if (split.unattributed != Energy{}) to.line("unattributed", to_text(split.unattributed), share(split.unattributed) + ", see the gaps");
  to.line("in all", to_text(report.joules->value),
          fmt::format("{}, {} to {}{}", name_of(report.quality), to_text(report.joules->low), to_text(report.joules->high),
                      report.partial ? ", partial" : ""));
  if (split.overhead)
    to.line("overhead", to_text(*split.overhead), fmt::format("PUE {}", *split.pue));
  else
    to.line("overhead", "missing", split.overhead_reason);
  for (const std::string& part : report.missing) to.line("", "missing", part);
}

void add_table(Printer& to, std::string_view title, const std::vector<ServingLine>& lines) {
  if (lines.empty()) return;
  to.out += fmt::format("\n  {:<26}{:>12}{:>12}{:>10}{:>11}{:>10}{:>10}{:>11}\n", title, "tokens in", "tokens out", "requests", "J",
                        "J/out", "J/token", "J/request");
  for (const ServingLine& line : lines) {
    std::string name = printable(line.name.empty() ? "(no name)" : line.name, to.style.unicode);
    if (name.size() > 25) name = "..." + name.substr(name.size() - 22);
    to.out += fmt::format("  {:<26}{:>12}{:>12}{:>10}{:>11}{:>10}{:>10}{:>11}\n", name, count_of(line.tokens_in), count_of(line.tokens_out),
                          count_of(line.requests), line.joules ? compact(to_joules(line.joules->value)) : "-",
                          figure(line.figures.joules_per_output_token), figure(line.figures.joules_per_token),
                          figure(line.figures.joules_per_request));
  }
}

void add_figures(Printer& to, const ServingReport& report) {
  const ServingLine& all = report.all;
  to.heading("Answers");
  const auto told = [&](std::string_view name, const std::optional<double>& value, const std::string& reason, std::string_view words = {}) {
    to.line(name, value ? compact(*value) : "missing", value ? words : std::string_view(reason));
  };
  told("tokens in", all.tokens_in, report.tokens_in_reason);
  told("tokens out", all.tokens_out, report.tokens_out_reason);
  told("requests", all.requests, report.requests_reason);
  const std::string no_energy = report.joules ? "" : "no energy of this time is known";
  const auto why = [&](const std::string& reason) { return !no_energy.empty() ? no_energy : !reason.empty() ? reason : "there were none"; };
  told("J per output token", all.figures.joules_per_output_token, why(report.tokens_out_reason), "active and idle");
  told("J per token", all.figures.joules_per_token,
       why(report.tokens_in_reason.empty() ? report.tokens_out_reason : report.tokens_in_reason), "prompts and answers");
  told("J per request", all.figures.joules_per_request, why(report.requests_reason));
  told("output tokens/s per W", all.figures.output_tokens_per_second_per_watt, why(report.tokens_out_reason));
  told("kWh per 1000 requests", all.figures.kwh_per_1000_requests, why(report.requests_reason));
}

void add_costs(Printer& to, const ServingReport& report) {
  if (report.costs && report.costs->weights_fitted) {
    const ServingCoefficients& c = report.costs->best;
    to.heading("What a token costs, above idle");
    to.line("prompt's token", compact(c.prefill_joules) + " J");
    to.line("answer's token", compact(c.decode_joules) + " J");
    if (c.step_joules > 0) to.line(report.times.known ? "step" : "second in work", compact(c.step_joules) + " J");
  } else if (report.costs && !report.costs->note.empty()) {
    to.out += fmt::format("\n  {}\n", painted(report.costs->note, Ink::dim, to.style));
  }
  if (report.requests && report.requests->count > 0)
    to.line("a request", fmt::format("{} J", figure(report.requests->joules_median)),
            fmt::format("median of {}; 95th percentile {} J", grouped(static_cast<std::int64_t>(report.requests->count)),
                        figure(report.requests->joules_p95)));
}

}  // namespace

std::string serving_text(const ServingReport& report, const TextStyle& style) {
  Printer to{style, {}};
  to.out =
      fmt::format("{} {}  {}{}{}\n", painted("joulery serve-watch", Ink::accent, style), report.begin, to_text(seconds(report.duration_s)),
                  report.server.empty() ? "" : "  " + report.server, report.endpoint.empty() ? "" : " at " + printable(report.endpoint));
  add_energy(to, report);
  add_figures(to, report);
  add_costs(to, report);
  if (report.models.size() > 1 || (report.models.size() == 1 && !report.models.front().name.empty()))
    add_table(to, "model (active)", report.models);
  add_table(to, "group (active)", report.groups);
  for (const ReportGap& gap : report.gaps)
    to.out += fmt::format("  gap {:.1f} s to {:.1f} s: {}\n", gap.begin_s, gap.end_s, printable(gap.reason, style.unicode));
  for (const std::string& flag : report.flags) to.out += fmt::format("  note: {}\n", printable(flag, style.unicode));
  return to.out;
}

}  // namespace joulery
