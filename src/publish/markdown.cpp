#include "publish/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "publish/hosts.h"
#include "publish/layers.h"
#include "publish/numbers.h"
#include "publish/phrases.h"
#include "publish/reasons.h"
#include "publish/utf8.h"

namespace joulery {
namespace {

// A fenced block whose fence is longer than any run of backticks in it.
std::string code_block(const std::string& text) {
  std::size_t longest = 0, run = 0;
  for (const char c : text) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
  const std::string fence(std::max<std::size_t>(3, longest + 1), '`');
  return fmt::format("{}sh\n{}\n{}\n", fence, text, fence);
}

std::string interval_text(const std::optional<Estimate>& value) {
  return value ? fmt::format("{} to {}", to_text(value->low), to_text(value->high)) : "";
}

std::string component_line(const ReportComponent& c) {
  const bool known = c.joules && c.quality != Quality::missing;
  const std::string label = (is_wall(c) && c.overlap ? "around it: "
                             : c.overlap             ? "of which "
                                                     : "") +
                            markdown_text(c.label.empty() ? c.path : c.label);
  std::string how(name_of(known ? c.quality : Quality::missing));
  if (!c.meter.empty()) how += ", " + markdown_text(c.meter);
  if (const std::string reason = reason_of(c); !reason.empty()) how += ": " + markdown_text(reason);
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", label, known ? to_text(c.joules->value) : "missing",
                     known ? interval_text(c.joules) : "", c.share ? percent(*c.share) : "", known ? or_missing(c.mean_watts) : "",
                     known ? or_missing(c.peak_watts) : "", how);
}

std::string components_table(const Report& report) {
  if (report.components.empty()) return {};
  std::string out = "\n| Component | Energy | 90 % interval | Share | Mean | Peak | Known by |\n|:--|--:|:-:|--:|--:|--:|:--|\n";
  for (const bool overlap : {false, true})
    for (const ReportComponent& c : report.components)
      if (c.overlap == overlap) out += component_line(c);
  if (report.energy.joules)
    out += fmt::format("| **Total** | **{}{}** | {} |{} | {} | {} | {} |\n", report.energy.partial ? "at least " : "",
                       to_text(report.energy.joules->value), interval_text(report.energy.joules), report.energy.partial ? "" : " 100 %",
                       or_missing(report.mean_watts), or_missing(report.peak_watts), known_words(report));
  return out;
}

std::string layer_line(std::string_view name, const std::optional<Estimate>& joules, const std::optional<double>& share,
                       std::string_view words) {
  return fmt::format("| {} | {} | {} | {} | {} |\n", name, joules ? to_text(joules->value) : "missing", interval_text(joules),
                     share ? percent(*share) : "", markdown_text(words));
}

std::string layers_table(const Report& report) {
  if (!tells_layers(report)) return {};
  std::string out = "\n| Layer | Energy | 90 % interval | Share | Known by |\n|:--|--:|:-:|--:|:--|\n";
  for (const ReportLayer& layer : report.layers) {
    out += layer_line(fmt::format("**{}**", markdown_text(layer.label)), layer.joules, std::nullopt, layer_words(layer, report.duration_s));
    for (const ReportLayerPart& part : layer.parts)
      out += layer_line("… " + markdown_text(part.label), part.joules, part.share, part_words(part));
    out += layer_line("… not told apart", layer.residual.joules, layer.residual.share, residual_words(layer));
  }
  for (const ReportDelay& delay : report.delays) out += fmt::format("\n- **Delay** {}", markdown_text(delay_words(delay)));
  return out + (report.delays.empty() ? "" : "\n");
}

std::string phases_table(const Report& report) {
  if (report.phases.empty()) return {};
  std::string out = "\n| Phase | Energy | Time |\n|:--|--:|--:|\n";
  for (const ReportPhase& phase : report.phases)
    out +=
        fmt::format("| {} | {} | {} |\n", markdown_text(phase.name),
                    phase.joules ? to_text(*phase.joules) : "missing: " + markdown_text(reason_of(phase)), to_text(seconds(phase.seconds)));
  return out;
}

std::string hosts_table(const Report& report) {
  std::string out;
  if (!report.hosts.empty()) out += "\n| Host | Energy | 90 % interval | Share | Mean | Known by |\n|:--|--:|:-:|--:|--:|:--|\n";
  for (const ReportHost& host : report.hosts)
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", markdown_text(host.name), host.joules ? to_text(host.joules->value) : "missing",
                       interval_text(host.joules), host.share ? percent(*host.share) : "", host.joules ? or_missing(host.mean_watts) : "",
                       markdown_text(host_words(host, &host == report.hosts.data())));
  if (!report.ranks.empty()) out += "\n| Rank | Energy | Share | Steps |\n|:--|--:|--:|:--|\n";
  for (const ReportRank& rank : report.ranks)
    out += fmt::format("| {} | {} | {} | {} |\n", markdown_text(rank_name(rank)), rank.joules ? to_text(*rank.joules) : "missing",
                       rank.share ? percent(*rank.share) : "", markdown_text(rank_words(rank)));
  return out;
}

std::string processes_table(const Report& report) {
  if (report.processes.empty()) return {};
  std::string out = "\n<details><summary>Processes</summary>\n\n| Process | Energy | Share | CPU time |\n|:--|--:|--:|--:|\n";
  for (const ReportProcess& p : report.processes)
    out += fmt::format("| {} | {} | {} | {} |\n", markdown_text(process_words(p)),
                       p.joules ? to_text(*p.joules) : "missing: " + markdown_text(reason_of(p)), p.share ? percent(*p.share) : "",
                       to_text(seconds(p.cpu_s)));
  return out + "\n</details>\n";
}

std::string figures(const Report& report) {
  std::string out;
  const auto add = [&](std::string_view label, const std::string& words) {
    out += fmt::format("- **{}** {}\n", label, markdown_text(words));
  };
  add("Time", fmt::format("{}, {}", to_text(seconds(report.duration_s)), exit_words(report)));
  if (report.mean_watts || report.peak_watts)
    add("Power", fmt::format("{} mean, {} peak", or_missing(report.mean_watts), or_missing(report.peak_watts)));
  else
    add("Power", "missing: " + power_reason(report));
  if (report.baseline) add("Idle", baseline_words(*report.baseline, report.energy));
  for (const ReportPowerLimit& limit : report.power_limits) add("Limit", power_limit_label(limit) + " " + power_limit_words(limit));
  if (report.steps.count > 0) add("Steps", steps_words(report.steps));
  if (const std::string straggler = straggler_words(report); !straggler.empty()) add("Straggler", straggler);
  for (const ReportWork& work : report.work) {
    const std::string rate = rate_words(work);
    add("Work", work_words(work) + (rate.empty() ? "" : "; " + rate));
  }
  for (const ReportKpi& kpi : report.kpis) add("Result", kpi_words(kpi) + (kpi.joules_per_point ? "; " + gain_words(kpi) : ""));
  if (report.carbon) add("Carbon", carbon_words(*report.carbon));
  if (report.cost) add("Cost", cost_words(*report.cost));
  return out;
}

}  // namespace

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (std::string_view("\\`*_[]|~#$").find(c) != std::string_view::npos)
      (out += '\\') += c;
    else
      out += c;
  }
  return out;
}

std::string report_markdown(const Report& report) {
  std::string out = fmt::format("### Energy: {}\n\n", markdown_text(headline(report)));
  if (const std::string interval = interval_words(report); !interval.empty())
    out += fmt::format("{}; {}.\n\n", interval, known_words(report));
  out += code_block(command_words(report.command)) + "\n" + figures(report);
  out += components_table(report) + hosts_table(report) + layers_table(report) + phases_table(report);
  std::string lines;
  for (const Note& note : notes(report)) lines += fmt::format("- {}{}\n", note.warning ? "⚠ " : "", markdown_text(note.text));
  if (!lines.empty()) out += "\n" + lines;
  return out + processes_table(report);
}

}  // namespace joulery
