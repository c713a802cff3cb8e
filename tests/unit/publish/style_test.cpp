#include "publish/style.h"

#include <gtest/gtest.h>

#include "publish/columns.h"
#include "publish/numbers.h"
#include "publish/progress.h"
#include "publish/utf8.h"

namespace joulery {
namespace {

using Choice = ColourChoice;

TEST(Style, WhenColoursAreUsed) {
  const std::optional<std::string_view> unset;
  struct Row {
    Choice choice;
    std::optional<std::string_view> no_color, term;
    bool terminal, expected;
  };
  const Row table[] = {
      {Choice::automatic, unset, "xterm", true, true}, {Choice::automatic, unset, "xterm", false, false},
      {Choice::automatic, "1", "xterm", true, false},  {Choice::automatic, "", "xterm", true, true},  // set but empty does not count
      {Choice::automatic, "0", "xterm", true, false},  {Choice::automatic, unset, "dumb", true, false},
      {Choice::automatic, unset, unset, true, true},   {Choice::always, "1", "dumb", false, true},
      {Choice::always, unset, "xterm", false, true},   {Choice::never, unset, "xterm", true, false},
  };
  for (const Row& row : table) EXPECT_EQ(use_colour(row.choice, row.no_color, row.term, row.terminal), row.expected) << (&row - table);
}

TEST(Style, ColourChoiceIsReadOrRefused) {
  EXPECT_EQ(*parse_colour_choice("auto"), Choice::automatic);
  EXPECT_EQ(*parse_colour_choice("always"), Choice::always);
  EXPECT_EQ(*parse_colour_choice("never"), Choice::never);
  const auto bad = parse_colour_choice("blue");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::usage);
  EXPECT_EQ(bad.error().line(), "not a colour setting: 'blue': --color (use auto, always or never)");
}

TEST(Style, UnicodeFollowsTheFirstLocaleVariableThatIsSet) {
  EXPECT_TRUE(use_unicode("", "", "en_GB.UTF-8"));
  EXPECT_TRUE(use_unicode("C.utf8", "C", "C"));
  EXPECT_FALSE(use_unicode("C", "", "en_GB.UTF-8"));
  EXPECT_FALSE(use_unicode("", "", ""));
}

TEST(Style, PaintOnlyWithColour) {
  EXPECT_EQ(painted("x", Ink::bad, {.colour = false}), "x");
  EXPECT_EQ(painted("x", Ink::bad, {.colour = true}), "\x1b[31mx\x1b[0m");
  EXPECT_EQ(painted("x", Ink::plain, {.colour = true}), "x");
}

TEST(Progress, FitsItsWidth) {
  const TextStyle plain{.width = 80};
  EXPECT_EQ(progress_line(seconds(12.34), joules(1200), watts(98.4), plain), "joulery  12.3 s  1.20 kJ  98.4 W");
  EXPECT_EQ(progress_line(seconds(1), std::nullopt, std::nullopt, plain), "joulery  1.00 s");
  EXPECT_EQ(progress_line(seconds(1), joules(1), watts(1), {.width = 18}), "joulery  1.00 s");
  EXPECT_EQ(progress_line(seconds(0.000001), joules(0), watts(0), {.unicode = false, .width = 80}), "joulery  1.00 us  0 J  0 W");
}

TEST(Numbers, ThreeSignificantDigits) {
  const std::pair<double, const char*> table[] = {{0, "0"},
                                                  {1, "1"},
                                                  {0.93, "0.930"},
                                                  {0.3255, "0.326"},
                                                  {6.2421, "6.24"},
                                                  {614.4, "614"},
                                                  {76800, "76,800"},
                                                  {9.996, "10.0"},
                                                  {99.97, "100"},
                                                  {1234567, "1,234,567"},
                                                  {9.0422e-5, "0.0000904"},
                                                  {4.2e-9, "4.2e-09"},
                                                  {-0.002142, "-0.00214"},
                                                  {999.6, "1,000"}};
  for (const auto& [value, text] : table) EXPECT_EQ(compact(value), text);
  EXPECT_EQ(grouped(-1234), "-1,234");
  EXPECT_EQ(grouped(123), "123");
  EXPECT_EQ(percent(0.0004), "<0.1 %");
  EXPECT_EQ(percent(0), "0 %");
  EXPECT_EQ(percent(0.9996), "100 %");
  EXPECT_EQ(watt_hours(joules(3600)), "1.00 Wh");
  EXPECT_EQ(watt_hours(kilowatt_hours(1.5)), "1.50 kWh");
}

TEST(Utf8, PrintableIsHarmless) {
  EXPECT_EQ(printable("a\n\t\r\x1b[2J\x7f"), "a\\n\\t\\r\\x1b[2J\\x7f");
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\u{202e}");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m");  // CSI in one character
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("5 \xc2\xb5s", false), "5 us");
  EXPECT_EQ(display_width("\xe6\x97\xa5\xe6\x9c\xac"), 4);
  EXPECT_EQ(display_width("e\xcc\x81"), 1);
  EXPECT_EQ(clipped("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", 5), "\xe6\x97\xa5\xe6\x9c\xac\xe2\x80\xa6");
  EXPECT_EQ(clipped("abcdef", 5, false), "ab...");
}

TEST(Columns, BarsInEighths) {
  EXPECT_EQ(bar_text(1, 4, true), "████");
  EXPECT_EQ(bar_text(0.5, 4, true), "██");
  EXPECT_EQ(bar_text(1.0 / 32, 4, true), "▏");
  EXPECT_EQ(bar_text(0.0001, 4, true), "▏");  // something is never nothing
  EXPECT_EQ(bar_text(0, 4, true), "");
  EXPECT_EQ(bar_text(0.5, 4, false), "##");
  EXPECT_EQ(bar_text(7, 4, true), "████");
}

TEST(Columns, ANumberStaysWithItsUnit) {
  EXPECT_EQ(wrapped("uses 12.3 kJ now", 10), (std::vector<std::string>{"uses", "12.3 kJ", "now"}));
  EXPECT_TRUE(wrapped("", 10).empty());
}

}  // namespace
}  // namespace joulery
