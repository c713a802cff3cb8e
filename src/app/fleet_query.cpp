#include "app/fleet_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace joulery {
namespace {

constexpr Duration look_back = milliseconds(86'400'000);       // for the value at the beginning, and for nodes that sent before
constexpr Duration fresh = milliseconds(300'000);              // a node whose last sample is older has fallen silent
constexpr Duration least_step = milliseconds(120'000);         // of the look for gaps: longer than two push intervals
constexpr std::int64_t most_steps = 500;

using ValueOf = std::map<SeriesLabels, double>;

class Asking {
 public:
  Asking(PromEndpoint& engine, const FleetQuestion& question)
      : engine_(engine), question_(question), window_(question.to - question.from) {}

  Result<std::vector<SeriesRise>> rises(const std::string& metric, const std::string& matcher = "");
  Result<std::vector<NodeGap>> gaps();

 private:
  std::string selector(const std::string& metric, const std::string& matcher) const;
  Result<ValueOf> values(const std::string& query, WallTime at);
  Result<std::map<std::string, double>> by_node(const std::string& query, WallTime at);
  Result<std::map<SeriesLabels, std::vector<CounterSample>>> raw(const std::string& series);
  Result<void> correct(const std::string& metric, const std::string& matcher, const ValueOf& before, const std::set<std::string>& nodes,
                       std::vector<SeriesRise>& rises);

  PromEndpoint& engine_;
  const FleetQuestion& question_;
  Duration window_;
};

std::string Asking::selector(const std::string& metric, const std::string& matcher) const {
  std::string inner = matcher;
  for (const auto& [label, value] : question_.where) inner += fmt::format("{}{}={}", inner.empty() ? "" : ",", label, promql_quoted(value));
  return metric + "{" + inner + "}";
}

Result<ValueOf> Asking::values(const std::string& query, WallTime at) {
  const auto series = engine_.ask(query, at);
  if (!series) return std::unexpected(series.error());
  ValueOf values;
  for (const PromSeries& one : *series) values[one.labels] = one.samples.back().value;
  return values;
}

std::string label_of(const SeriesLabels& labels, const std::string& name) {
  const auto found = labels.find(name);
  return found == labels.end() ? std::string() : found->second;
}

Result<std::map<std::string, double>> Asking::by_node(const std::string& query, WallTime at) {
  const auto found = values(query, at);
  if (!found) return std::unexpected(found.error());
  std::map<std::string, double> nodes;
  for (const auto& [labels, value] : *found) nodes[label_of(labels, question_.node_label)] = value;
  return nodes;
}

Result<std::vector<SeriesRise>> Asking::rises(const std::string& metric, const std::string& matcher) {
  const std::string series = selector(metric, matcher), window = promql_duration(window_);
  const auto before = values(fmt::format("last_over_time({}[{}])", series, promql_duration(look_back)), question_.from);
  if (!before) return std::unexpected(before.error());
  const auto last = values(fmt::format("last_over_time({}[{}])", series, window), question_.to);
  if (!last) return std::unexpected(last.error());
  const auto falls = values(fmt::format("resets({}[{}])", series, window), question_.to);
  if (!falls) return std::unexpected(falls.error());
  const auto least = values(fmt::format("min_over_time({}[{}])", series, window), question_.to);
  if (!least) return std::unexpected(least.error());
  std::vector<SeriesRise> rises;
  std::set<std::string> restarted;
  for (const auto& [labels, value] : *last) {
    const auto start = before->find(labels);
    const auto fell = falls->find(labels), lowest = least->find(labels);
    const double base = start == before->end() ? 0 : start->second;
    const bool anew = (fell != falls->end() && fell->second > 0) || (lowest != least->end() && lowest->second < base);
    if (anew) restarted.insert(label_of(labels, question_.node_label));
    const CounterSample sample{question_.to.ns / 1'000'000, value};
    rises.push_back({labels, rise_of(base, {&sample, 1})});
  }
  if (const auto done = correct(metric, matcher, *before, restarted, rises); !done) return std::unexpected(done.error());
  return rises;
}

// All samples of a selector in the time, a day at a time: an answer must not grow without end.
Result<std::map<SeriesLabels, std::vector<CounterSample>>> Asking::raw(const std::string& series) {
  std::map<SeriesLabels, std::vector<CounterSample>> all;
  for (WallTime begin = question_.from; begin < question_.to;) {
    const WallTime end = std::min(question_.to, begin + look_back);
    const auto part = engine_.ask(fmt::format("{}[{}]", series, promql_duration(end - begin)), end);
    if (!part) return std::unexpected(part.error());
    for (const PromSeries& one : *part)
      for (const CounterSample& sample : one.samples)
        if (sample.ms > begin.ns / 1'000'000) all[one.labels].push_back(sample);
    begin = end;
  }
  return all;
}

// Nodes whose counters began anew: from their raw samples.
Result<void> Asking::correct(const std::string& metric, const std::string& matcher, const ValueOf& before,
                             const std::set<std::string>& nodes, std::vector<SeriesRise>& rises) {
  std::map<SeriesLabels, std::size_t> place;
  for (std::size_t i = 0; i < rises.size() && !nodes.empty(); ++i) place[rises[i].labels] = i;
  for (const std::string& node : nodes) {
    const std::string of_node = fmt::format("{}{}{}={}", matcher, matcher.empty() ? "" : ",", question_.node_label, promql_quoted(node));
    const auto samples = raw(selector(metric, of_node));
    if (!samples) return std::unexpected(samples.error());
    for (const auto& [labels, series] : *samples) {
      const auto at = place.find(labels);
      if (at == place.end()) continue;
      const auto start = before.find(labels);
      rises[at->second].micro = rise_of(start == before.end() ? std::nullopt : std::optional(start->second), series);
    }
  }
  return {};
}

// Silent steps in the middle of the time, at its end, and nodes that are missing altogether.
Result<std::vector<NodeGap>> Asking::gaps() {
  const std::string energy = selector("joulery_component_joules_total", "");
  const auto present = [&](Duration time) {
    return fmt::format("count by ({}) (present_over_time({}[{}]))", question_.node_label, energy, promql_duration(time));
  };
  const auto before = by_node(present(look_back), question_.from), during = by_node(present(window_), question_.to);
  if (!before) return std::unexpected(before.error());
  if (!during) return std::unexpected(during.error());
  const Duration end = std::min(fresh, window_);
  const auto lately = by_node(present(end), question_.to);
  if (!lately) return std::unexpected(lately.error());
  const Duration step = std::max(least_step, nanoseconds(window_.base_units() / most_steps));
  const auto seen =
      by_node(fmt::format("count_over_time(({})[{}:{}])", present(step), promql_duration(window_), promql_duration(step)), question_.to);
  if (!seen) return std::unexpected(seen.error());
  const std::int64_t steps = window_.base_units() / step.base_units();
  std::vector<NodeGap> gaps;
  for (const auto& [node, count] : *before)
    if (!during->contains(node)) gaps.push_back({node, window_, true, true});
  for (const auto& [node, count] : *during) {
    const auto found = seen->find(node);
    const std::int64_t silent = steps - (found == seen->end() ? 0 : std::llround(found->second));
    const bool at_end = !lately->contains(node);
    if (silent >= 2 || at_end)
      gaps.push_back({node, std::max(at_end ? end : Duration{}, nanoseconds(silent * step.base_units())), false, at_end});
  }
  return gaps;
}

}  // namespace

Result<FleetFacts> ask_fleet(PromEndpoint& engine, const FleetQuestion& question) {
  Asking asking(engine, question);
  FleetFacts facts;
  facts.from = question.from;
  facts.to = question.to;
  facts.source = engine.url();
  auto components = asking.rises("joulery_component_joules_total");
  if (!components) return std::unexpected(components.error());
  facts.components = *std::move(components);
  std::vector<std::string> kinds = question.kinds;
  kinds.insert(kinds.end(), {"idle", "unattributed"});
  for (const std::string& kind : kinds) {
    auto rises = asking.rises("joulery_consumer_joules_total", "kind=" + promql_quoted(kind));
    if (!rises) return std::unexpected(rises.error());
    facts.kinds[kind] = *std::move(rises);
  }
  auto missing = asking.rises("joulery_missing_seconds_total");
  if (!missing) return std::unexpected(missing.error());
  facts.missing_readings = *std::move(missing);
  auto gaps = asking.gaps();
  if (!gaps) return std::unexpected(gaps.error());
  facts.gaps = *std::move(gaps);
  if (facts.components.empty() && facts.gaps.empty())
    return fail(ErrorCode::not_found, "the engine has no joules of any node in this time", engine.url(),
                "nodes send theirs where [agent.push.NAME] is set: joulery config keys");
  return facts;
}

}  // namespace joulery
