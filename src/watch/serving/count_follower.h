// A server's counters from one look to the next: what was done between two pages, by model. A server that was restarted
// counts from 0 again: what it did between the last page and its end is lost, so that time is a gap with its reason, and
// neither its energy nor its tokens go into a figure per token.
//
// Invariant: windows are adjacent, by time, and none is empty; a series that appears has counted from 0.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/time.h"
#include "watch/serving/server_kinds.h"

namespace joulery {

struct CountedWindow {
  Interval when;                             // from one page to the next
  std::map<std::string, ModelCounts> models; // what was done within; `running`: at its end
  std::string gap;                           // why nothing is known of it; "" where it is
};

class CountFollower {
 public:
  // A page that was read at `at`. Nothing for the first.
  std::optional<CountedWindow> take(MonoTime at, const ServerPage& page);

 private:
  std::optional<MonoTime> last_;
  std::map<std::string, ModelCounts> counts_;
};

}  // namespace joulery
