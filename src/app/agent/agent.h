// The agent: watches a node for as long as it runs, keeps the history, serves it, and sends it on. One loop ticks; threads of
// their own read the meters, write the store, answer HTTP and push, so that none of them delays a tick.
//
// Invariant: what cannot be done (a full disk, a target that is away, a meter that is silent) is said once when it begins and
// once when it ends, and harms nothing else.
#pragma once

#include <memory>
#include <string>

#include "app/open_node_watch.h"
#include "config/settings.h"
#include "core/result.h"
#include "watch/signal_gate.h"

namespace joulery {

struct AgentOptions {
  NodeWatchOptions watch;
  std::string store;        // folder; "" for the usual one
  std::string listen;       // "" for what is configured
  bool confined = true;     // gives up rights and system calls that it does not need
};

class Agent {
 public:
  // Opens everything, and gives up what is not needed afterwards. Errors: usage, and those of each part.
  static Result<std::unique_ptr<Agent>> open(const AgentOptions& options, const Settings& settings);
  ~Agent();

  // One line: where it serves, what it reads, where it stores.
  std::string ready_line() const;
  // Until the process is asked to end. Log lines go to stderr.
  void run(const SignalGate& gate);

 private:
  Agent();
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace joulery
