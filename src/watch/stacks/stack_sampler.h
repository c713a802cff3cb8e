// Samples the call stacks of a command and of all that it starts, while they run on a CPU: the kernel's software clock (perf events), which
// needs no hardware counter and works in virtual machines.
//
// Native stacks are followed by frame pointers; code compiled without them shows its innermost function and a broken rest. Python's functions
// (CPython 3.12 and later, started with PYTHONPERFSUPPORT=1) are found all the same: each runs behind a small piece of code of its own, and a
// return address into one on the copied stack is a Python frame.
//
// Invariant: every sample that the kernel dropped is counted in `lost`. The sampler never stops what it samples.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/time.h"

namespace joulery {

// A stack as addresses, innermost first, as it was seen in one process.
struct RawStack {
  std::int32_t pid = 0;
  std::vector<std::uint64_t> kernel, user;  // user: [0] is where it ran, the others are return addresses
  std::vector<std::uint64_t> made_code;  // return addresses into code made at run time, innermost first, found on the stack
  friend auto operator<=>(const RawStack&, const RawStack&) = default;
};

struct StackSample {
  MonoTime time;
  std::uint32_t stack = 0;  // index into the stacks
  std::int32_t pid = 0, tid = 0;
};

// A file that was mapped executable into a process. `pid`'s copy of its parent's is another.
struct CodeMapping {
  std::int32_t pid = 0;
  std::uint64_t begin = 0, end = 0, offset = 0;
  std::string path;
};

struct SampledRun {
  std::vector<RawStack> stacks;  // each once
  std::vector<StackSample> samples;  // by time
  std::vector<CodeMapping> mappings;  // in the order in which they were made
  std::map<std::int32_t, std::string> names;  // of processes: the last one
  std::int64_t lost = 0;
  Duration period;  // CPU time between two samples of a thread
  bool kernel_too = false;  // false: the kernel's functions may not be seen
};

class StackSampler {
 public:
  // Waits for the command that the calling thread starts next, and begins when that becomes its program, so that nothing it starts is
  // missed. `per_second`: samples per second of CPU time. Errors: permission, with the exact remedy; unsupported.
  static Result<std::unique_ptr<StackSampler>> start(int per_second);
  virtual ~StackSampler() = default;
  // After the command has ended: what was seen.
  virtual SampledRun finish() = 0;
};

// What to do where the kernel refuses, at this level of kernel.perf_event_paranoid.
std::string sampling_remedy(int paranoid);

}  // namespace joulery
