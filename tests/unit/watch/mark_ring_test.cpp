// Marks through their rings: the library as a program uses it (in forked children of the test) and the reader as
// `joulery run` uses it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
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
#include "tests/unit/watch/mark_ring_fixture.h"

namespace joulery {
namespace {

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

constexpr std::size_t room = shared_lane_records + own_lane_records;  // of a single thread

TEST_F(MarkRing, AFullRingDropsTheNewAndCountsIt) {
  run([] {
    const Name name("n");
    for (std::size_t i = 0; i < room + 100; ++i) mark(name, static_cast<double>(i));
    if (lost() != 100) _exit(1);
  });
  const std::vector<Mark> marks = reader_->drain();
  ASSERT_EQ(marks.size(), room);
  for (std::size_t i = 0; i < room; ++i) ASSERT_EQ(marks[i].value, static_cast<double>(i)) << "one order, whichever lane";
  EXPECT_EQ(reader_->lost(), 100);
}

// More threads than lanes, one after the other: each gets the lane that the last gave back, and none fills the shared one.
TEST_F(MarkRing, ThreadsThatEndGiveTheirLanesBack) {
  run([] {
    const Name name("n");
    for (int t = 0; t < 20; ++t)
      std::thread([&] {
        for (std::size_t i = 0; i < own_lane_records / 20; ++i) mark(name, 1);
      }).join();
  });
  EXPECT_EQ(reader_->drain().size(), 20 * (own_lane_records / 20));
  EXPECT_EQ(reader_->lost(), 0);
}

void mark_in_handler(int) { mark("handler", 2); }

// A signal that falls between any two instructions of a mark: both marks arrive.
TEST_F(MarkRing, AHandlersMarksDoNotDisturbThoseOfItsThread) {
  constexpr int signals = 2000;
  const pid_t child = start([] {
    std::signal(SIGUSR1, mark_in_handler);
    double i = 0;
    const Name name("main");
    mark("ready", 1);
    while (i < 30000) {
      mark(name, i++);
      if (static_cast<int>(i) % 1000 == 0) usleep(2000);  // the reader's turn
    }
    pause();
  });
  std::map<std::string, double> counts;
  int sent = 0;
  while (counts["main"] < 30000) {
    if (counts["ready"] > 0 && sent < signals && kill(child, SIGUSR1) == 0) ++sent;
    for (const Mark& m : reader_->drain()) {
      if (m.name == "main") { ASSERT_EQ(m.value, counts["main"]); }
      ++counts[m.name];
    }
  }
  kill(child, SIGKILL);
  wait_for(child);
  EXPECT_GT(counts["handler"], 0);
  EXPECT_EQ(reader_->lost(), 0);
}

// The lane of a forked child's parent is not the child's, neither while it marks nor when it ends.
TEST_F(MarkRing, AChildForkedInAThreadLeavesItsParentsLaneAlone) {
  run([] {
    std::thread([] {
      mark("parent", 1);
      const pid_t child = fork();
      if (child == 0) {
        mark("child", 2);
        std::atexit([] { _exit(0); });  // before the leak sanitizer, which a fork within a thread confuses
        pthread_exit(nullptr);          // the last thread of the child: its destructors run
      }
      int status = 0;
      waitpid(child, &status, 0);
      mark("parent", status);
    }).join();
  });
  const std::vector<Mark> marks = reader_->drain();
  ASSERT_EQ(marks.size(), 3u);
  EXPECT_EQ(marks[2].name, "parent");
  EXPECT_EQ(marks[2].value, 0) << "the child ended well";
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

}  // namespace
}  // namespace joulery
