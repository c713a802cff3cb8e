// Who used the CPUs: CPU time of the command and of everything it started, process by process.
//
// How exact: on the running machine a process's time is its own clock, in nanoseconds, with the threads that have
// ended. In a recorded tree (a root that is not "") it is the sum of the first field of task/*/schedstat; of a thread
// that has ended the last value seen is kept, and the whole is never less than the ticks of /proc/PID/stat, which
// count ended threads too. A process that begins and ends between two scans is never seen, and one that ends is not
// seen in its last moments: end() says how much that was, from what the kernel adds up when children are waited for.
//
// A process belongs to the tree once it has been seen as a descendant, even if its parent ends first (a daemon); one
// that is orphaned before the first scan that could see it is not found. Nobody waits for orphans, so what they used
// after the last scan is in no sum. Identity is pid and start time: a pid that is used again is another process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "watch/process_sample.h"

namespace joulery {

class ProcessTree {
 public:
  // `command` is the pid of the command; `root` a folder that holds proc/, "" for this machine.
  explicit ProcessTree(std::int32_t command, std::string root = "");

  // The processes of the tree that live now, parents before children. Costs a few system calls per thread of the tree.
  std::vector<ProcessSample> scan(MonoTime now);

  // The last samples, when the command has ended and was waited for: its own and those of what it left running, and
  // the CPU time that no scan saw. `own` and `tree`: the command's CPU time, alone and with every descendant that was
  // waited for (ChildEnd).
  struct End {
    std::vector<ProcessSample> samples;
    Duration unseen;  // never negative
  };
  End end(MonoTime now, Duration own, Duration tree);

  // CPU time, to the tick, of children that came and went between two scans, as far as it was added up at the last one; and that of all
  // that were seen. For who decides whether to look closer.
  Duration unseen_so_far() const;
  Duration seen_so_far() const;
  // Whether some scan has seen it.
  bool knows(ProcessId id) const { return known_.contains(id); }
  // Whether a process of the tree had this pid at the last scan.
  bool holds(std::int32_t pid) const;
  // What a process that has ended used in all, as somebody knows who watched it from its beginning to its end.
  void complete(ProcessId id, Duration cpu);

  // Processes that vanished between being listed as a child and being read.
  std::int64_t vanished() const { return vanished_; }
  // False where the kernel does not list children (CONFIG_PROC_CHILDREN): each scan then reads all of /proc.
  bool lists_children() const { return lists_children_; }

 private:
  struct Known {
    ProcessSample last;
    std::map<std::int32_t, Duration> threads;  // CPU time of each thread when last seen; recorded trees only
    Duration children;                         // CPU time of its children that were waited for when it was last seen
    bool alive = true;
    bool completed = false;                    // after its last sample
    bool looked_at = false;                    // in the scan that is under way
  };
  // Pids that the scan has yet to read. Those that it knows from before must still be the same process.
  class Agenda;

  std::optional<ProcessSample> look_at(std::int32_t pid, std::optional<std::int64_t> start_ticks, MonoTime now);
  bool waited_for_in_tree(const Known& known) const;
  std::optional<Duration> cpu_time(std::int32_t pid, std::int64_t ticks, Known& known) const;
  std::vector<std::int32_t> children_of(std::int32_t pid) const;
  std::map<std::int32_t, std::vector<std::int32_t>> all_children() const;
  std::string folder_of(std::int32_t pid) const;

  std::int32_t command_;
  std::string root_;
  bool lists_children_;
  std::map<ProcessId, Known> known_;
  std::int64_t vanished_ = 0;
};

}  // namespace joulery
