// Names for sampled addresses: functions of programs, libraries and the kernel, code made at run time, Python functions.
//
// Where Python frames were found on the copied stack that frame pointers did not lead to, the stack is told as those frames, and above them
// what ran: the interpreter's own frames between them are the cost of the function below, and are not told.
//
// Invariant: a named stack per raw stack, outermost first; never empty.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "watch/stacks/stack_sampler.h"

namespace joulery {

enum class StackFrameKind : std::uint8_t { process, native, kernel, python };

struct StackFrame {
  std::string name;
  StackFrameKind kind = StackFrameKind::native;
  friend bool operator==(const StackFrame&, const StackFrame&) = default;
};

struct NamedStacks {
  std::vector<std::vector<StackFrame>> stacks;  // beside SampledRun::stacks
  std::vector<std::string> notes;  // what could not be named, and why
};

NamedStacks name_stacks(const SampledRun& run);

}  // namespace joulery
