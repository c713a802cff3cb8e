#include "publish/layers_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "publish/columns.h"
#include "publish/layers.h"
#include "publish/numbers.h"
#include "publish/phrases.h"
#include "publish/text.h"
#include "publish/utf8.h"

namespace joulery {
namespace {

constexpr std::size_t most_parts = 12;  // of a layer; all are in the JSON

std::string with_interval(const std::optional<Estimate>& joules, const std::string& words) {
  if (!joules) return words;
  return fmt::format("{} to {}{}{}", to_text(joules->low), to_text(joules->high), words.empty() ? "" : "; ", words);
}

TableRow row_of(std::string name, const std::optional<Estimate>& joules, const std::optional<double>& share, const std::string& words) {
  TableRow row{.name = std::move(name), .energy = joules ? to_text(joules->value) : "missing"};
  if (share) row.share = percent(*share), row.bar = share;
  row.words = with_interval(joules, words);
  row.missing = !joules;
  return row;
}

void add_layer(const ReportLayer& layer, double duration_s, std::vector<TableRow>& rows) {
  if (rows.size() > 1) rows.push_back({.heading = true});
  rows.push_back(row_of(printable(layer.label), layer.joules, std::nullopt, layer_words(layer, duration_s)));
  rows.back().ink = layer.joules ? Ink::plain : Ink::bad;
  const std::size_t shown = std::min(most_parts, layer.parts.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const ReportLayerPart& part = layer.parts[i];
    rows.push_back(row_of("  " + printable(part.label), part.joules, part.share, part_words(part)));
  }
  if (shown < layer.parts.size()) rows.push_back({.name = fmt::format("  and {} more", layer.parts.size() - shown), .dim = true});
  if (!layer.joules) return;
  rows.push_back(row_of("  not told apart", layer.residual.joules, layer.residual.share, residual_words(layer)));
  if (layer.residual.joules && layer.residual.joules->value < Energy{}) rows.back().ink = Ink::poor;
}

std::string delay_lines(const Report& report, const TextStyle& style) {
  std::string out;
  for (const ReportDelay& delay : report.delays) out += labelled("Delay", delay_words(delay), style);
  return out;
}

std::string table_of(const Report& report, bool missing_too, const TextStyle& style) {
  std::vector<TableRow> rows{{.heading = true, .name = "Layer", .energy = "energy", .share = "share", .words = "90 % between; known by"}};
  for (const ReportLayer& layer : report.layers)
    if (missing_too || layer.joules) add_layer(layer, report.duration_s, rows);
  return table_text(rows, style) + delay_lines(report, style);
}

}  // namespace

std::string layers_text(const Report& report, const TextStyle& style) {
  Report upper = report;  // the summary tells the processes by themselves
  std::erase_if(upper.layers, [](const ReportLayer& layer) { return layer.name == "workloads"; });
  return table_of(upper, false, style);
}

std::string ledger_text(const Report& report, const TextStyle& asked) {
  TextStyle style = asked;
  style.width = std::max(40, style.width);
  return title_line(command_words(report.command), exit_words(report), report.exit_code == 0 ? Ink::good : Ink::bad, style) + "\n" +
         table_of(report, true, style) +
         labelled("Counted", fmt::format("{}, up to the {}", headline(report), report.energy.boundary), style);
}

}  // namespace joulery
