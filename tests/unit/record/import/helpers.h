// What the tests of importers share.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "record/import/import_log.h"

namespace joulery {

inline const std::string shared_data = JOULERY_SOURCE_DIR "/../shared/data/";

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The log, or a failed test and an empty one.
inline ImportedLog imported(std::string_view text, const ImportOptions& options = {}) {
  auto log = import_log(text, "", options);
  EXPECT_TRUE(log) << log.error().line();
  return log ? std::move(*log) : ImportedLog{};
}

inline double si(const LoggedDevice& device, std::size_t line, std::size_t channel = 0) {
  return static_cast<double>(device.lines.at(line).values.at(channel).raw) * device.channels.at(channel).unit;
}
inline MissingReason reason(const LoggedDevice& device, std::size_t line, std::size_t channel = 0) {
  return device.lines.at(line).values.at(channel).reason;
}
inline bool has_note(const ImportedLog& log, std::string_view begin) {
  return std::ranges::any_of(log.notes, [&](const std::string& note) { return note.starts_with(begin); });
}

}  // namespace joulery
