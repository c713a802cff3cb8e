#include "factors/bare_key_guard.h"

#include <gtest/gtest.h>

#include "factors/calibration.h"
#include "factors/factor_config.h"

namespace joulery {
namespace {

TEST(BareKeyGuard, NamesTheLineOfALetterBeyondAsciiOutsideQuotes) {
  EXPECT_EQ(line_beyond_ascii(""), 0u);
  EXPECT_EQ(line_beyond_ascii("a = 1\n"), 0u);
  EXPECT_EQ(line_beyond_ascii("\xd1\xb8 = 1\n"), 1u);
  EXPECT_EQ(line_beyond_ascii("a = 1\n\nb\xd1\xb8 = 2"), 3u);
  EXPECT_EQ(line_beyond_ascii("a = \"\n\"\n\x80"), 3u);
}

TEST(BareKeyGuard, LetsTextsAndCommentsBe) {
  EXPECT_EQ(line_beyond_ascii("place = \"Z\xc3\xbcrich\"\n"), 0u);
  EXPECT_EQ(line_beyond_ascii("place = 'Z\xc3\xbcrich'\n# \xd1\xb8\na = 1 # \xd1\xb8\n"), 0u);
}

// Both files of the user are refused with the line, before the parser sees them.
TEST(BareKeyGuard, StandsBeforeBothFiles) {
  const auto configuration = parse_factor_config("[carbon]\npue\xd1\xb8 = 1.2\n", "joulery.toml");
  ASSERT_FALSE(configuration);
  EXPECT_EQ(configuration.error().code, ErrorCode::format);
  EXPECT_EQ(configuration.error().where, "joulery.toml, line 2");
  const auto calibration = parse_calibration("idle_watts = 4\nid\xd1\xb8 = 4\n", "calibration.toml");
  ASSERT_FALSE(calibration);
  EXPECT_EQ(calibration.error().where, "calibration.toml:2");
  EXPECT_TRUE(parse_factor_config("[carbon]\nplace = \"DE\"  # \xc3\xbc\n", "joulery.toml"));
}

}  // namespace
}  // namespace joulery
