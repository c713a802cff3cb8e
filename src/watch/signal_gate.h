// Holds back the signals that concern the command, so that joulery outlives it and can tell what it used.
// While a gate is open they neither end nor stop this process: next() gives them one by one.
//
// Open it in the main thread before any other thread starts (threads inherit the blocked mask; a thread that had
// them unblocked would take them away), and keep it until the report is written. Closing restores everything.
// Invariant: what a command inherits (mask, ignored signals) is what this process itself was started with.
#pragma once

#include <sys/types.h>

#include <bitset>
#include <csignal>
#include <optional>

#include "core/result.h"
#include "core/time.h"

namespace joulery {

struct HeldSignal {
  int number = 0;
  bool from_process = false;  // sent by kill() and its like; else by the kernel: a terminal's key, a hang-up, a child
  pid_t sender = 0;           // where from_process
};

inline constexpr MonoTime no_deadline{INT64_MAX};

class SignalGate {
 public:
  static Result<SignalGate> open();
  SignalGate(SignalGate&& other) noexcept;
  SignalGate& operator=(SignalGate&&) = delete;
  SignalGate(const SignalGate&) = delete;
  ~SignalGate();

  // Waits for the next held signal, at most until `deadline` (one that has passed: looks once, without waiting).
  std::optional<HeldSignal> next(MonoTime deadline) const;
  // The same for the time in which no command runs (a baseline, a pause between repeats): gives only a signal that
  // asks for the end, and drops others.
  std::optional<HeldSignal> next_request_to_end(MonoTime deadline) const;

  // Stops this process as `signal` by default does, and returns when it is continued (at once, where the kernel
  // ignores terminal stops because nobody could continue us).
  void stop_self(int signal) const;
  // In the child, between vfork and exec: gives back the dispositions and the mask. Calls only async-signal-safe functions.
  void restore_for_command() const;

 private:
  SignalGate() = default;
  int fd_ = -1;
  sigset_t mask_{};
  std::bitset<65> ignored_;  // signals that were ignored when the gate opened; index = number
};

}  // namespace joulery
