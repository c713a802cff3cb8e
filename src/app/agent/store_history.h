// The store as the API asks it: watts and joules by component and by consumer, step by step.
#pragma once

#include <string>

#include "app/agent/node_view.h"

namespace joulery {

// Answers to `component_watts`, `component_joules`, `component_overlap_watts`, `component_overlap_joules`, `consumer_watts` and
// `consumer_joules`, also under the names that /metrics has: a leading "joulery_" and a trailing "_total" are left out. Joules are those
// of each step, watts their mean over the time that was stored. A step of which nothing is stored has no value.
class StoreHistory final : public HistorySource {
 public:
  explicit StoreHistory(std::string folder) : folder_(std::move(folder)) {}
  // Errors: not_found, for another name; usage, for a step below 1 s or too many steps; those of StoreReader.
  Result<std::vector<HistorySeries>> query(const HistoryQuery& query) override;

 private:
  std::string folder_;
};

}  // namespace joulery
