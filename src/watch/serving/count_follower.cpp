#include "watch/serving/count_follower.h"

namespace joulery {
namespace {

constexpr std::optional<double> ModelCounts::* counters[] = {&ModelCounts::tokens_in, &ModelCounts::tokens_out, &ModelCounts::requests};

// True where some counter is less than it was, or is there no longer.
bool restarted(const std::map<std::string, ModelCounts>& before, const std::map<std::string, ModelCounts>& now) {
  for (const auto& [model, was] : before) {
    const auto is = now.find(model);
    for (const auto counter : counters) {
      if (!(was.*counter) || *(was.*counter) == 0) continue;
      if (is == now.end() || !(is->second.*counter) || *(is->second.*counter) < *(was.*counter)) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<CountedWindow> CountFollower::take(MonoTime at, const ServerPage& page) {
  const std::optional<MonoTime> last = last_;
  if (last && at <= *last) return std::nullopt;
  CountedWindow window;
  if (last) {
    window.when = {*last, at};
    if (restarted(counts_, page.models)) {
      window.gap = "the server's counters began anew: it was restarted";
    } else {
      for (const auto& [model, now] : page.models) {
        const auto was = counts_.find(model);
        ModelCounts& done = window.models[model];
        for (const auto counter : counters)
          if (now.*counter) done.*counter = *(now.*counter) - (was == counts_.end() ? 0 : (was->second.*counter).value_or(0));
        done.running = now.running;
      }
    }
  }
  last_ = at;
  counts_ = page.models;
  return last ? std::optional(std::move(window)) : std::nullopt;
}

}  // namespace joulery
