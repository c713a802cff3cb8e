// Rings written here byte by byte: torn, broken, shrinking and foreign ones must harm only themselves.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "joulery/joulery.hpp"
#include "tests/unit/watch/mark_ring_fixture.h"

namespace joulery {
namespace {

struct RawRing {
  explicit RawRing(const std::string& directory) : path(directory + "/1.a.ring"), bytes(ring_bytes, '\0') {
    header().magic = ring_magic;
    header().layout = ring_layout;
    header().pid = 41;
    header().names = ring_names;
    header().records = ring_records;
    name(1, "n");
  }
  RingHeader& header() { return *reinterpret_cast<RingHeader*>(bytes.data()); }
  RingName& slot(std::size_t id) { return reinterpret_cast<RingName*>(bytes.data() + ring_names_at)[id - 1]; }
  RingRecord& record(std::size_t i) { return reinterpret_cast<RingRecord*>(bytes.data() + ring_records_at)[i]; }
  void name(std::size_t id, std::string_view text) {
    slot(id).length = text.size();
    std::memcpy(slot(id).text, text.data(), std::min(text.size(), ring_name_bytes));
  }
  void add(double value) {
    const std::uint64_t at = header().lanes[0].head++;
    record(at) = {at + 1, at, value, 42, 1, JOULERY_POINT};
  }
  // Writes the file; the descriptor that stays open makes the writer count as living.
  int write_out() const {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    EXPECT_EQ(pwrite(file, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    return file;
  }
  std::string path;
  std::vector<char> bytes;
};

TEST_F(MarkRing, ATornRecordHoldsTheRingWhileItsWriterLivesAndIsLostAfterwards) {
  RawRing ring(directory_->path());
  for (int i = 0; i < 3; ++i) ring.add(i);
  ring.record(1).commit = 0;
  const int writer = ring.write_out();
  EXPECT_EQ(reader_->drain().size(), 1u);
  EXPECT_EQ(reader_->drain().size(), 0u);
  EXPECT_EQ(reader_->lost(), 0);
  close(writer);
  const std::vector<Mark> rest = reader_->drain();
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].value, 2);
  EXPECT_EQ(reader_->lost(), 1);
}

TEST_F(MarkRing, FinishTakesWritersForDead) {
  RawRing ring(directory_->path());
  for (int i = 0; i < 3; ++i) ring.add(i);
  ring.record(0).commit = 0;
  const int writer = ring.write_out();
  EXPECT_EQ(reader_->drain().size(), 0u);
  EXPECT_EQ(reader_->finish().size(), 2u);
  EXPECT_EQ(reader_->lost(), 1);
  close(writer);
}

TEST_F(MarkRing, ALaggingNameIsWaitedFor) {
  RawRing ring(directory_->path());
  ring.add(7);
  ring.slot(1).length = 0;
  const int writer = ring.write_out();
  EXPECT_TRUE(reader_->drain().empty());
  const std::uint64_t length = 1;
  ASSERT_EQ(pwrite(writer, &length, sizeof length, ring_names_at), static_cast<ssize_t>(sizeof length));
  const std::vector<Mark> marks = reader_->drain();
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0].name, "n");
  close(writer);
}

TEST_F(MarkRing, RecordsThatCannotBeAreCountedAndTheOthersKept) {
  RawRing ring(directory_->path());
  for (int i = 0; i < 7; ++i) ring.add(i);
  ring.record(0).time = ~std::uint64_t{0};
  ring.record(1).time = INT64_MAX;
  ring.record(2).kind = 200;
  ring.record(3).name = 0;
  ring.record(4).name = 1025;
  ring.record(5).value = std::nan("");
  close(ring.write_out());
  const std::vector<Mark> marks = reader_->drain();
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0].value, 6);
  EXPECT_EQ(marks[0].pid, 41);
  EXPECT_EQ(marks[0].tid, 42);
  EXPECT_EQ(reader_->lost(), 6);
}

struct BrokenRing {
  const char* name;
  void (*spoil)(RawRing&);
};

class BrokenRings : public MarkRing, public testing::WithParamInterface<BrokenRing> {};

TEST_P(BrokenRings, HarmOnlyThemselves) {
  RawRing ring(directory_->path());
  ring.add(1);
  GetParam().spoil(ring);
  const int writer = ring.write_out();
  run([] { mark("good", 1); });
  const std::vector<Mark> marks = reader_->drain();
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0].name, "good");
  ASSERT_EQ(reader_->problems().size(), 1u);
  EXPECT_EQ(reader_->problems()[0].where, ring.path);
  reader_->drain();
  EXPECT_EQ(reader_->problems().size(), 1u) << "told once";
  close(writer);
}

INSTANTIATE_TEST_SUITE_P(Kinds, BrokenRings,
                         testing::Values(BrokenRing{"Layout", [](RawRing& r) { r.header().layout = 1; }},
                                         BrokenRing{"Names", [](RawRing& r) { r.header().names = 1u << 31; }},
                                         BrokenRing{"Records", [](RawRing& r) { r.header().records = 0; }},
                                         BrokenRing{"HugeHead", [](RawRing& r) { r.header().lanes[2].head = UINT64_MAX; }},
                                         BrokenRing{"Clock", [](RawRing& r) { r.header().clock = RingClock{2}; }},
                                         BrokenRing{"HugeLost", [](RawRing& r) { r.header().lost = UINT64_MAX; }}),
                         [](const testing::TestParamInfo<BrokenRing>& ring) { return ring.param.name; });

TEST_F(MarkRing, ARingThatShrinksIsToldAndDoesNotKillTheReader) {
  RawRing ring(directory_->path());
  ring.add(1);
  const int writer = ring.write_out();
  EXPECT_EQ(reader_->drain().size(), 1u);
  ASSERT_EQ(ftruncate(writer, 100), 0);
  EXPECT_TRUE(reader_->drain().empty());
  ASSERT_EQ(reader_->problems().size(), 1u);
  close(writer);
}

TEST_F(MarkRing, ForeignThingsInTheDirectoryAreLeftAlone) {
  ASSERT_EQ(mkfifo((directory_->path() + "/fifo.ring").c_str(), 0600), 0);
  fs::create_symlink("/etc/passwd", directory_->path() + "/link.ring");
  fs::create_directory(directory_->path() + "/folder.ring");
  std::ofstream(directory_->path() + "/notes.txt") << "mine";
  run([] { mark("good", 1); });
  EXPECT_EQ(reader_->drain().size(), 1u);
  EXPECT_EQ(reader_->problems().size(), 3u);
  EXPECT_TRUE(fs::exists(directory_->path() + "/notes.txt"));
}

TEST_F(MarkRing, TheDirectoryIsPrivateAndGoesWithItsOwner) {
  const std::string path = directory_->path();
  struct stat about{};
  ASSERT_EQ(stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0700u);
  EXPECT_EQ(directory_->environment(), "JOULERY_RING=" + path);
  run([] { mark("unread", 1); });
  directory_.reset();
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace joulery
