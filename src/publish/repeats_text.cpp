#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "publish/columns.h"
#include "publish/numbers.h"
#include "publish/phrases.h"
#include "publish/repeats.h"
#include "publish/text.h"
#include "publish/utf8.h"

namespace joulery {
namespace {

constexpr std::size_t most_runs = 20;

std::string joules_text(double value) { return to_text(joules(value)); }
std::string seconds_text(double value) { return to_text(seconds(value)); }
std::string watts_text(double value) { return to_text(watts(value)); }

// "10.0 %" of the mean, "" where there is no deviation or no mean to divide by.
std::string relative(const Spread& spread) { return spread.deviation && *spread.mean > 0 ? percent(*spread.deviation / *spread.mean) : ""; }

std::string range_words(const Spread& spread, std::string (*text)(double)) {
  std::string words = fmt::format("{} to {}", text(*spread.least), text(*spread.greatest));
  if (spread.missing > 0) words += fmt::format(", missing in {}", counted(spread.missing, "run"));
  return words;
}

std::string spread_words(const Spread& spread, std::string (*text)(double)) {
  if (!spread.mean) return "missing: no run has this figure";
  std::string words = text(*spread.mean);
  if (spread.deviation) words += fmt::format(" ± {}", text(*spread.deviation));
  if (const std::string part = relative(spread); !part.empty()) words += fmt::format(" ({})", part);
  return words + ", " + range_words(spread, text);
}

TableRow component_row(const RepeatedComponent& c, const Repeats& repeats) {
  TableRow row{.name = printable(c.label.empty() ? c.path : c.label), .dim = c.overlap};
  row.missing = !c.joules.mean;
  row.energy = row.missing ? "missing" : joules_text(*c.joules.mean);
  row.words = row.missing ? "no run has this figure" : range_words(c.joules, joules_text);
  row.watts = relative(c.joules);
  const bool comparable = !c.overlap && c.joules.count == repeats.joules.count;  // else the means are over different runs
  if (!row.missing && comparable && *repeats.joules.mean > 0) row.bar = *c.joules.mean / *repeats.joules.mean;
  if (row.bar) row.share = percent(*row.bar);
  return row;
}

TableRow run_row(const Report& run, std::size_t number) {
  TableRow row{.name = fmt::format("run {}", number)};
  row.missing = !run.energy.joules;
  row.energy = row.missing ? "missing" : to_text(run.energy.joules->value);
  const std::string state = run.exit_code == 0 ? "" : ", " + exit_words(run);
  row.words = seconds_text(run.duration_s) + state + (run.energy.partial ? ", partial" : "");
  return row;
}

std::vector<TableRow> table_rows(std::span<const Report> runs, const Repeats& repeats) {
  std::vector<TableRow> rows;
  rows.push_back({.heading = true, .name = "Component", .energy = "mean", .share = "share", .watts = "±", .words = "range"});
  for (const bool overlap : {false, true})
    for (const RepeatedComponent& c : repeats.components)
      if (c.overlap == overlap) rows.push_back(component_row(c, repeats));
  rows.push_back({.heading = true});
  rows.push_back({.heading = true, .name = "Run", .energy = "energy", .words = "time"});
  const std::size_t shown = std::min(most_runs, runs.size());
  for (std::size_t i = 0; i < shown; ++i) rows.push_back(run_row(runs[i], i + 1));
  return rows;
}

// Each note once, with the number of runs that have it.
std::string note_lines(std::span<const Report> runs, const TextStyle& style) {
  std::vector<std::pair<Note, std::int64_t>> all;
  for (const Report& run : runs)
    for (const Note& note : notes(run)) {
      const auto at = std::find_if(all.begin(), all.end(), [&](const auto& n) { return n.first.text == note.text; });
      if (at == all.end())
        all.emplace_back(note, 1);
      else
        ++at->second;
    }
  std::stable_partition(all.begin(), all.end(), [](const auto& n) { return n.first.warning; });
  std::string out;
  for (const auto& [note, count] : all) {
    const bool everywhere = count == static_cast<std::int64_t>(runs.size());
    out += note_text({note.warning, everywhere ? note.text : fmt::format("{} ({} of {} runs)", note.text, count, runs.size())}, style);
  }
  return out.empty() ? out : "\n" + out;
}

}  // namespace

std::string repeats_text(std::span<const Report> runs, const TextStyle& asked) {
  TextStyle style = asked;
  style.width = std::max(40, style.width);
  const Repeats repeats = summarise(runs);
  std::string right = counted(repeats.runs, "run");
  if (repeats.failed > 0) right += fmt::format(", {} failed", repeats.failed);
  std::string out = title_line(command_words(repeats.command), right, repeats.failed ? Ink::bad : Ink::good, style) + "\n";
  out += labelled("Energy", (repeats.partial ? "at least " : "") + spread_words(repeats.joules, joules_text), style, Ink::strong);
  out += labelled("Time", spread_words(repeats.seconds, seconds_text), style);
  out += labelled("Power", spread_words(repeats.watts, watts_text), style);
  for (const RepeatedWork& work : repeats.work)
    out += labelled("Work", fmt::format("per {}: {}", printable(work.unit), spread_words(work.joules_per_unit, joules_text)), style);
  out += "\n" + table_text(table_rows(runs, repeats), style);
  if (runs.size() > most_runs) out += fmt::format("  and {}\n", counted(static_cast<std::int64_t>(runs.size() - most_runs), "more run"));
  return out + note_lines(runs, style);
}

}  // namespace joulery
