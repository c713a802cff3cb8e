// A disk that stays full: the recording moves on to another place, with all that was added.
// A limit on the size of this process's files stands in for the full disk.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "record/recording.h"
#include "tests/unit/record/sample_run.h"

namespace joulery {
namespace {

// While it lives, no file of this process grows beyond `bytes`.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

void add_marks(RecordingWriter& writer, std::int64_t from, std::int64_t count) {
  for (std::int64_t i = from; i < from + count; ++i) {
    Mark mark;
    mark.time = MonoTime{5'000'000'000 + i};
    mark.name = "step " + std::to_string(i);
    writer.add(mark);
  }
}

struct Rescued : ::testing::Test {
  void SetUp() override {
    auto made = RecordingWriter::create(old_path, two_devices(), {{"command", "[\"true\"]"}});
    ASSERT_TRUE(made) << made.error().line();
    writer = std::move(*made);
    for (std::int64_t i = 0; i < 300; ++i) add_round(*writer, 1, 2, i);
    add_marks(*writer, 0, 5);
    ASSERT_TRUE(writer->flush());
  }

  // Adds more than fits below the limit, and proves that it does not.
  void fill() {
    for (std::int64_t i = 300; i < 700; ++i) add_round(*writer, 1, 2, i);
    add_marks(*writer, 5, 5000);
    writer->set("exit_code", "7");
    const auto size = std::filesystem::file_size(old_path + "-wal");
    const FileLimit full(size + 512);
    ASSERT_FALSE(writer->close());
  }

  void expect_whole(const std::string& path) const {
    auto recording = Recording::open(path);
    ASSERT_TRUE(recording) << recording.error().line();
    EXPECT_EQ((*recording)->metadata().at("exit_code"), "7");
    EXPECT_TRUE((*recording)->events()->empty());
    const auto series = (*recording)->series(1);
    ASSERT_TRUE(series);
    ASSERT_EQ(series->columns[0].raw.size(), 700u);
    for (std::size_t i = 0; i < 700; ++i) ASSERT_EQ(series->columns[0].raw[i], 1000 * static_cast<std::int64_t>(i));
    const auto marks = (*recording)->marks();
    ASSERT_TRUE(marks);
    ASSERT_EQ(marks->size(), 5005u);
    for (std::size_t i = 0; i < marks->size(); ++i) ASSERT_EQ((*marks)[i].name, "step " + std::to_string(i));
  }

  TemporaryFolder folder;
  const std::string old_path = folder.file("old.joulery"), new_path = folder.file("new.joulery");
  std::unique_ptr<RecordingWriter> writer;
};

TEST_F(Rescued, HoldsWhatWasFlushedAndWhatWasNot) {
  fill();
  const auto moved = writer->rescue(new_path);
  ASSERT_TRUE(moved) << moved.error().line();
  ASSERT_TRUE(writer->close());
  EXPECT_FALSE(std::filesystem::exists(new_path + "-wal"));
  expect_whole(new_path);
}

TEST_F(Rescued, LeavesTheOldFileReadable) {
  fill();
  ASSERT_TRUE(writer->rescue(new_path));
  writer.reset();
  auto old = Recording::open(old_path);
  ASSERT_TRUE(old) << old.error().line();
  EXPECT_EQ((*old)->series(1)->before.size(), 300u);
  EXPECT_EQ((*old)->marks()->size(), 5u);
  EXPECT_FALSE((*old)->metadata().contains("exit_code"));
}

TEST_F(Rescued, GoesOnInTheNewFile) {
  fill();
  ASSERT_TRUE(writer->rescue(new_path));
  add_round(*writer, 0, 1, 0);
  ASSERT_TRUE(writer->flush());
  ASSERT_TRUE(writer->close());
  EXPECT_EQ((*Recording::open(new_path))->series(0)->before.size(), 1u);
  EXPECT_EQ((*Recording::open(old_path))->series(0)->before.size(), 0u);
}

TEST_F(Rescued, WhereThereIsNoRoomEitherNothingChanges) {
  fill();
  {
    const FileLimit full(20'000);
    const auto refused = writer->rescue(new_path);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().where, new_path);
  }
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) EXPECT_FALSE(std::filesystem::exists(new_path + suffix)) << suffix;
  ASSERT_TRUE(writer->close());  // room again
  expect_whole(old_path);
}

TEST_F(Rescued, NeverOverwritesAFile) {
  const auto refused = writer->rescue(old_path);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::usage);
  ASSERT_TRUE(writer->close());
  EXPECT_EQ((*Recording::open(old_path))->series(1)->before.size(), 300u);
  EXPECT_FALSE(writer->rescue(new_path));  // closed already
  EXPECT_FALSE(std::filesystem::exists(new_path));
}

}  // namespace
}  // namespace joulery
