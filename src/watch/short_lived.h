// Children of the command that came and went between two scans of its tree, by name, where the scheduler's account tells of them.
//
// How: whoever's parent is in the tree, by a scan or by the account, is in the tree. Of those that no scan saw the CPU time is added up by name when they have ended;
// of those that a scan saw, and that began after the account did, the last sample is made whole.
//
// Invariant: the time of a process is told once, here or in the tree's samples.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "watch/cpu_account.h"
#include "watch/process_tree.h"

namespace joulery {

// Those of one name.
struct ShortLivedSum {
  std::string name;
  std::int64_t count = 0;
  Duration cpu;
  friend bool operator==(const ShortLivedSum&, const ShortLivedSum&) = default;
};

class ShortLived {
 public:
  // `since_ticks`: when the account began, since boot, as ProcessId::start_ticks.
  ShortLived(std::int32_t command, std::int64_t since_ticks) : since_ticks_(since_ticks), members_{{command, 0}} {}

  // What was used since the last look. An account tells of an ended process twice at most: the last moments at the next look.
  void take(const CpuUses& uses, ProcessTree& tree);
  // All that have ended, when nothing more comes.
  void finish(ProcessTree& tree);
  // The greatest first; at most so many names.
  std::vector<ShortLivedSum> by_name(std::size_t most) const;

 private:
  struct Found {
    std::string name;
    Duration cpu;
    bool ended = false;
    std::int64_t look = 0;  // that told of it last
  };
  bool is_member(const CpuUse& use, const ProcessTree& tree) const;
  void fold(ProcessTree& tree, bool all);

  std::int64_t since_ticks_;
  std::int64_t look_ = 0;
  std::unordered_map<std::int32_t, std::int64_t> members_;  // by pid: the start, 0 for any
  std::map<ProcessId, Found> found_;
  std::map<std::string, ShortLivedSum> sums_;
};

}  // namespace joulery
