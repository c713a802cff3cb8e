// What a just-in-time compiler says of the code that it made: /tmp/perf-PID.map, a line "begin size name" (hexadecimal) per function.
// CPython from 3.12 on writes one where it runs with `-X perf` or PYTHONPERFSUPPORT=1: "py::function:/path/of/file.py".
//
// Invariant: whatever bytes come in, what is kept is bounded by them; of functions that lie at one address, the one said last counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace joulery {

class PerfMap {
 public:
  static PerfMap parse(std::string_view text);
  // Empty where there is no file, or it is not a regular file of the process's user or root: anybody may write to /tmp.
  static PerfMap of_process(std::int32_t pid);

  // The function whose code holds `address`; "" where none does.
  std::string_view at(std::uint64_t address) const;
  // True where a function begins exactly there: such a word on a stack is a pointer to it, and no return address into it.
  bool begins_at(std::uint64_t address) const;
  bool empty() const { return functions_.empty(); }

 private:
  struct Function {
    std::uint64_t begin = 0, size = 0;
    std::string name;
  };
  std::vector<Function> functions_;  // by begin
};

// "train (model.py)" of "py::train:/home/me/model.py"; nothing of what is no Python function.
std::string python_function(std::string_view name);

}  // namespace joulery
