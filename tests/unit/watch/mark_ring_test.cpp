// Marks through their rings: the library as a program uses it (in forked children of the test), the reader as
// `joulery run` uses it, and rings written here byte by byte.
#include "watch/mark_ring.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "joulery/joulery.hpp"
#include "watch/mark_reader.h"
#include "watch/ring_directory.h"

namespace joulery {
namespace {

namespace fs = std::filesystem;

class MarkRing : public testing::Test {
 protected:
  void SetUp() override {
    parent_ = fs::temp_directory_path() / ("joulery-test-" + std::to_string(getpid()));
    fs::create_directory(parent_);
    directory_.emplace(RingDirectory::make_in(parent_).value());
    reader_.emplace(directory_->path());
  }
  void TearDown() override {
    directory_.reset();
    fs::remove_all(parent_);
  }

  // Runs `body` in a child that was given the ring directory; the child's pid.
  template <class Body>
  pid_t start(Body body) {
    const pid_t child = fork();
    if (child != 0) return child;
    setenv(ring_environment_variable, directory_->path().c_str(), 1);
    body();
    _exit(0);
  }
  static int wait_for(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    return status;
  }
  template <class Body>
  pid_t run(Body body) {
    const pid_t child = start(body);
    EXPECT_EQ(wait_for(child), 0);
    return child;
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory_->path()), fs::directory_iterator{}));
  }

  fs::path parent_;
  std::optional<RingDirectory> directory_;
  std::optional<MarkReader> reader_;
};

TEST_F(MarkRing, EveryKindArrivesWithItsNameValueAndTime) {
  const MonoTime before = mono_now();
  const pid_t child = run([] {
    Step step(64);
    mark("epoch", 3);
    kpi("accuracy", 0.93);
    work(512, "token");
  });
  const MonoTime after = mono_now();
  const std::vector<Mark> marks = reader_->drain();
  ASSERT_EQ(marks.size(), 5u);
  const std::tuple<MarkKind, const char*, double> wanted[] = {{MarkKind::step_begin, "step", 64},
                                                              {MarkKind::point, "epoch", 3},
                                                              {MarkKind::kpi, "accuracy", 0.93},
                                                              {MarkKind::work, "token", 512},
                                                              {MarkKind::step_end, "step", 0}};
  for (std::size_t i = 0; i < marks.size(); ++i) {
    EXPECT_EQ(std::make_tuple(marks[i].kind, marks[i].name, marks[i].value), (std::tuple<MarkKind, std::string, double>(wanted[i])));
    EXPECT_EQ(marks[i].pid, child);
    EXPECT_EQ(marks[i].tid, child);
    EXPECT_TRUE(before <= marks[i].time && marks[i].time <= after);
  }
  EXPECT_EQ(reader_->lost(), 0);
  EXPECT_EQ(files(), 0u) << "a ring whose process is gone is removed once it is read";
}

TEST_F(MarkRing, WithoutARingNothingHappens) {
  const pid_t child = fork();
  if (child == 0) {
    unsetenv(ring_environment_variable);
    errno = 77;
    Step step(1);
    mark("epoch", 1);
    _exit(!active() && lost() == 0 && errno == 77 ? 0 : 1);
  }
  EXPECT_EQ(wait_for(child), 0);
}

TEST_F(MarkRing, ADirectoryThatIsNotThereDisturbsNobody) {
  EXPECT_EQ(wait_for(start([] {
              setenv(ring_environment_variable, "/nowhere/at/all", 1);
              errno = 77;
              mark("epoch", 1);
              if (active() || errno != 77) _exit(1);
            })),
            0);
}

TEST_F(MarkRing, ManyThreadsLoseNothing) {
  constexpr int threads = 8, each = 3000;  // 24,000: fits
  run([] {
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t)
      workers.emplace_back([t] {
        const Name name(("thread" + std::to_string(t)).c_str());
        for (int i = 0; i < each; ++i) mark(name, i);
      });
    for (std::thread& worker : workers) worker.join();
  });
  std::map<std::string, double> next;
  std::map<std::string, std::int32_t> tid;
  for (const Mark& m : reader_->drain()) {
    EXPECT_EQ(m.value, next[m.name]++) << "each thread's marks keep their order";
    EXPECT_EQ(tid.try_emplace(m.name, m.tid).first->second, m.tid);
  }
  ASSERT_EQ(next.size(), static_cast<std::size_t>(threads));
  for (const auto& [name, count] : next) EXPECT_EQ(count, each);
  EXPECT_EQ(reader_->lost(), 0);
}

TEST_F(MarkRing, AFullRingDropsTheNewAndCountsIt) {
  run([] {
    const Name name("n");
    for (std::size_t i = 0; i < ring_records + 100; ++i) mark(name, static_cast<double>(i));
    if (lost() != 100) _exit(1);
  });
  const std::vector<Mark> marks = reader_->drain();
  ASSERT_EQ(marks.size(), ring_records);
  EXPECT_EQ(marks.front().value, 0);
  EXPECT_EQ(marks.back().value, static_cast<double>(ring_records - 1));
  EXPECT_EQ(reader_->lost(), 100);
}

TEST_F(MarkRing, DrainingMakesRoomAndTheRingGoesRound) {
  int ask[2], answer[2];
  ASSERT_EQ(pipe(ask) + pipe(answer), 0);
  const pid_t child = start([&] {
    char c;
    double i = 0;
    while (read(ask[0], &c, 1) == 1 && c == 'm') {
      for (int n = 0; n < 20000; ++n) mark("n", i++);
      if (write(answer[1], "k", 1) != 1) _exit(2);
    }
  });
  double next = 0;
  for (int round = 0; round < 6; ++round) {  // 120,000: over three times round
    char c;
    ASSERT_EQ(write(ask[1], "m", 1), 1);
    ASSERT_EQ(read(answer[0], &c, 1), 1);
    for (const Mark& m : reader_->drain()) ASSERT_EQ(m.value, next++);
    ASSERT_EQ(next, (round + 1) * 20000.0);
  }
  ASSERT_EQ(write(ask[1], "q", 1), 1);
  EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(reader_->lost(), 0);
}

TEST_F(MarkRing, AForkedChildHasItsOwnRingAndTheSameNames) {
  const pid_t parent = run([] {
    const Name name("shared");
    mark(name, 1);
    const pid_t child = fork();
    mark(name, child == 0 ? 2 : 3);
    if (child == 0) _exit(joulery_name("shared") == name.id() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) _exit(1);
  });
  EXPECT_EQ(files(), 2u);
  const std::vector<Mark> marks = reader_->drain();
  ASSERT_EQ(marks.size(), 3u);
  for (const Mark& m : marks) {
    EXPECT_EQ(m.name, "shared");
    EXPECT_EQ(m.pid == parent, m.value != 2);
    EXPECT_EQ(m.tid, m.pid) << "the thread's number is the child's own";
  }
}

TEST_F(MarkRing, RanksMergeInOrderOfTime) {
  std::vector<pid_t> ranks;
  for (int r = 0; r < 4; ++r)
    ranks.push_back(start([] {
      for (int i = 0; i < 500; ++i) Step step(32);
    }));
  for (const pid_t rank : ranks) EXPECT_EQ(wait_for(rank), 0);
  const std::vector<Mark> marks = reader_->drain();
  EXPECT_EQ(marks.size(), 4000u);
  EXPECT_TRUE(std::is_sorted(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.time < b.time; }));
}

TEST_F(MarkRing, MoreRingsThanTheReaderHoldsOpenAreAllRead) {
  for (int i = 0; i < 600; ++i) run([] { mark("n", 1); });
  EXPECT_EQ(reader_->drain().size(), 600u);
  EXPECT_EQ(files(), 0u);
}

// Whatever moment the kill hits: each mark was given out or is counted, and the order is kept.
TEST_F(MarkRing, AKilledWriterLeavesAReadableRing) {
  const pid_t child = start([] {
    for (double i = 0;; ++i) mark("n", i);
  });
  std::vector<Mark> all;
  while (all.size() < 100000) {
    const std::vector<Mark> some = reader_->drain();
    all.insert(all.end(), some.begin(), some.end());
  }
  kill(child, SIGKILL);
  wait_for(child);
  const std::vector<Mark> rest = reader_->drain();
  all.insert(all.end(), rest.begin(), rest.end());
  for (std::size_t i = 1; i < all.size(); ++i) ASSERT_LT(all[i - 1].value, all[i].value);
  EXPECT_GE(static_cast<double>(all.size()) + static_cast<double>(reader_->lost()), all.back().value + 1);
  EXPECT_EQ(files(), 0u);
}

TEST_F(MarkRing, ValuesThatAreNoNumbersAndNamesThatAreNoneAreCounted) {
  run([] {
    kpi("loss", std::nan(""));
    mark("", 1);
    mark(nullptr, 1);
    joulery_place(JOULERY_POINT, 700, 1);  // never given by joulery_name()
    joulery_place(99, joulery_name("x"), 1);
    Step step(INFINITY);  // the step is real
  });
  const std::vector<Mark> marks = reader_->drain();
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_EQ(marks[0].kind, MarkKind::step_begin);
  EXPECT_EQ(marks[0].value, 0);
  EXPECT_EQ(reader_->lost(), 5);
}

TEST_F(MarkRing, NamesAreCutBetweenCharactersAndCleaned) {
  run([] {
    mark((std::string(118, 'a') + "é").c_str(), 1);  // é would end at byte 120
    mark("caf\xc3\xa9", 2);
    mark("bad\xff\x1b[31m", 3);
  });
  const std::vector<Mark> marks = reader_->drain();
  ASSERT_EQ(marks.size(), 3u);
  EXPECT_EQ(marks[0].name, std::string(118, 'a'));
  EXPECT_EQ(marks[1].name, "café");
  EXPECT_EQ(marks[2].name, "bad??[31m");
}

TEST_F(MarkRing, TooManyNamesAreCountedAsLost) {
  run([] {
    for (std::size_t i = 0; i < ring_names + 10; ++i) mark(("n" + std::to_string(i)).c_str(), 1);
  });
  EXPECT_EQ(reader_->drain().size(), ring_names);
  EXPECT_EQ(reader_->lost(), 10);
}

TEST_F(MarkRing, AProcessWithoutRoomForARingIsTold) {
  EXPECT_EQ(wait_for(start([] {
              const rlimit limit{4096, 4096};
              setrlimit(RLIMIT_FSIZE, &limit);
              mark("n", 1);  // without care this would be SIGXFSZ
              if (active()) _exit(1);
            })),
            0);
  EXPECT_TRUE(reader_->drain().empty());
  EXPECT_EQ(reader_->unheard_processes(), 1);
  EXPECT_EQ(files(), 0u);
}

// ---- rings written by hand ----

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
    const std::uint64_t at = header().head++;
    record(at) = {at + 1, static_cast<std::int64_t>(at), value, 42, 1, JOULERY_POINT};
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
  ring.record(0).time_ns = -5;
  ring.record(1).time_ns = INT64_MAX;
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
                         testing::Values(BrokenRing{"Layout", [](RawRing& r) { r.header().layout = 2; }},
                                         BrokenRing{"Names", [](RawRing& r) { r.header().names = 1u << 31; }},
                                         BrokenRing{"Records", [](RawRing& r) { r.header().records = 0; }},
                                         BrokenRing{"HugeHead", [](RawRing& r) { r.header().head = UINT64_MAX; }},
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
