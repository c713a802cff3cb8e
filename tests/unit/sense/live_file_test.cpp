#include "sense/live_file.h"

#include "tests/unit/sense/tree.h"

namespace joulery {
namespace {

using namespace joulery::testing;

// A clock that the test moves, so that nothing depends on how fast the machine is.
constexpr MonoTime at(std::int64_t ms) { return {ms * 1'000'000}; }

class LiveFileTest : public ::testing::Test {
 protected:
  LiveFileTest() { tree.file("/counter", "1\n"); }
  Tree tree;
  LiveFile file{tree.root() + "/counter"};
};

TEST_F(LiveFileTest, ReadsTheStartAnewEachTime) {
  EXPECT_EQ(file.read_count(at(0)), 1);
  tree.file("/counter", "22\n");  // rewritten in place
  EXPECT_EQ(file.read_count(at(0)), 22);
}

TEST_F(LiveFileTest, SeesAReplacedFileAfterTenMilliseconds) {
  EXPECT_EQ(file.read_count(at(0)), 1);
  tree.replace("/counter", "2\n");
  EXPECT_EQ(file.read_count(at(10)), 2);
}

TEST_F(LiveFileTest, AFileMovedAwayIsGoneAfterAHundredMillisecondsAndReturns) {
  EXPECT_EQ(file.read_count(at(0)), 1);
  std::filesystem::rename(tree.root() + "/counter", tree.root() + "/elsewhere");
  EXPECT_EQ(file.read_count(at(100)), std::unexpected(MissingReason::gone));
  tree.file("/counter", "3\n");
  EXPECT_EQ(file.read_count(at(101)), 3);
}

// A writer may go on writing to what was moved away: then it takes a second.
TEST_F(LiveFileTest, AFileMovedAwayThatStillChangesIsGoneAfterASecond) {
  std::filesystem::create_directory(tree.root() + "/away");
  EXPECT_EQ(file.read_count(at(0)), 1);
  std::filesystem::rename(tree.root() + "/counter", tree.root() + "/away/counter");
  for (int ms = 50; ms < 900; ms += 50) {
    tree.file("/away/counter", std::to_string(ms) + "\n");
    EXPECT_EQ(file.read_count(at(ms)), ms);
  }
  tree.file("/away/counter", "1000\n");
  EXPECT_EQ(file.read_count(at(1000)), std::unexpected(MissingReason::gone));
}

TEST_F(LiveFileTest, ARemovedFolderIsGoneAndReturns) {
  tree.file("/zone/counter", "1\n");
  LiveFile nested(tree.root() + "/zone/counter");
  EXPECT_EQ(nested.read_count(at(0)), 1);
  tree.remove("/zone");
  EXPECT_EQ(nested.read_count(at(10)), std::unexpected(MissingReason::gone));
  tree.file("/zone/counter", "5\n");
  EXPECT_EQ(nested.read_count(at(11)), 5);
}

TEST_F(LiveFileTest, AFolderOrAPipeInItsPlaceIsAnErrorAndNoHang) {
  LiveFile folder(tree.root());
  EXPECT_EQ(folder.read_count(at(0)), std::unexpected(MissingReason::io_error));
  ASSERT_EQ(::mkfifo((tree.root() + "/pipe").c_str(), 0644), 0);
  LiveFile pipe(tree.root() + "/pipe");
  EXPECT_EQ(pipe.read_count(at(0)), std::unexpected(MissingReason::io_error));
}

TEST_F(LiveFileTest, CountersOfSixtyFourBitsKeepTheirBits) {
  tree.file("/counter", "18446744073709551615\n");
  EXPECT_EQ(static_cast<std::uint64_t>(file.read_count(at(0)).value()), 18446744073709551615u);
}

TEST_F(LiveFileTest, ReadsThatFailHaveTheirReason) {
  tree.mode("/counter", 0);
  EXPECT_TRUE(holds_for_ordinary_user([&] {
    LiveFile closed(tree.root() + "/counter");
    return closed.read_count(at(0)) == std::unexpected(MissingReason::permission);
  }));
}

TEST(ReasonFromErrno, TellsKindsApart) {
  EXPECT_EQ(reason_from_errno(ENODEV), MissingReason::gone);
  EXPECT_EQ(reason_from_errno(EACCES), MissingReason::permission);
  EXPECT_EQ(reason_from_errno(EOPNOTSUPP), MissingReason::not_supported);
  EXPECT_EQ(reason_from_errno(ETIMEDOUT), MissingReason::timed_out);
  EXPECT_EQ(reason_from_errno(EIO), MissingReason::io_error);
}

}  // namespace
}  // namespace joulery
