// Tells of a run's short-lived children, where it is worth it and eBPF is allowed: docs/decisions/0016.
//
// Loading the program costs 50 ms of CPU. So it is loaded when a second or more has gone by and a good part of the CPU time was used by
// children that no scan saw, by a thread of its own; a run without such children, or a short one, never pays.
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "core/result.h"
#include "watch/cpu_account.h"
#include "watch/process_tree.h"
#include "watch/short_lived.h"

namespace joulery {

class ShortChildren {
 public:
  explicit ShortChildren(std::int32_t command) : command_(command) {}

  // After each scan.
  void look(ProcessTree& tree);
  // When the command has ended, before the tree is asked for its end.
  void finish(ProcessTree& tree);
  std::vector<ShortLivedSum> by_name() const;

 private:
  void take_account();
  void read(ProcessTree& tree);

  std::int32_t command_;
  bool asked_ = false;
  std::future<std::unique_ptr<CpuAccount>> loading_;
  std::unique_ptr<CpuAccount> account_;
  std::optional<ShortLived> children_;
};

}  // namespace joulery
