#include "publish/prometheus_text.h"

#include <algorithm>
#include <charconv>

#include "publish/utf8.h"

namespace joulery {
namespace {

// HELP text of Prometheus keeps its quotes; label values, and HELP of OpenMetrics, escape them.
void add_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : valid_utf8(text)) {
    if (c == '\\' || (c == '"' && quotes))
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
}

void add_line(std::string& out, std::string_view keyword, std::string_view family, std::string_view text, bool escape_quotes) {
  ((((out += "# ") += keyword) += ' ') += family) += ' ';
  add_escaped(out, text, escape_quotes);
  out += '\n';
}

void add_sample(std::string& out, const std::string& name, const MetricSample& sample) {
  out += name;
  char before = '{';
  for (const auto& [label, value] : sample.labels) {
    ((out += before) += label) += "=\"";
    add_escaped(out, value, true);
    out += '"';
    before = ',';
  }
  if (!sample.labels.empty()) out += '}';
  ((out += ' ') += sample.value.text()) += '\n';
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// Takes what stands before `mark` off the front of `text`.
std::string_view take(std::string_view& text, char mark) {
  const auto end = text.find(mark);
  const std::string_view front = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return trimmed(front);
}

struct MediaRange {
  std::string type, version;
  double weight = 1;
};

MediaRange parse_range(std::string_view text) {
  MediaRange range;
  range.type = lower(take(text, ';'));
  while (!text.empty()) {
    std::string_view value = take(text, ';');
    const std::string name = lower(take(value, '='));
    if (name == "version") range.version = value;
    if (name != "q") continue;
    double weight = 0;  // what is no number is not wanted
    std::from_chars(value.data(), value.data() + value.size(), weight);
    range.weight = weight >= 0 && weight <= 1 ? weight : 0;
  }
  return range;
}

}  // namespace

ScrapeFormat scrape_format(std::string_view accept) {
  double openmetrics = 0, plain = 0;
  while (!accept.empty()) {
    const MediaRange range = parse_range(take(accept, ','));
    const bool ours = range.version.empty() || range.version == "1.0.0" || range.version == "0.0.1";
    if (range.type == "application/openmetrics-text" && ours) openmetrics = std::max(openmetrics, range.weight);
    if (range.type == "text/plain") plain = std::max(plain, range.weight);
  }
  return openmetrics > 0 && openmetrics >= plain ? ScrapeFormat::openmetrics : ScrapeFormat::prometheus;
}

std::string_view content_type(ScrapeFormat format) {
  return format == ScrapeFormat::openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                             : "text/plain; version=0.0.4; charset=utf-8";
}

std::string scrape_text(const std::vector<MetricFamily>& families, ScrapeFormat format) {
  const bool open = format == ScrapeFormat::openmetrics;
  constexpr std::string_view total = "_total";  // OpenMetrics names the family without it
  std::string out;
  for (const MetricFamily& family : families) {
    std::string_view name = family.name;
    if (open && family.type == MetricType::counter && name.ends_with(total)) name.remove_suffix(total.size());
    add_line(out, "HELP", name, family.help, open);
    add_line(out, "TYPE", name, family.type == MetricType::counter ? "counter" : "gauge", open);
    if (open && !family.unit.empty()) add_line(out, "UNIT", name, family.unit, open);
    for (const MetricSample& sample : family.samples) add_sample(out, family.name, sample);
  }
  if (open) out += "# EOF\n";
  return out;
}

}  // namespace joulery
