// JSON read where it lies: exact nanoseconds, strings, nesting.
#include "watch/profile/json_scan.h"

#include <gtest/gtest.h>

namespace joulery {
namespace {

std::optional<std::int64_t> ns(std::string_view token) {
  std::int64_t value = 0;
  return microseconds_token(token, value) ? std::optional(value) : std::nullopt;
}

TEST(JsonScan, MicrosecondsAreExactNanoseconds) {
  EXPECT_EQ(ns("0"), 0);
  EXPECT_EQ(ns("1.5"), 1500);
  EXPECT_EQ(ns("1682725898236567"), 1682725898236567000);       // 16 digits, and 19 in nanoseconds
  EXPECT_EQ(ns("1712195495519689.063"), 1712195495519689063);   // a double holds ...689.06249
  EXPECT_EQ(ns("9007199254740993.001"), 9007199254740993001);   // beyond 2^53
  EXPECT_EQ(ns("-0.001"), -1);
  EXPECT_EQ(ns("0.0004"), 0);
  EXPECT_EQ(ns("0.0005"), 1);                                    // half away from zero
  EXPECT_EQ(ns("1.2e3"), 1200000);
  EXPECT_EQ(ns("1234567e-3"), 1234567);
  EXPECT_EQ(ns("\"12.25\""), 12250);
}

TEST(JsonScan, WhatIsNoNumberOrDoesNotFitIsRefused) {
  for (const char* token : {"", "-", ".", "abc", "1x", "1.2.3", "1e", "99999999999999999", "1e30", "null", "\"\""})
    EXPECT_FALSE(ns(token)) << token;
}

bool scans(std::string text) {
  const std::size_t size = text.size();
  text.append(64, '\0');
  JsonCursor json{text.data(), text.data() + size};
  std::string_view value;
  return scan_value(json, value) && value.size() == size;
}

TEST(JsonScan, ValuesEndWhereTheyEnd) {
  EXPECT_TRUE(scans(R"({"a":[1,2,{"b":"]}"}],"c":"\\\""})"));
  EXPECT_TRUE(scans(std::string(512, '[') + std::string(512, ']')));
  EXPECT_FALSE(scans(std::string(513, '[') + std::string(513, ']')));   // deeper than anybody nests
  EXPECT_FALSE(scans(R"({"a":[1,2}])"));                                  // brackets that cross
  EXPECT_FALSE(scans("\"a\nb\""));                                        // a bare line end in a string
}

TEST(JsonScan, EscapesAreResolved) {
  EXPECT_EQ(unescape_json(R"(a\n\"\\\/\u00e9\u20ac\ud83d\ude00)"), "a\n\"\\/é€😀");
  EXPECT_EQ(unescape_json(R"(\ud83d\q\u12)"),
            "\xef\xbf\xbdq\xef\xbf\xbd"
            "12");
}

}  // namespace
}  // namespace joulery
