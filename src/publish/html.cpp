#include "publish/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "publish/hosts.h"
#include "publish/html_chart.h"
#include "publish/html_gain.h"
#include "publish/html_style.h"
#include "publish/html_text.h"
#include "publish/layers.h"
#include "publish/numbers.h"
#include "publish/phrases.h"
#include "publish/reasons.h"

namespace joulery {
namespace {

// `more` holds lines of small print.
std::string card(std::string_view label, const std::string& value, const std::vector<std::string>& more = {}) {
  std::string small;
  for (const std::string& line : more)
    if (!line.empty()) small += fmt::format("<small>{}</small>", html_text(line));
  return fmt::format("<div><dt>{}</dt><dd>{}{}</dd></div>\n", html_text(label), html_text(value), small);
}

std::string energy_cell(const std::optional<Energy>& value, std::string_view reason) {
  if (!value) return fmt::format("<td class=\"none\" title=\"{}\">missing</td>", html_text(reason));
  return fmt::format("<td title=\"{} J\">{}</td>", exact_joules(*value), to_text(*value));
}

std::string header(const Report& r) {
  const std::string command = html_text(command_words(r.command));
  std::string out = fmt::format("<header><div class=\"brand\">joulery</div>\n<h1><code>{}</code></h1>\n<p class=\"meta\">", command);
  if (!r.begin.empty()) out += fmt::format("begun <time>{}</time>, ", html_text(r.begin));
  return out + fmt::format("<span class=\"exit {}\">{}</span></p></header>\n", r.exit_code == 0 ? "ok" : "bad", exit_words(r));
}

std::string total(const Report& r) {
  if (!r.energy.joules)
    return fmt::format("<p class=\"total\"><strong class=\"unknown\">Energy missing</strong><span>{}</span></p>\n",
                       html_text(reason_of(r.energy)));
  const Energy value = r.energy.joules->value;
  return fmt::format("<p class=\"total\">{}<strong title=\"{} J\">{}</strong><span>{}</span><span>{}</span><span>{}</span></p>\n",
                     r.energy.partial ? "<span class=\"atleast\">at least</span>" : "", exact_joules(value), to_text(value),
                     watt_hours(value), interval_words(r), known_words(r));
}

std::string power_card(std::string_view label, const std::optional<double>& value, const Report& r) {
  return value ? card(label, or_missing(value)) : card(label, "missing", {power_reason(r)});
}

std::string baseline_card(const Report& r) {
  const ReportBaseline& b = *r.baseline;
  if (!b.joules) return card("Idle in the same time", "missing", {reason_of(b)});
  std::string above;
  if (r.energy.joules && !r.energy.partial && r.energy.joules->value >= *b.joules)
    above = to_text(r.energy.joules->value - *b.joules) + " above idle";
  return card("Idle in the same time", to_text(*b.joules), {or_missing(b.watts) + (b.source.empty() ? "" : ", " + b.source), above});
}

std::string limit_card(const ReportPowerLimit& limit) {
  const std::string value = compact(limit.watts) + " W", words = power_limit_words(limit);
  return card("Limit: " + power_limit_label(limit), value, {words.substr(value.size() + 1)});
}

std::string steps_card(const ReportSteps& s) {
  std::vector<std::string> more;
  more.push_back(s.joules_median ? "median " + to_text(joules(*s.joules_median)) : "median energy missing: " + reason_of(s));
  if (s.joules_p95) more.push_back("95th percentile " + to_text(joules(*s.joules_p95)));
  if (s.seconds_median) more.push_back("median time " + to_text(seconds(*s.seconds_median)));
  return card("Steps", grouped(s.count), more);
}

std::string work_card(const ReportWork& w) {
  const std::string label = "Work: " + w.unit;
  if (!w.joules_per_unit) return card(label, "missing", {work_words(w), rate_words(w)});
  std::vector<std::string> more = {compact(w.count) + " in all"};
  if (w.units_per_joule) more.push_back(fmt::format("{} per joule", compact(*w.units_per_joule)));
  if (w.kwh_per_1000) more.push_back(fmt::format("{} kWh per 1000", compact(*w.kwh_per_1000)));
  if (w.units_per_second) more.push_back(fmt::format("{} per second", compact(*w.units_per_second)));
  if (w.units_per_second_per_watt) more.push_back(fmt::format("{} per second per watt", compact(*w.units_per_second_per_watt)));
  return card(label, compact(*w.joules_per_unit) + " J each", more);
}

std::string kpi_card(const ReportKpi& k) {
  const bool number = std::isfinite(k.last);
  return card("Result: " + k.name, number ? fmt::format("{:.6g}", k.last) : "missing",
              {k.joules_at_last ? "after " + to_text(joules(*k.joules_at_last)) : "energy missing: " + reason_of(k),
               k.joules_per_point ? gain_words(k) : ""});
}

std::string carbon_card(const Report& r) {
  if (!r.carbon) return card("Carbon", "missing", {carbon_reason(r)});
  const std::string value = r.carbon->grams ? to_text(grams(*r.carbon->grams)) : "missing";
  const std::string words = carbon_words(*r.carbon);
  return card("Carbon", value, {words.starts_with(value + " ") ? words.substr(value.size() + 1) : words});
}

std::string cards(const Report& r) {
  std::string out = "<dl class=\"cards\">\n" + card("Time", to_text(seconds(r.duration_s)));
  out += power_card("Mean power", r.mean_watts, r) + power_card("Peak power", r.peak_watts, r);
  if (r.baseline) out += baseline_card(r);
  for (const ReportPowerLimit& limit : r.power_limits) out += limit_card(limit);
  if (r.steps.count > 0) out += steps_card(r.steps);
  for (const ReportWork& w : r.work) out += work_card(w);
  for (const ReportKpi& k : r.kpis) out += kpi_card(k);
  out += carbon_card(r);
  if (r.cost) out += card("Cost", compact(r.cost->amount) + " " + r.cost->currency, {r.cost->source});
  return out + "</dl>\n";
}

std::string notes_list(const Report& r) {
  std::string out;
  for (const Note& note : notes(r)) out += fmt::format("<li{}>{}</li>\n", note.warning ? " class=\"warning\"" : "", html_text(note.text));
  return out.empty() ? out : "<ul class=\"notes\">\n" + out + "</ul>\n";
}

// The colour class of each component, counted among those of its kind as in the picture.
std::vector<std::string> colours(const Report& r) {
  std::map<std::string, int, std::less<>> seen;
  std::vector<std::string> out;
  for (const ReportComponent& c : r.components) {
    const std::string kind(kind_of(c.path));
    const bool counted_once = !c.overlap && c.joules;
    out.push_back(fmt::format("{} s{}", kind, counted_once ? seen[kind]++ % 4 : 0));
  }
  return out;
}

std::string component_row(const ReportComponent& c, const std::string& colour) {
  const bool known = c.joules && c.quality != Quality::missing;
  const Quality quality = known ? c.quality : Quality::missing;
  const std::string swatch = c.overlap ? ""
                                       : fmt::format("<i class=\"swatch {}\"></i>",
                                                     !known ? "absent" : colour + (quality == Quality::estimated ? " hatched" : ""));
  std::string how = fmt::format("<span class=\"q {0}\">{0}</span> {1}", name_of(quality), html_text(c.meter));
  if (const std::string reason = reason_of(c); !reason.empty()) how += fmt::format(" <small>{}</small>", html_text(reason));
  const auto number = [&](const std::string& text) {
    return known ? fmt::format("<td class=\"wide\">{}</td>", text) : std::string("<td class=\"wide\"></td>");
  };
  return fmt::format("<tr{}><th scope=\"row\">{}{}</th>{}{}<td>{}</td>{}{}<td class=\"words\">{}</td></tr>\n",
                     c.overlap ? " class=\"overlap\"" : "", swatch, html_text(c.label.empty() ? c.path : c.label),
                     energy_cell(known ? std::optional(c.joules->value) : std::nullopt, reason_of(c)),
                     number(known ? fmt::format("{} to {}", to_text(c.joules->low), to_text(c.joules->high)) : ""),
                     c.share ? percent(*c.share) : "", number(or_missing(c.mean_watts)), number(or_missing(c.peak_watts)), how);
}

std::string sum_row(const Report& r) {
  if (!r.energy.joules) return {};
  return fmt::format(
      "<tr class=\"sum\"><th scope=\"row\">{}</th>{}<td class=\"wide\">{} to {}</td><td>{}</td><td class=\"wide\">{}</td><td "
      "class=\"wide\">{}</td>"
      "<td class=\"words\">{}</td></tr>\n",
      r.energy.partial ? "Total, at least" : "Total", energy_cell(r.energy.joules->value, ""), to_text(r.energy.joules->low),
      to_text(r.energy.joules->high), r.energy.partial ? "" : "100 %", or_missing(r.mean_watts), or_missing(r.peak_watts), known_words(r));
}

std::string components(const Report& r) {
  if (r.components.empty()) return {};
  const std::vector<std::string> css = colours(r);
  std::string bar, rows;
  for (std::size_t i = 0; i < r.components.size(); ++i)
    if (const ReportComponent& c = r.components[i]; !c.overlap && c.share && *c.share > 0)
      bar += fmt::format("<span class=\"seg {}{}\" style=\"width:{:.2f}%\" title=\"{}: {}\"></span>", css[i],
                         c.quality == Quality::estimated ? " hatched" : "", *c.share * 100, html_text(c.label), percent(*c.share));
  for (const bool overlap : {false, true}) {
    for (std::size_t i = 0; i < r.components.size(); ++i)
      if (r.components[i].overlap == overlap) rows += component_row(r.components[i], css[i]);
    if (!overlap) rows += sum_row(r);
  }
  const bool any_overlap = std::any_of(r.components.begin(), r.components.end(), [](const ReportComponent& c) { return c.overlap; });
  return fmt::format(
      "<h2>Where it went</h2>\n{}<div class=\"scroll\"><table class=\"fold\">{}<thead><tr><th scope=\"col\">Component</th><th "
      "scope=\"col\">Energy</th>"
      "<th scope=\"col\">90 % interval</th><th scope=\"col\">Share</th><th scope=\"col\">Mean</th><th scope=\"col\">Peak</th>"
      "<th scope=\"col\" class=\"words\">Known by</th></tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
      bar.empty() ? ""
                  : "<div class=\"stack\" role=\"img\" aria-label=\"Shares of the components, as in the table below\">" + bar + "</div>\n",
      any_overlap ? "<caption>Rows below the total lie inside rows above it and are not added.</caption>" : "", rows);
}

std::string layer_row(std::string_view css, std::string_view name, const std::optional<Estimate>& joules,
                      const std::optional<double>& share, const std::string& words) {
  return fmt::format("<tr{}><th scope=\"row\">{}</th>{}<td class=\"wide\">{}</td><td>{}</td><td class=\"words\">{}</td></tr>\n", css,
                     html_text(name), energy_cell(joules ? std::optional(joules->value) : std::nullopt, words),
                     joules ? fmt::format("{} to {}", to_text(joules->low), to_text(joules->high)) : "", share ? percent(*share) : "",
                     html_text(words));
}

std::string layers(const Report& r) {
  if (!tells_layers(r)) return {};
  std::string rows, delays;
  for (const ReportLayer& layer : r.layers) {
    rows += layer_row(" class=\"sum\"", layer.label, layer.joules, std::nullopt, layer_words(layer, r.duration_s));
    for (const ReportLayerPart& part : layer.parts) rows += layer_row("", part.label, part.joules, part.share, part_words(part));
    rows += layer_row(" class=\"overlap\"", "not told apart", layer.residual.joules, layer.residual.share, residual_words(layer));
  }
  for (const ReportDelay& delay : r.delays) delays += fmt::format("<li>{}</li>\n", html_text(delay_words(delay)));
  return "<h2>From the wall to the work</h2>\n<div class=\"scroll tall\"><table class=\"fold\"><caption>In each layer the parts and what "
         "is not told apart sum to the whole.</caption><thead><tr><th scope=\"col\">Layer</th><th scope=\"col\">Energy</th><th "
         "scope=\"col\">90 % interval</th><th scope=\"col\">Share</th><th scope=\"col\" class=\"words\">Known "
         "by</th></tr></thead>\n<tbody>\n" +
         rows + "</tbody></table></div>\n" + (delays.empty() ? "" : "<ul class=\"notes\">\n" + delays + "</ul>\n");
}

std::string bar_cell(const std::optional<double>& share) {
  return share ? fmt::format("<td class=\"bar wide\" aria-hidden=\"true\"><i style=\"width:{:.2f}%\"></i></td>",
                             std::clamp(*share, 0.0, 1.0) * 100)
               : std::string("<td class=\"bar wide\"></td>");
}

std::optional<double> share_of(const std::optional<Energy>& part, const Report& r) {
  if (!part || !r.energy.joules || r.energy.joules->value <= Energy{}) return std::nullopt;
  return *part / r.energy.joules->value;
}

std::string phases(const Report& r) {
  if (r.phases.empty()) return {};
  std::string rows;
  for (const ReportPhase& p : r.phases) {
    const std::optional<double> share = share_of(p.joules, r);
    rows += fmt::format("<tr><th scope=\"row\">{}</th>{}<td>{}</td>{}<td class=\"wide\">{}</td><td class=\"words\">{}{}</td></tr>\n",
                        html_text(p.name), energy_cell(p.joules, reason_of(p)), share ? percent(*share) : "", bar_cell(share),
                        p.joules && p.seconds > 0 ? to_text(watts(to_joules(*p.joules) / p.seconds)) : "", to_text(seconds(p.seconds)),
                        p.joules ? "" : "; " + html_text(reason_of(p)));
  }
  return "<h2>When it went</h2>\n<div class=\"scroll\"><table class=\"fold\"><thead><tr><th scope=\"col\">Phase</th><th "
         "scope=\"col\">Energy</th>"
         "<th scope=\"col\">Share</th><th></th><th scope=\"col\">Mean</th><th scope=\"col\" "
         "class=\"words\">Time</th></tr></thead>\n<tbody>\n" +
         rows + "</tbody></table></div>\n";
}

std::string processes(const Report& r) {
  if (r.processes.empty()) return {};
  std::string rows;
  for (const ReportProcess& p : r.processes)
    rows += fmt::format("<tr><th scope=\"row\">{}</th>{}<td>{}</td>{}<td class=\"words\">{} CPU{}</td></tr>\n", html_text(process_words(p)),
                        energy_cell(p.joules, reason_of(p)), p.share ? percent(*p.share) : "", bar_cell(p.share), to_text(seconds(p.cpu_s)),
                        p.joules ? "" : "; " + html_text(reason_of(p)));
  return "<h2>Who used it</h2>\n<div class=\"scroll tall\"><table class=\"fold\"><thead><tr><th scope=\"col\">Process</th><th "
         "scope=\"col\">Energy</th>"
         "<th scope=\"col\">Share</th><th></th><th scope=\"col\" class=\"words\">CPU time</th></tr></thead>\n<tbody>\n" +
         rows + "</tbody></table></div>\n";
}

std::string hosts(const Report& r) {
  if (r.hosts.empty()) return {};
  std::string rows;
  for (const ReportHost& host : r.hosts)
    rows += fmt::format(
        "<tr><th scope=\"row\">{}</th>{}<td class=\"wide\">{}</td><td>{}</td>{}<td class=\"wide\">{}</td><td "
        "class=\"words\">{}</td></tr>\n",
        html_text(host.name), energy_cell(host.joules ? std::optional(host.joules->value) : std::nullopt, host.reason),
        host.joules ? fmt::format("{} to {}", to_text(host.joules->low), to_text(host.joules->high)) : "",
        host.share ? percent(*host.share) : "", bar_cell(host.share), host.joules ? or_missing(host.mean_watts) : "",
        html_text(host_words(host, &host == r.hosts.data())));
  return "<h2>Which hosts used it</h2>\n<div class=\"scroll tall\"><table class=\"fold\"><thead><tr><th scope=\"col\">Host</th><th "
         "scope=\"col\">Energy</th><th scope=\"col\">90 % interval</th><th scope=\"col\">Share</th><th></th><th "
         "scope=\"col\">Mean</th><th scope=\"col\" class=\"words\">Known by</th></tr></thead>\n<tbody>\n" +
         rows + "</tbody></table></div>\n";
}

std::string ranks(const Report& r) {
  if (r.ranks.empty()) return {};
  std::string rows;
  for (const ReportRank& rank : r.ranks)
    rows += fmt::format("<tr><th scope=\"row\">{}</th>{}<td>{}</td>{}<td class=\"words\">{}</td></tr>\n", html_text(rank_name(rank)),
                        energy_cell(rank.joules, rank.reason), rank.share ? percent(*rank.share) : "", bar_cell(rank.share),
                        html_text(rank_words(rank)));
  const std::string straggler = straggler_words(r);
  return "<h2>Which ranks used it</h2>\n" + (straggler.empty() ? "" : "<p>" + html_text(straggler) + ".</p>\n") +
         "<div class=\"scroll tall\"><table class=\"fold\"><thead><tr><th scope=\"col\">Rank</th><th scope=\"col\">Energy</th><th "
         "scope=\"col\">Share</th><th></th><th scope=\"col\" class=\"words\">Steps</th></tr></thead>\n<tbody>\n" +
         rows + "</tbody></table></div>\n";
}

std::string sampling_words(const ReportSampling& s) {
  return fmt::format("Meters read every {}; {}, {} missed, {}.", to_text(seconds(s.interval_s)), counted(s.rounds, "round"),
                     grouped(s.missed), counted(static_cast<std::int64_t>(s.gaps.size()), "gap"));
}

}  // namespace

std::string report_html(const Report& report, const Chart& chart) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src "
      "'unsafe-inline'\">\n";
  out += fmt::format("<title>{}: energy of {}</title>\n<style>{}</style>\n</head>\n<body>\n", html_text(headline(report)),
                     html_text(command_words(report.command)), html_style());
  out += header(report) + "<main>\n" + total(report) + cards(report) + notes_list(report);
  out += "<h2>Power over time</h2>\n" + power_figure(picture_of(chart, report));
  out += components(report) + hosts(report) + layers(report) + phases(report) + ranks(report) + gain_section(report) + processes(report) +
         "</main>\n";
  out += fmt::format(
      "<footer>{} Intervals hold the truth with 90 % probability. Estimates are hatched.</footer>\n<script>{}</script>\n</body>\n</html>\n",
      sampling_words(report.sampling), html_script());
  return out;
}

}  // namespace joulery
