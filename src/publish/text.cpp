#include "publish/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "core/units.h"
#include "publish/columns.h"
#include "publish/hosts.h"
#include "publish/layers.h"
#include "publish/layers_text.h"
#include "publish/numbers.h"
#include "publish/phrases.h"
#include "publish/reasons.h"
#include "publish/utf8.h"

namespace joulery {
namespace {

constexpr std::size_t most_processes = 5;

Ink ink_of(Quality quality) {
  static constexpr Ink inks[] = {Ink::good, Ink::good, Ink::fair, Ink::poor, Ink::bad};
  return inks[static_cast<std::size_t>(quality)];
}

void add_heading(std::vector<TableRow>& rows, std::string name, std::string words = {}, std::string watts_title = {},
                 std::string peak = {}) {
  if (!rows.empty()) rows.push_back({.heading = true});
  rows.push_back({.heading = true,
                  .name = std::move(name),
                  .energy = "energy",
                  .share = "share",
                  .watts = std::move(watts_title),
                  .peak = std::move(peak),
                  .words = std::move(words)});
}

TableRow component_row(const ReportComponent& c) {
  TableRow row{.name = printable(c.label.empty() ? c.path : c.label), .dim = c.overlap};
  const bool known = c.joules && c.quality != Quality::missing;
  row.energy = known ? to_text(c.joules->value) : "missing";
  row.ink = ink_of(known ? c.quality : Quality::missing);
  row.missing = !known;
  if (!known) {
    row.words = printable(reason_of(c)) + (c.meter.empty() ? "" : " (" + printable(c.meter) + ")");
    return row;
  }
  if (c.share) row.share = percent(*c.share);
  row.bar = c.share;
  row.watts = or_missing(c.mean_watts);
  row.peak = or_missing(c.peak_watts);
  row.words = std::string(name_of(c.quality)) + (c.meter.empty() ? "" : ", " + printable(c.meter));
  return row;
}

void add_components(const Report& report, std::vector<TableRow>& rows) {
  if (report.components.empty()) return;
  add_heading(rows, "Component", "known by", "mean", "peak");
  for (const ReportComponent& c : report.components)
    if (!c.overlap) rows.push_back(component_row(c));
  const auto is_overlap = [](const ReportComponent& c) { return c.overlap && !is_wall(c); };
  if (std::none_of(report.components.begin(), report.components.end(), is_overlap)) return;
  rows.push_back({.heading = true});
  rows.push_back({.name = "of which", .dim = true});
  for (const ReportComponent& c : report.components)
    if (is_overlap(c)) rows.push_back(component_row(c));
}

std::optional<double> share_of(const std::optional<Energy>& part, const Report& report) {
  if (!part || !report.energy.joules || report.energy.joules->value <= Energy{}) return std::nullopt;
  return *part / report.energy.joules->value;
}

void add_phases(const Report& report, std::vector<TableRow>& rows) {
  if (report.phases.empty()) return;
  add_heading(rows, "Phase", "time", "mean");
  for (const ReportPhase& phase : report.phases) {
    TableRow row{.name = printable(phase.name), .energy = or_missing(phase.joules)};
    row.missing = !phase.joules;
    if (row.missing)
      row.words = fmt::format("{} ({})", printable(reason_of(phase)), to_text(seconds(phase.seconds)));
    else
      row.words = to_text(seconds(phase.seconds));
    row.bar = share_of(phase.joules, report);
    if (row.bar) row.share = percent(*row.bar);
    if (phase.joules && phase.seconds > 0) row.watts = to_text(watts(to_joules(*phase.joules) / phase.seconds));
    rows.push_back(std::move(row));
  }
}

void add_hosts(const Report& report, std::vector<TableRow>& rows) {
  if (report.hosts.empty()) return;
  add_heading(rows, "Host", "known by", "mean");
  for (const ReportHost& host : report.hosts) {
    TableRow row{.name = printable(host.name), .energy = host.joules ? to_text(host.joules->value) : "missing"};
    row.missing = !host.joules;
    row.bar = host.share;
    if (host.share) row.share = percent(*host.share);
    if (host.joules) row.watts = or_missing(host.mean_watts);
    row.words = printable(host_words(host, &host == report.hosts.data()));
    row.ink = ink_of(host.joules ? host.quality : Quality::missing);
    rows.push_back(std::move(row));
  }
}

constexpr std::size_t most_ranks = 16;

// Where there are many: those for whom the others waited longest.
void add_ranks(const Report& report, std::vector<TableRow>& rows) {
  if (report.ranks.empty()) return;
  std::vector<ReportRank> shown = report.ranks;
  if (shown.size() > most_ranks) {
    std::ranges::stable_sort(shown, std::ranges::greater{}, &ReportRank::waited_for_s);
    shown.resize(most_ranks);
  }
  add_heading(rows, "Rank", "steps");
  for (const ReportRank& rank : shown) {
    TableRow row{.name = printable(rank_name(rank)), .energy = or_missing(rank.joules)};
    row.missing = !rank.joules;
    row.bar = rank.share;
    if (rank.share) row.share = percent(*rank.share);
    row.words = rank_words(rank);
    rows.push_back(std::move(row));
  }
  if (shown.size() < report.ranks.size())
    rows.push_back(
        {.name = fmt::format("{} others", grouped(static_cast<std::int64_t>(report.ranks.size() - shown.size()))), .energy = ""});
}

TableRow process_row(const ReportProcess& p) {
  TableRow row{.name = printable(process_words(p)), .energy = or_missing(p.joules)};
  row.missing = !p.joules;
  if (row.missing)
    row.words = fmt::format("{} (CPU {})", printable(reason_of(p)), to_text(seconds(p.cpu_s)));
  else
    row.words = to_text(seconds(p.cpu_s));
  if (p.share) row.share = percent(*p.share);
  row.bar = p.share;
  return row;
}

// The rest beyond the top few in one row; its joules are missing where one of them is.
TableRow other_processes(std::span<const ReportProcess> others) {
  ReportProcess sum;
  sum.joules = Energy{};
  sum.share = 0;
  for (const ReportProcess& p : others) {
    sum.cpu_s += p.cpu_s;
    if (p.joules && sum.joules)
      *sum.joules += *p.joules;
    else
      sum.joules.reset();
    if (p.share && sum.share)
      *sum.share += *p.share;
    else
      sum.share.reset();
  }
  TableRow row = process_row(sum);
  row.name = others.size() == 1 ? "1 other" : fmt::format("{} others", grouped(static_cast<std::int64_t>(others.size())));
  return row;
}

void add_processes(const Report& report, std::vector<TableRow>& rows) {
  if (report.processes.empty()) return;
  add_heading(rows, "Process", "CPU time");
  const std::size_t shown =
      report.processes.size() == most_processes + 1 ? report.processes.size() : std::min(most_processes, report.processes.size());
  std::vector<ReportProcess> sorted = report.processes;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::pair(a.joules.value_or(Energy{}), a.cpu_s) > std::pair(b.joules.value_or(Energy{}), b.cpu_s);
  });
  for (std::size_t i = 0; i < shown; ++i) rows.push_back(process_row(sorted[i]));
  if (shown < sorted.size()) rows.push_back(other_processes(std::span(sorted).subspan(shown)));
}

std::string totals(const Report& report, const TextStyle& style) {
  const Ink ink = report.energy.joules ? Ink::strong : Ink::bad;
  std::string energy = headline(report);
  std::string out;
  if (const std::string interval = interval_words(report); !interval.empty()) {
    out = labelled("Energy", energy, style, ink);
    out += labelled("", interval + "; " + known_words(report), style);
  } else {
    out = labelled("Energy", energy, style, ink);
  }
  std::string time = to_text(seconds(report.duration_s));
  if (!report.begin.empty()) time += ", begun " + printable(report.begin);
  out += labelled("Time", time, style);
  if (report.mean_watts || report.peak_watts)
    out += labelled("Power", fmt::format("{} mean, {} peak", or_missing(report.mean_watts), or_missing(report.peak_watts)), style);
  else
    out += labelled("Power", "missing: " + printable(power_reason(report)), style);
  if (report.baseline) out += labelled("Idle", baseline_words(*report.baseline, report.energy), style);
  for (const ReportPowerLimit& limit : report.power_limits)
    out += labelled("Limit", printable(power_limit_label(limit)) + " " + power_limit_words(limit), style);
  return out;
}

std::string results(const Report& report, const TextStyle& style) {
  std::string out;
  if (report.steps.count > 0) out += labelled("Steps", steps_words(report.steps), style);
  if (const std::string straggler = straggler_words(report); !straggler.empty()) out += labelled("Straggler", printable(straggler), style);
  for (const ReportWork& work : report.work) {
    out += labelled("Work", work_words(work), style);
    if (const std::string rate = rate_words(work); !rate.empty()) out += labelled("", rate, style);
  }
  for (const ReportKpi& kpi : report.kpis) {
    out += labelled("Result", kpi_words(kpi), style);
    if (kpi.joules_per_point) out += labelled("", gain_words(kpi), style);
  }
  if (report.carbon) out += labelled("Carbon", carbon_words(*report.carbon), style);
  if (report.cost) out += labelled("Cost", cost_words(*report.cost), style);
  return out.empty() ? out : "\n" + out;
}

std::string note_lines(const Report& report, const TextStyle& style) {
  std::string out;
  for (const Note& note : notes(report)) out += note_text(note, style);
  return out.empty() ? out : "\n" + out;
}

}  // namespace

std::string note_text(const Note& note, const TextStyle& style) {
  const Ink ink = note.warning ? Ink::poor : Ink::dim;
  std::string mark = note.warning ? "! " : style.unicode ? "· " : "- ";
  std::string out;
  for (const std::string& line : wrapped(printable(note.text, style.unicode), style.width - 4)) {
    out += "  " + painted(mark, ink, style) + painted(line, ink, style) + "\n";
    mark = "  ";
  }
  return out;
}

std::string title_line(std::string_view title, std::string_view right, Ink right_ink, const TextStyle& style) {
  const std::string_view rule = style.unicode ? "─" : "-";
  std::string out;
  const int fixed = 2 + 1 + 7 + 1 + (right.empty() ? 0 : display_width(right) + 2);
  const std::string shown = clipped(printable(title, style.unicode), std::max(1, style.width - fixed - 4), style.unicode);
  for (int i = 0; i < 2; ++i) out += painted(rule, Ink::dim, style);
  out += " " + painted("joulery", Ink::accent, style) + " " + painted(shown, Ink::strong, style) + " ";
  const int fill = style.width - fixed - display_width(shown) - 1;
  std::string line;
  for (int i = 0; i < fill; ++i) line += rule;
  out += painted(line, Ink::dim, style);
  if (!right.empty()) out += " " + painted(right, right_ink, style);
  return out + "\n";
}

std::string report_text(const Report& report, const TextStyle& asked) {
  TextStyle style = asked;
  style.width = std::max(40, style.width);
  std::vector<TableRow> rows;
  add_components(report, rows);
  add_hosts(report, rows);
  add_phases(report, rows);
  add_ranks(report, rows);
  add_processes(report, rows);
  const Ink exit_ink = report.exit_code == 0 ? Ink::good : Ink::bad;
  std::string out = title_line(command_words(report.command), exit_words(report), exit_ink, style);
  out += "\n" + totals(report, style);
  if (!rows.empty()) out += "\n" + table_text(rows, style);
  if (tells_layers(report)) out += "\n" + layers_text(report, style);
  out += results(report, style) + note_lines(report, style);
  return out;
}

}  // namespace joulery
