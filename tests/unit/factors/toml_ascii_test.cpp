#include "factors/toml_ascii.h"

#include <gtest/gtest.h>

#include "factors/calibration.h"
#include "factors/factor_config.h"

namespace joulery {
namespace {

TEST(TomlAscii, NamesTheLineOfALetterBeyondAsciiOutsideQuotes) {
  EXPECT_EQ(line_beyond_ascii(""), 0u);
  EXPECT_EQ(line_beyond_ascii("a = 1\n"), 0u);
  EXPECT_EQ(line_beyond_ascii("\xd1\xb8 = 1\n"), 1u);
  EXPECT_EQ(line_beyond_ascii("a = 1\n\nb\xd1\xb8 = 2"), 3u);
  EXPECT_EQ(line_beyond_ascii("a = \"\n\"\n\x80"), 3u);
}

TEST(TomlAscii, LetsTextsAndCommentsBe) {
  EXPECT_EQ(line_beyond_ascii("place = \"Z\xc3\xbcrich\"\n"), 0u);
  EXPECT_EQ(line_beyond_ascii("place = 'Z\xc3\xbcrich'\n# \xd1\xb8\na = 1 # \xd1\xb8\n"), 0u);
}

// Both files of the user are refused with the line, before the parser sees them.
TEST(TomlAscii, SpellsLettersBeyondAsciiAndBack) {
  EXPECT_EQ(ascii_spelling("Z\xc3\xbcrich ~1"), "Z~c3~bcrich ~7e1");
  EXPECT_EQ(from_ascii_spelling("Z~c3~bcrich ~7e1"), "Z\xc3\xbcrich ~1");
  EXPECT_EQ(from_ascii_spelling("~"), "~");
  EXPECT_EQ(from_ascii_spelling("~c"), "~c");
  EXPECT_EQ(from_ascii_spelling("~xy~+1"), "~xy~+1");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(from_ascii_spelling(ascii_spelling(all)), all);
}

// The letter stands after a value, where the parser asks whether it is a space.
TEST(TomlAscii, RefusesWhatTheParserCannotTakeInsideALine) {
  EXPECT_FALSE(parse_calibration("idle_watts =2:22 `=\"\xd1\x9e2 1\n", "calibration.toml"));
  EXPECT_FALSE(parse_calibration("source = \"a\"\xd1\x9e\n", "calibration.toml"));
}

TEST(TomlAscii, TextsComeBackAsTheyWereWritten) {
  const auto calibration = parse_calibration("idle_watts = 4\nmax_watts = 9\nsource = \"Z\xc3\xa4hler ~ \xd1\x9e\"\n", "c");
  ASSERT_TRUE(calibration);
  EXPECT_EQ(calibration->source, "Z\xc3\xa4hler ~ \xd1\x9e");
  const auto configuration = parse_factor_config("[carbon]\nplace = \"\xc3\x96sterreich\"\n", "c");
  ASSERT_TRUE(configuration);
  EXPECT_EQ(configuration->carbon.place, "\xc3\x96sterreich");
}

TEST(TomlAscii, StandsBeforeBothFiles) {
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
