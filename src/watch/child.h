// The command that `joulery run` measures: started, waited for and signalled so that it lives as it would without us.
//
// It stays in our own process group and keeps our stdin, stdout, stderr, so a terminal's keys (Ctrl-C, Ctrl-\,
// Ctrl-Z), its hang-up and its reads reach it directly; we outlive them (SignalGate) and never pass them on a second
// time. A signal that a process sends to us alone is passed on, unless the command or one of its descendants sent it
// (`kill 0` in a script has reached the command already). A process that signals the whole group by itself
// (`kill -TERM -PGID`) therefore reaches the command twice. When the command stops, we stop with it, so that the
// shell sees the job stopped, and continue with it; the time between belongs to the run.
//
// We wait for the command itself, not for what it leaves behind: a daemon or a held pipe delays nothing.
// If joulery is killed (SIGKILL), the command goes on. Orphans are not adopted (no PR_SET_CHILD_SUBREAPER): a daemon
// would see us as its parent instead of init, and that is not how it runs without us.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "watch/signal_gate.h"

namespace joulery {

struct ChildSpec {
  std::vector<std::string> command;                              // the program and its arguments; at least one
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours, or replacing what is there
};

struct ChildEnd {
  int exit_code = 0;    // as a shell gives it: 128 + n for death by signal n
  int signal = 0;       // the signal that ended it; 0 where it exited
  MonoTime time;        // when we saw the end
  Duration own_cpu;     // CPU time of the command's own process, all its threads
  Duration tree_cpu;    // the same with every descendant that was waited for, however short it lived
  std::int64_t max_resident_bytes = 0;  // of the largest process among these
};

class Child {
 public:
  // Starts the command. The call returns when it runs (exec has succeeded), or with the reason why it does not:
  // exit_code_of_start_failure() gives the shell's code for that. The gate must outlive the child.
  static Result<Child> start(const ChildSpec& spec, const SignalGate& gate);

  pid_t pid() const { return pid_; }

  // Waits until the command has ended, at most until `deadline`, and passes signals on meanwhile. Nothing: it still runs.
  // Call it again and again from the thread that opened the gate; after the end it gives the same answer.
  Result<std::optional<ChildEnd>> wait_until(MonoTime deadline);
  Result<ChildEnd> wait();

 private:
  Child(pid_t pid, const SignalGate& gate) : pid_(pid), gate_(&gate) {}
  Result<bool> ended();           // reaps the command if it has ended, and fills end_
  void follow_stops();            // stops with the command
  void pass_on(const HeldSignal& signal);

  pid_t pid_ = 0;
  const SignalGate* gate_;
  bool stopped_ = false;
  std::optional<ChildEnd> end_;
};

}  // namespace joulery
