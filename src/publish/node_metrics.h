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
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
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
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  // What a consumer had used when it got its line.
  using Lines = std::unordered_map<std::string, std::vector<Energy>, NameHash, std::equal_to<>>;
  struct Kind {
    Lines lines;
    bool crowded = false;  // at the last call some had no line
  };
  struct Use {
    std::string_view name;  // valid UTF-8
    std::span<const Energy> energy;  // beside the account's components
    std::optional<Power> power;
    const std::vector<Energy>* line = nullptr;  // in Kind::lines; null: it has none
  };
  using Uses = std::vector<Use>;  // no two of a name
  // Names and sums that are not the account's own.
  struct Made {
    std::deque<std::string> names;
    std::deque<std::vector<Energy>> sums;
  };
  static std::map<ConsumerKind, Uses> uses_of(const NodeAccount& account, Made& made);
  static Uses merged(const Uses& uses, Made& made);
  void choose(Kind& kind, Uses& uses) const;
  void follow(const std::vector<std::string>& components);  // keeps what is remembered beside the components, should they change
  void add_kind(ConsumerKind kind, Uses& uses, const std::vector<std::string>& components, MetricFamily& joules, MetricFamily& watts);
  void add_consumers(const NodeAccount& account, MetricFamily& joules, MetricFamily& watts);

  MetricsOptions options_;
  std::vector<std::string> components_;
  std::map<ConsumerKind, Kind> kinds_;
};

}  // namespace joulery
