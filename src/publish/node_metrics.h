// What a node has burnt, as families of metrics: the one list that /metrics, remote write and OTLP send.
//
// The number of lines is bounded: of each kind of consumer at most so many have lines of their own; all others, and those
// that have ended, stand together as "(other)". Who has a line is remembered from call to call, so each receiver needs one
// NodeMetrics for as long as the agent runs.
//
// Invariant: for every component and kind the joules of the kind's lines, of idle and of unattributed sum to the joules of
// the component, to the microjoule, and no line falls while it exists: a counter that falls without a reset would make a
// rate of its whole value. For both to hold, a consumer that gets a line late counts in it from then on (what it used
// before stays in "(other)"), and one that loses its line leaves what it used to "(other)". For rates leave "(other)" out,
// or take joulery_consumer_watts.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ledger/node_account.h"
#include "publish/metric.h"

namespace joulery {

inline constexpr std::string_view other_consumers = "(other)";

struct MetricsOptions {
  std::size_t most_consumers = 200;  // lines of each kind, beside "(other)"
  std::string version;               // of the program
};

class NodeMetrics {
 public:
  explicit NodeMetrics(MetricsOptions options = {}) : options_(std::move(options)) {}

  // Families without a sample are left out. Label values are valid UTF-8, and no two samples of a family have the same labels.
  std::vector<MetricFamily> of(const NodeAccount& account);

  // Every family there may be, without samples: what dashboards and rules may name.
  static std::vector<MetricFamily> all_families();

 private:
  struct Use {
    std::vector<Energy> energy;  // beside the account's components
    std::optional<Power> power;
  };
  using Uses = std::map<std::string, Use>;
  struct Kind {
    std::map<std::string, std::vector<Energy>> before;  // of whoever has a line: what it had used when it got it
    bool crowded = false;                               // at the last call some had no line
  };
  void choose(Kind& kind, const Uses& uses) const;
  void follow(const std::vector<std::string>& components);  // keeps what is remembered beside the components, should they change
  void add_kind(ConsumerKind kind, const Uses& uses, const std::vector<std::string>& components, MetricFamily& joules, MetricFamily& watts);
  void add_consumers(const NodeAccount& account, MetricFamily& joules, MetricFamily& watts);

  MetricsOptions options_;
  std::vector<std::string> components_;
  std::map<ConsumerKind, Kind> kinds_;
};

}  // namespace joulery
