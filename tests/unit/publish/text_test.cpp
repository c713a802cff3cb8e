#include "publish/text.h"

#include <gtest/gtest.h>

#include <sstream>

#include "publish/utf8.h"
#include "tests/unit/publish/golden.h"
#include "tests/unit/publish/sample_reports.h"

namespace joulery {
namespace {

TEST(Text, LooksAsItsGoldenFiles) {
  for (const auto& [name, report] : samples::all())
    expect_golden(name + ".txt", report_text(report, {.colour = false, .unicode = true, .width = 80}));
}

TEST(Text, NarrowWideAsciiAndColour) {
  expect_golden("gpu_run_w50.txt", report_text(samples::gpu_run(), {.width = 50}));
  expect_golden("gpu_run_w120.txt", report_text(samples::gpu_run(), {.width = 120}));
  expect_golden("weird_names_ascii.txt", report_text(samples::weird_names(), {.unicode = false, .width = 80}));
  expect_golden("partial_colour.txt", report_text(samples::partial(), {.colour = true, .width = 80}));
}

TEST(Text, NoLineIsTooWideOrEndsInASpace) {
  for (const auto& [name, report] : samples::all())
    for (const int width : {60, 72, 80, 100, 132, 200})
      for (const bool unicode : {true, false}) {
        std::istringstream lines(report_text(report, {.unicode = unicode, .width = width}));
        for (std::string line; std::getline(lines, line);) {
          EXPECT_FALSE(line.ends_with(' ')) << name << ": " << line;
          // A word that is longer than the line (a path) is not broken.
          EXPECT_TRUE(display_width(line) <= width || line.find('/') != std::string::npos) << name << ": " << line;
        }
      }
}

TEST(Text, WithoutUnicodeAllIsAscii) {
  for (const auto& [name, report] : samples::all())
    for (const char c : report_text(report, {.unicode = false})) ASSERT_LT(static_cast<unsigned char>(c), 0x80u) << name;
}

TEST(Text, WithoutColourNoEscapeSequenceGetsThrough) {
  for (const auto& [name, report] : samples::all())
    for (const bool unicode : {true, false}) EXPECT_EQ(report_text(report, {.unicode = unicode}).find('\x1b'), std::string::npos) << name;
}

TEST(Text, AMissingFigureIsCalledMissingAndKeepsItsReason) {
  const std::string text = report_text(samples::zero_length(), {});
  EXPECT_NE(text.find("missing: node/cpu/package-0: fewer than two readings"), std::string::npos) << text;
  EXPECT_EQ(text.find("0 J"), std::string::npos) << text;
  EXPECT_EQ(text.find("0 W"), std::string::npos) << text;
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
}

TEST(Text, APartialTotalIsAtLeast) {
  const std::string text = report_text(samples::partial(), {});
  EXPECT_NE(text.find("at least 1.00 kJ"), std::string::npos) << text;
  EXPECT_NE(text.find("Not counted: node/dram: this processor has no DRAM domain."), std::string::npos) << text;
}

TEST(Text, AJobTellsItsHostsItsRanksAndItsStraggler) {
  const std::string text = report_text(samples::job(), {.colour = false, .unicode = true, .width = 200});
  for (const char* words : {"node-b: CPU package 0", "2 recordings, counted once", "by 120 common steps", "rank 0, pid 4711, node-a",
                            "rank 1, pid 4711, node-b came last in 118 of 120 rounds"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
}

}  // namespace
}  // namespace joulery
