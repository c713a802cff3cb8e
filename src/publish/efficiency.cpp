#include "publish/efficiency.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/units.h"
#include "publish/columns.h"
#include "publish/html_style.h"
#include "publish/html_text.h"
#include "publish/json_writer.h"
#include "publish/numbers.h"
#include "publish/utf8.h"

namespace joulery {
namespace {

using Line = std::pair<std::string, std::string>;

std::string bytes_text(std::int64_t bytes) { return fmt::format("{} MiB", compact(static_cast<double>(bytes) / 1048576)); }

std::string device_name(const EfficiencyDevice& d) { return d.device < 0 ? "Host" : fmt::format("Device {}", d.device); }

std::string device_words(const EfficiencyDevice& d) {
  std::string words = (d.name.empty() ? "" : printable(d.name) + ": ") + "busy " + percent(d.busy);
  if (d.energy) words += ", " + to_text(*d.energy);
  if (d.occupancy) words += ", occupancy " + percent(*d.occupancy);
  if (d.peak_used) words += ", memory used " + bytes_text(*d.peak_used);
  if (d.peak_reserved) words += " of " + bytes_text(*d.peak_reserved) + " reserved";
  return words;
}

std::vector<Line> figures(const Efficiency& r) {
  std::vector<Line> lines{{"Time", to_text(r.length)}, {"Energy", or_missing(r.energy)}};
  if (r.steps > 0) lines.emplace_back("Steps", grouped(r.steps));
  if (r.steps_per_second) lines.emplace_back("Rate", compact(*r.steps_per_second) + " steps/s");
  if (r.samples_per_second) lines.emplace_back("Samples", compact(*r.samples_per_second) + " per second");
  if (r.joules_per_step) lines.emplace_back("A step", to_text(joules(*r.joules_per_step)));
  if (r.joules_per_sample) lines.emplace_back("A sample", to_text(joules(*r.joules_per_sample)));
  if (r.launch_per_kernel) lines.emplace_back("Launch", to_text(*r.launch_per_kernel) + " of runtime calls per kernel");
  if (r.start_up) lines.emplace_back("Start-up", to_text(*r.start_up) + " in one-off runtime calls");
  if (r.gap_per_step) lines.emplace_back("Gaps", to_text(*r.gap_per_step) + " of idle accelerator per step");
  if (r.input_stalled) lines.emplace_back("Input", percent(*r.input_stalled) + " of the time waited for");
  return lines;
}

std::string stake(const EfficiencyFinding& f) { return f.at_stake ? "up to " + to_text(*f.at_stake) : "joules missing"; }

void optional_number(JsonWriter& json, std::string_view key, const std::optional<double>& value) { json.key(key).number(value); }

std::optional<double> in_seconds(const std::optional<Duration>& d) { return d ? std::optional(to_seconds(*d)) : std::nullopt; }

// Each group once.
std::vector<std::string> groups_of(const Efficiency& r) {
  std::vector<std::string> groups;
  for (const EfficiencyShare& share : r.operators)
    if (!share.merged.empty() && std::ranges::find(groups, share.merged) == groups.end()) groups.push_back(share.merged);
  return groups;
}

}  // namespace

std::string efficiency_text(const Efficiency& r, const TextStyle& style) {
  std::string out;
  for (const auto& [label, words] : figures(r)) out += labelled(label, words, style);
  for (const EfficiencyDevice& device : r.devices) out += labelled(device_name(device), device_words(device), style);
  out += "\n  Findings\n";
  if (r.findings.empty()) out += "  none that costs 2 % of the time or more\n";
  for (const EfficiencyFinding& f : r.findings) {
    out += labelled("-", printable(fmt::format("{}: {} ({})", f.what, stake(f), f.evidence), style.unicode), style, Ink::strong);
    out += labelled("", printable(f.advice, style.unicode), style);
  }
  out += r.energy ? "\n  Energy by operator\n" : "\n  Time by operator\n";
  for (const EfficiencyShare& share : r.operators)
    out += fmt::format(
        "  {} {:>7}  {}\n", padded(share.energy ? to_text(*share.energy) : to_text(share.time), 10, true),
        share.share ? percent(*share.share) : "",
        clipped(printable(share.name, style.unicode), std::max(10, style.width - (share.merged.empty() ? 23 : 41)), style.unicode) +
            (share.merged.empty() ? "" : "  (not told apart)"));
  for (const std::string& group : groups_of(r))
    out += labelled("note", printable("cannot be told apart, only their sum is known well: " + group, style.unicode), style);
  for (const std::string& note : r.notes) out += labelled("note", printable(note, style.unicode), style);
  return out;
}

std::string efficiency_json(const Efficiency& r) {
  JsonWriter json;
  json.begin_object()
      .key("schema")
      .text("joulery.efficiency/1")
      .key("duration_s")
      .number(to_seconds(r.length))
      .key("joules")
      .energy(r.energy);
  json.key("steps").whole(r.steps);
  optional_number(json, "steps_per_second", r.steps_per_second);
  optional_number(json, "samples_per_second", r.samples_per_second);
  optional_number(json, "joules_per_step", r.joules_per_step);
  optional_number(json, "joules_per_sample", r.joules_per_sample);
  optional_number(json, "launch_s_per_kernel", in_seconds(r.launch_per_kernel));
  optional_number(json, "start_up_s", in_seconds(r.start_up));
  optional_number(json, "gap_s_per_step", in_seconds(r.gap_per_step));
  optional_number(json, "input_stalled", r.input_stalled);
  json.key("devices").begin_array();
  for (const EfficiencyDevice& d : r.devices) {
    json.begin_object().key("device").whole(d.device).key("name").text_or_null(d.name).key("busy").number(d.busy);
    optional_number(json, "occupancy", d.occupancy);
    json.key("peak_used_bytes");
    d.peak_used ? json.whole(*d.peak_used) : json.null();
    json.key("peak_reserved_bytes");
    d.peak_reserved ? json.whole(*d.peak_reserved) : json.null();
    json.key("joules").energy(d.energy).end_object();
  }
  json.end_array().key("operators").begin_array();
  for (const EfficiencyShare& s : r.operators) {
    json.begin_object().key("name").text(s.name).key("seconds").number(to_seconds(s.time)).key("joules").energy(s.energy);
    optional_number(json, "share", s.share);
    json.key("not_told_apart").text_or_null(s.merged);
    json.end_object();
  }
  json.end_array().key("findings").begin_array();
  for (const EfficiencyFinding& f : r.findings)
    json.begin_object()
        .key("what")
        .text(f.what)
        .key("evidence")
        .text(f.evidence)
        .key("advice")
        .text(f.advice)
        .key("seconds")
        .number(to_seconds(f.time))
        .key("joules_at_stake")
        .energy(f.at_stake)
        .end_object();
  json.end_array().key("notes").begin_array();
  for (const std::string& note : r.notes) json.text(note);
  json.end_array().end_object();
  return json.str() + "\n";
}

namespace {

constexpr int longest_name = 120;  // of a kernel with all its template arguments; the whole name shows where the pointer rests

std::string safe(std::string_view text) { return html_text(printable(text)); }

std::string bytes_or_nothing(const std::optional<std::int64_t>& bytes) { return bytes ? bytes_text(*bytes) : ""; }

std::string devices_table(const Efficiency& r) {
  std::string rows;
  for (const EfficiencyDevice& d : r.devices)
    rows += fmt::format(
        "<tr><th scope=\"row\">{}{}</th><td>{}</td><td>{}</td><td class=\"wide\">{}</td><td class=\"wide\">{}</td><td "
        "class=\"wide\">{}</td></tr>\n",
        device_name(d), d.name.empty() ? "" : " <small>" + safe(d.name) + "</small>", percent(d.busy), safe(or_missing(d.energy)),
        d.occupancy ? percent(*d.occupancy) : "", bytes_or_nothing(d.peak_used), bytes_or_nothing(d.peak_reserved));
  return "<h2>Devices</h2>\n<div class=\"scroll\"><table class=\"fold\"><caption>How long each was busy, what it burnt, and how full it "
         "was at "
         "most.</caption><thead><tr><th>device</th><th>busy</th><th>energy</th><th>occupancy</th><th>memory used</th><th>reserved</th>"
         "</tr></thead><tbody>\n" +
         rows + "</tbody></table></div>\n";
}

std::string operators_table(const Efficiency& r) {
  std::string rows;
  for (const EfficiencyShare& s : r.operators) {
    const std::string name = printable(s.name);
    rows += fmt::format(
        "<tr><th scope=\"row\"><code title=\"{}\">{}</code>{}</th><td>{}</td><td>{}</td><td class=\"bar wide\" aria-hidden=\"true\"><i "
        "style=\"width:{:.2f}%\"></i></td><td class=\"wide\">{}</td></tr>\n",
        html_text(name), html_text(clipped(name, longest_name)),
        s.merged.empty() ? "" : " <small>not told apart: " + safe(s.merged) + "</small>", safe(or_missing(s.energy)),
        s.share ? percent(*s.share) : "", std::clamp(s.share.value_or(0), 0.0, 1.0) * 100, safe(to_text(s.time)));
  }
  return fmt::format(
      "<h2>By operator</h2>\n<div class=\"scroll\"><table class=\"fold\"><caption>Those that cost the most, with their share of the "
      "{}.</caption><thead><tr><th>operator</th><th>energy</th><th>share</th><th></th><th>time</th></tr></thead><tbody>\n"
      "{}</tbody></table></div>\n",
      r.energy ? "energy" : "time", rows);
}

}  // namespace

std::string efficiency_html(const Efficiency& r, std::string_view trace) {
  std::string cards, findings, notes;
  for (const auto& [label, words] : figures(r)) cards += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", safe(label), safe(words));
  for (const EfficiencyFinding& f : r.findings)
    findings += fmt::format("<li class=\"warning\"><strong>{}</strong>: {} ({}). {}.</li>\n", safe(f.what), safe(stake(f)),
                            safe(f.evidence), safe(f.advice));
  if (findings.empty()) findings = "<li>none that costs 2 % of the time or more</li>\n";
  for (const std::string& note : r.notes) notes += fmt::format("<li>{}</li>\n", safe(note));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\">"
      "<title>Efficiency report: {}</title><style>{}</style></head><body>\n<header><div class=\"brand\">joulery</div><h1>Efficiency of "
      "<code>{}</code></h1></header>\n"
      "<dl class=\"cards\">\n{}</dl>\n<h2>Findings</h2>\n<ul class=\"notes\">{}</ul>\n{}{}<ul class=\"notes\">{}</ul></body></html>\n",
      safe(trace), html_style(), safe(trace), cards, findings, devices_table(r), operators_table(r), notes);
}

}  // namespace joulery
