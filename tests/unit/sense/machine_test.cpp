#include "sense/machine.h"

#include <gmock/gmock.h>

#include "tests/unit/sense/tree.h"

namespace joulery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace joulery::testing;

TEST(Machine, TheEmptyRootIsThisMachine) {
  EXPECT_TRUE(Machine().is_this_machine());
  EXPECT_TRUE(Machine("/").is_this_machine());
  EXPECT_EQ(Machine("/tree/").path("/sys/class"), "/tree/sys/class");
}

TEST(Machine, ReadsWholeFilesWithoutTrailingWhiteSpace) {
  Tree tree;
  tree.file("/sys/a", " two words \n\n").file("/sys/big", std::string(20'000, 'x') + "\n");
  EXPECT_EQ(*tree.machine().read("/sys/a"), " two words");
  EXPECT_EQ(tree.machine().read("/sys/big")->size(), 20'000u);
  EXPECT_EQ(tree.machine().read_or_empty("/sys/big", 10), std::string(10, 'x'));
}

TEST(Machine, ErrorsNameThePath) {
  Tree tree;
  const auto absent = tree.machine().read("/sys/none");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::not_found);
  EXPECT_EQ(absent.error().where, tree.root() + "/sys/none");
  tree.file("/sys/text", "twelve\n");
  const auto text = tree.machine().read_integer("/sys/text");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::format);
  EXPECT_THAT(text.error().what, HasSubstr("twelve"));
}

TEST(Machine, IntegersAreStrict) {
  Tree tree;
  for (const char* bad : {"", "\n", "1.0\n", "1e3\n", "+1\n", "0x1\n", "1 2\n", "9223372036854775808\n"})
    EXPECT_FALSE(tree.file("/n", bad).machine().read_integer("/n")) << bad;
  EXPECT_EQ(*tree.file("/n", "-7\n").machine().read_integer("/n"), -7);
  EXPECT_EQ(*tree.file("/n", "9223372036854775807").machine().read_integer("/n"), INT64_MAX);
}

TEST(Machine, ListsSortedAndNothingWhereThereIsNone) {
  Tree tree;
  tree.file("/d/b", "").file("/d/a", "").file("/d/c/x", "");
  EXPECT_THAT(tree.machine().list("/d"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(tree.machine().list("/none"), IsEmpty());
  EXPECT_TRUE(tree.machine().exists("/d/c"));
  EXPECT_FALSE(tree.machine().exists("/d/e"));
}

}  // namespace
}  // namespace joulery
