#include "config/toml_ascii.h"

#include <gtest/gtest.h>

#include "config/toml_layer.h"

namespace joulery {
namespace {

TEST(TomlAscii, NamesTheLineOfALetterBeyondAsciiOutsideQuotes) {
  EXPECT_EQ(unfit_line(""), 0u);
  EXPECT_EQ(unfit_line("a = 1\n"), 0u);
  EXPECT_EQ(unfit_line("\xd1\xb8 = 1\n"), 1u);
  EXPECT_EQ(unfit_line("a = 1\n\nb\xd1\xb8 = 2"), 3u);
  EXPECT_EQ(unfit_line("a = \"\n\"\n\x80"), 3u);
}

TEST(TomlAscii, NamesTheLineOfAControlCharacter) {
  EXPECT_EQ(unfit_line(std::string_view("a = 1\n[\0", 8)), 2u);
  EXPECT_EQ(unfit_line("a = \"\x1b\""), 1u);
  EXPECT_EQ(unfit_line("# \x7f"), 1u);
  EXPECT_EQ(unfit_line("a =\t1\r\n"), 0u);
}

TEST(TomlAscii, NamesTheLineOfASectionWithoutAName) {
  for (const char* text : {"[}a]", "\n [", "[[ ]]", "[#", "[ %", "[[[a", "[ [a"}) EXPECT_NE(unfit_line(text), 0u) << text;
  for (const char* text : {"[a]", "[[a]]", "[ \"a b\"]", "['a']", "[-]", "x = [\n1]"}) EXPECT_EQ(unfit_line(text), 0u) << text;
}

TEST(TomlAscii, LetsTextsAndCommentsBe) {
  EXPECT_EQ(unfit_line("place = \"Z\xc3\xbcrich\"\n"), 0u);
  EXPECT_EQ(unfit_line("place = 'Z\xc3\xbcrich'\n# \xd1\xb8\na = 1 # \xd1\xb8\n"), 0u);
}

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
TEST(TomlAscii, StandsBeforeTheConfiguration) {
  Settings settings;
  EXPECT_FALSE(add_toml("carbon.place =\"a\"\xd1\x9e\n", "c.toml", settings));
  const auto added = add_toml("[carbon]\npue\xd1\xb8 = 1.2\n", "joulery.toml", settings);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::format);
  EXPECT_EQ(added.error().where, "joulery.toml:2");
  EXPECT_TRUE(add_toml("[carbon]\nplace = \"\xc3\x96sterreich ~\"  # \xc3\xbc\n", "joulery.toml", settings));
  EXPECT_EQ(settings.text("carbon.place")->value(), "\xc3\x96sterreich ~");
}

}  // namespace
}  // namespace joulery
