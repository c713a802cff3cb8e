// Compares an output with its golden file; with JOULERY_UPDATE_GOLDEN=1 in the environment writes the file instead.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace joulery {

inline std::string golden_path(const std::string& name) { return std::string(JOULERY_SOURCE_DIR) + "/tests/golden/publish/" + name; }

inline void expect_golden(const std::string& name, const std::string& actual) {
  const char* update = std::getenv("JOULERY_UPDATE_GOLDEN");
  if (update && std::string(update) == "1") {
    std::ofstream(golden_path(name), std::ios::binary) << actual;
    return;
  }
  std::ifstream file(golden_path(name), std::ios::binary);
  ASSERT_TRUE(file) << "no golden file " << golden_path(name);
  std::ostringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(actual, expected.str()) << "differs from " << name;
}

}  // namespace joulery
