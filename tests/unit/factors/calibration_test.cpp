#include "factors/calibration.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace joulery {
namespace {

namespace fs = std::filesystem;

class CalibrationFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path() const { return (folder_ / "calibration.toml").string(); }
  void put(const std::string& text) const { std::ofstream(path()) << text; }
  Error error_of(const std::string& text) const {
    put(text);
    const auto read = read_calibration(path());
    EXPECT_FALSE(read.has_value()) << text;
    return read ? Error{} : read.error();
  }
  fs::path folder_;
};

TEST_F(CalibrationFile, ReadsWhatItWrote) {
  const Calibration written{watts(55.25), watts(210), watts(120.5), "wall meter \"A\", 2 May"};
  ASSERT_TRUE(write_calibration(path(), written));
  const auto read = read_calibration(path());
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(*read, written);
}

TEST_F(CalibrationFile, MakesFoldersAndLeavesNothingElse) {
  const std::string deep = (folder_ / "a/b/calibration.toml").string();
  ASSERT_TRUE(write_calibration(deep, {watts(10), watts(20), {}, ""}));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "a/b"), {}), 1);
  EXPECT_FALSE(read_calibration(deep)->half);
}

TEST_F(CalibrationFile, WholeNumbersAreWattsToo) {
  put("idle_watts = 50\nmax_watts = 210.5\n");
  EXPECT_EQ(read_calibration(path())->idle, watts(50));
}

TEST_F(CalibrationFile, RefusesIdleNotBelowMax) {
  const auto refused = write_calibration(path(), {watts(210), watts(210), {}, ""});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::usage);
  EXPECT_EQ(refused.error().what, "idle (210 W) is not below max (210 W)");
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(CalibrationFile, RefusesHalfOutsideAndImpossibleWatts) {
  EXPECT_FALSE(checked({watts(50), watts(200), watts(50), ""}));
  EXPECT_FALSE(checked({watts(50), watts(200), watts(200), ""}));
  EXPECT_FALSE(checked({watts(0), watts(200), {}, ""}));
  EXPECT_FALSE(checked({watts(-1), watts(200), {}, ""}));
  EXPECT_FALSE(checked({watts(50), watts(2e6), {}, ""}));
  EXPECT_FALSE(checked({watts(50), watts(std::numeric_limits<double>::infinity()), {}, ""}));
  EXPECT_FALSE(checked({watts(std::numeric_limits<double>::quiet_NaN()), watts(100), {}, ""}));
  EXPECT_TRUE(checked({watts(50), watts(200), watts(199), ""}));
}

TEST_F(CalibrationFile, AFailedWriteKeepsTheOldFile) {
  ASSERT_TRUE(write_calibration(path(), {watts(10), watts(20), {}, ""}));
  ASSERT_FALSE(write_calibration(path(), {watts(30), watts(20), {}, ""}));
  EXPECT_EQ(read_calibration(path())->idle, watts(10));
}

TEST_F(CalibrationFile, WhereNoFolderCanBeThatIsSaid) {
  put("idle_watts = 1\n");
  const auto refused = write_calibration(path() + "/below/calibration.toml", {watts(10), watts(20), {}, ""});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().line().find(path()), std::string::npos);
}

TEST_F(CalibrationFile, AbsentIsNotFound) { EXPECT_EQ(read_calibration(path()).error().code, ErrorCode::not_found); }

TEST_F(CalibrationFile, NamesTheNearestKey) {
  const Error error = error_of("idle_wats = 5\nmax_watts = 9\n");
  EXPECT_EQ(error.code, ErrorCode::format);
  EXPECT_EQ(error.what, "unknown key \"idle_wats\" in the calibration");
  EXPECT_EQ(error.hint, "did you mean idle_watts?");
}

TEST_F(CalibrationFile, SaysWhatIsWrong) {
  EXPECT_NE(error_of("idle_watts = \n").where.find(":1"), std::string::npos);
  EXPECT_NE(error_of("max_watts = 9\nid\xd1\xb8 = 4\n").where.find(":2"), std::string::npos);
  EXPECT_EQ(error_of("idle_watts = \"55\"\nmax_watts = 100\n").what, "idle_watts is not a number of watts");
  EXPECT_EQ(error_of("idle_watts = 55\n").what, "max_watts is missing in the calibration");
  EXPECT_EQ(error_of("max_watts = 55\n").what, "idle_watts is missing in the calibration");
  EXPECT_EQ(error_of("idle_watts = 5\nmax_watts = 9\nsource = 4\n").what, "source is not a text");
  EXPECT_EQ(error_of("idle_watts = nan\nmax_watts = 9\n").code, ErrorCode::format);
  EXPECT_EQ(error_of("idle_watts = 9\nmax_watts = 5\n").where, path());
}

// The letter stands where the parser asks whether it is a space: it must not get that far.
TEST(Calibration, LettersBeyondAsciiStandInTextsAlone) {
  EXPECT_FALSE(
      parse_calibration("idle_watts =2:22 `=\"\xd1\x9e"
                        "2 1\n",
                        "calibration.toml"));
  EXPECT_FALSE(parse_calibration("source = \"a\"\xd1\x9e\n", "calibration.toml"));
  const auto refused = parse_calibration("idle_watts = 4\nid\xd1\xb8 = 4\n", "calibration.toml");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "calibration.toml:2");
  const auto calibration = parse_calibration("idle_watts = 4\nmax_watts = 9\nsource = \"Z\xc3\xa4hler ~ \xd1\x9e\"\n", "c");
  ASSERT_TRUE(calibration);
  EXPECT_EQ(calibration->source, "Z\xc3\xa4hler ~ \xd1\x9e");
}

}  // namespace
}  // namespace joulery
