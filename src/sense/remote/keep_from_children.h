// Protocol libraries open sockets that every program which is started would inherit, and mostly give no way to them.
#pragma once

#include <vector>

namespace joulery {

// What was opened between its two ends is closed in programs that are started later. What another thread opens meanwhile is
// too: nothing of ours is meant for the command that runs.
class KeepFromChildren {
 public:
  KeepFromChildren();
  KeepFromChildren(const KeepFromChildren&) = delete;
  KeepFromChildren& operator=(const KeepFromChildren&) = delete;
  ~KeepFromChildren();

 private:
  std::vector<int> before_;
};

}  // namespace joulery
