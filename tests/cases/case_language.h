// The case language of tests/cases/README.md: a case is read, made into a recording in memory, and judged by the real
// timeline and ledger.
#pragma once

#include <string>
#include <vector>

#include "ledger/ledger.h"
#include "record/memory_recording.h"

namespace joulery::cases {

struct Line {
  int number = 0;
  std::vector<std::string> words;
};

struct Case {
  std::string file, name;
  int line = 0;
  std::vector<Line> lines;
};

// The cases of one file. Throws std::runtime_error (test code) with file and line where a sentence has no case.
std::vector<Case> read_cases(const std::string& path);

// Runs a case; one text per expectation that does not hold, "FILE:LINE: ...".
std::vector<std::string> failures_of(const Case& told);

}  // namespace joulery::cases
