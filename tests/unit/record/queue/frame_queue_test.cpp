// Kills, torn and damaged files, full disks and bounds: what goes into the queue comes out, in order.
#include "record/queue/frame_queue.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>

namespace joulery {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/joulery-queue-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  // The queue's files, the oldest first.
  std::vector<fs::path> segments() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(path_))
      if (entry.path().extension() == ".frames") found.push_back(entry.path());
    std::ranges::sort(found);
    return found;
  }

 private:
  std::string path_;
};

std::unique_ptr<FrameQueue> open(const std::string& folder, QueueOptions options = {}) {
  options.folder = folder;
  auto queue = FrameQueue::open(std::move(options));
  EXPECT_TRUE(queue) << queue.error().line();
  return queue ? *std::move(queue) : nullptr;
}

std::vector<std::string> payloads(const std::vector<Frame>& frames) {
  std::vector<std::string> texts;
  for (const Frame& frame : frames) texts.push_back(frame.payload);
  return texts;
}

constexpr std::uint64_t all = 1 << 30;
using Texts = std::vector<std::string>;

TEST(FrameQueue, GivesTheOldestUntilTheyAreDone) {
  const Folder folder;
  const auto queue = open(folder.path());
  for (const auto* text : {"one", "two", "three"}) queue->add(text);
  EXPECT_EQ(payloads(queue->oldest(6)), (Texts{"one", "two"}));
  EXPECT_EQ(payloads(queue->oldest(1)), (Texts{"one"}));  // at least one
  queue->done(queue->oldest(6).back().sequence);
  EXPECT_EQ(payloads(queue->oldest(all)), (Texts{"three"}));
  queue->done(queue->oldest(all).back().sequence);
  EXPECT_TRUE(queue->oldest(all).empty());
  EXPECT_EQ(queue->state().queued_bytes, 0u);
}

TEST(FrameQueue, ARestartGoesOnWhereTheReceiverWas) {
  const Folder folder;
  {
    const auto queue = open(folder.path());
    for (const auto* text : {"one", "two", "three"}) queue->add(text);
    queue->done(queue->oldest(1).back().sequence);
  }
  const auto queue = open(folder.path());
  queue->add("four");
  EXPECT_EQ(payloads(queue->oldest(all)), (Texts{"two", "three", "four"}));
  EXPECT_EQ(queue->state().damaged_bytes, 0u);
}

TEST(FrameQueue, BelongsToOneProcess) {
  const Folder folder;
  const auto queue = open(folder.path());
  const auto second = FrameQueue::open({.folder = folder.path()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::busy);
}

TEST(FrameQueue, BeyondItsBoundTheOldestGoAndAreCounted) {
  const Folder folder;
  const auto queue = open(folder.path(), {.most_bytes = 4000, .segment_bytes = 1000});
  for (int i = 0; i < 100; ++i) queue->add(std::string(80, static_cast<char>('a' + i % 26)));  // 100 bytes each with its head
  const auto left = queue->oldest(all);
  EXPECT_EQ(left.size() + queue->state().dropped_frames, 100u);
  EXPECT_GE(left.size(), 30u);  // no more than one segment below the bound
  EXPECT_LE(left.size(), 40u);
  EXPECT_EQ(left.back().sequence, 100u);
  EXPECT_EQ(left.front().sequence, 101 - left.size());
  EXPECT_EQ(queue->state().dropped_bytes, queue->state().dropped_frames * 80);
}

TEST(FrameQueue, WhatIsDoneLeavesTheDisk) {
  const Folder folder;
  const auto queue = open(folder.path(), {.most_bytes = 40000, .segment_bytes = 1000});
  for (int i = 0; i < 100; ++i) queue->add(std::string(80, 'x'));
  EXPECT_EQ(folder.segments().size(), 10u);
  queue->done(95);  // without a look: what is done is passed over
  EXPECT_EQ(queue->oldest(all).size(), 5u);
  EXPECT_EQ(folder.segments().size(), 1u);
  EXPECT_EQ(queue->state().damaged_bytes, 0u);
  EXPECT_EQ(queue->state().queued_bytes, 500u);
}

// Cut at each byte, the file gives all frames that are whole, and what is added later follows them.
TEST(FrameQueue, ATornLastFrameIsCut) {
  const Folder whole;
  {
    const auto queue = open(whole.path());
    for (const auto* text : {"one", "two", "three"}) queue->add(text);
  }
  const fs::path file = whole.segments().at(0);
  const auto size = fs::file_size(file);
  ASSERT_EQ(size, 3u * frame_head_bytes + 11);
  for (std::uintmax_t length = 0; length < size; ++length) {
    const Folder folder;
    fs::copy(file, fs::path(folder.path()) / file.filename());
    fs::resize_file(fs::path(folder.path()) / file.filename(), length);
    Texts expected;
    if (length >= frame_head_bytes + 3) expected.push_back("one");
    if (length >= 2 * frame_head_bytes + 6) expected.push_back("two");
    const auto queue = open(folder.path());
    queue->add("later");
    expected.push_back("later");
    ASSERT_EQ(payloads(queue->oldest(all)), expected) << length;
  }
}

// A byte that is wrong costs the frame in which it lies.
TEST(FrameQueue, ADamagedByteCostsItsFrame) {
  const Folder whole;
  const Texts texts{"first", "second", "third"};
  {
    const auto queue = open(whole.path());
    for (const std::string& text : texts) queue->add(text);
  }
  const fs::path file = whole.segments().at(0);
  std::size_t end = 0;
  std::vector<std::size_t> ends;
  for (const std::string& text : texts) ends.push_back(end += frame_head_bytes + text.size());
  for (std::size_t at = 0; at < end; ++at) {
    const Folder folder;
    const fs::path copy = fs::path(folder.path()) / file.filename();
    fs::copy(file, copy);
    std::fstream stream(copy, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(stream.get() ^ 0x10);
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(byte).flush();
    Texts expected;
    for (std::size_t i = 0; i < texts.size(); ++i)
      if (at >= ends[i] || (i > 0 && at < ends[i - 1])) expected.push_back(texts[i]);
    const auto queue = open(folder.path());
    ASSERT_EQ(payloads(queue->oldest(all)), expected) << at;
    if (!expected.empty()) queue->done(queue->oldest(all).back().sequence);
    ASSERT_GT(queue->state().damaged_bytes, 0u) << at;
  }
}

// A file system of 64 KiB fills up: the newest stay in memory, the trouble is told, and all is on disk once there is room.
TEST(FrameQueue, AFullDiskKeepsTheNewestInMemory) {
  const Folder folder;
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "skipped: a file system of its own needs root";
  {
    const fs::path filler = fs::path(folder.path()) / "filler";
    const auto queue = open(folder.path(), {.most_memory_bytes = 10'000});
    std::ofstream(filler) << std::string(40'000, 'f');
    for (int i = 0; i < 10; ++i) queue->add(std::string(4000, static_cast<char>('0' + i)));
    const QueueState full = queue->state();
    EXPECT_NE(full.trouble.find("No space left"), std::string::npos) << full.trouble;
    EXPECT_EQ(full.memory_bytes, 8000u);
    const auto left = queue->oldest(all);
    EXPECT_EQ(left.size() + full.dropped_frames, 10u);
    EXPECT_EQ(left.back().payload[0], '9');
    EXPECT_EQ(left.front().payload[0], '0');  // what is on disk stays
    fs::remove(filler);
    queue->add("room");
    EXPECT_EQ(queue->state().trouble, "");
    EXPECT_EQ(queue->state().memory_bytes, 0u);
    EXPECT_EQ(payloads(queue->oldest(all)).size(), left.size() + 1);
    queue->done(left.back().sequence);
    EXPECT_EQ(payloads(queue->oldest(all)), (Texts{"room"}));
  }
  ::umount(folder.path().c_str());
}

// The number of the last frame that was added, and of the one that will be done.
void tell(int pipe, std::uint64_t added, std::uint64_t done) {
  const std::uint64_t report[2] = {added, done};
  if (::write(pipe, report, sizeof report) != sizeof report) ::_exit(1);
}

// A process adds numbered frames, says done() now and then, and is killed at a random moment, again and again: everything whose
// add() had returned and that was not done is there, in order.
TEST(FrameQueue, LosesNothingToKills) {
  const Folder folder;
  std::srand(20);
  std::uint64_t added = 0, done = 0;
  for (int round = 0; round < 40; ++round) {
    int told[2];
    ASSERT_EQ(::pipe(told), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const auto queue = open(folder.path(), {.most_bytes = 4 << 20, .segment_bytes = 4096});
      for (std::uint64_t number = added + 1;; ++number) {
        const auto frames = number % 7 == 0 ? queue->oldest(300) : std::vector<Frame>();
        if (!frames.empty()) {
          tell(told[1], number - 1, std::stoull(frames.back().payload));
          queue->done(frames.back().sequence);
        }
        queue->add(std::to_string(number) + std::string(number % 50, '.'));
        tell(told[1], number, 0);
      }
    }
    ::close(told[1]);
    ::usleep(static_cast<useconds_t>(2000 + std::rand() % 8000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    std::uint64_t report[2];
    while (::read(told[0], report, sizeof report) == sizeof report) {
      added = report[0];
      done = std::max(done, report[1]);
    }
    ::close(told[0]);
    const auto queue = open(folder.path(), {.most_bytes = 4 << 20, .segment_bytes = 4096});
    const auto left = queue->oldest(all);
    std::uint64_t expected = left.empty() ? added + 1 : std::stoull(left.front().payload);
    ASSERT_LE(expected, done + 1);  // nothing between what was done and what is left
    for (const Frame& frame : left) ASSERT_EQ(std::stoull(frame.payload), expected++);
    ASSERT_GE(expected, added + 1);
    ASSERT_EQ(queue->state().dropped_frames, 0u);
    added = expected - 1;  // one more may have gone in before the kill
  }
  EXPECT_GT(added, 100u);
}

// Any order of adding, taking, and opening anew: the queue gives what a plain list gives.
TEST(FrameQueue, BehavesAsAListDoes) {
  ASSERT_TRUE(rc::check([] {
    const Folder folder;
    const QueueOptions options{.most_bytes = 1 << 20, .segment_bytes = *rc::gen::inRange<std::uint64_t>(30, 400)};
    auto queue = open(folder.path(), options);
    std::deque<std::string> list;
    for (const auto step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 10))) {
      if (step < 5) {
        list.push_back(std::string(static_cast<std::size_t>(step) * 17, static_cast<char>('a' + list.size() % 26)));
        queue->add(list.back());
      } else if (step < 9) {
        const auto frames = queue->oldest(static_cast<std::uint64_t>(step - 4) * 30);
        RC_ASSERT(frames.empty() == list.empty());
        for (std::size_t i = 0; i < frames.size(); ++i) RC_ASSERT(frames[i].payload == list[i]);
        const std::size_t taken = frames.size() / (step % 2 ? 1 : 2);
        if (taken) queue->done(frames[taken - 1].sequence);
        list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(taken));
      } else {
        queue.reset();
        queue = open(folder.path(), options);
      }
    }
    const auto rest = payloads(queue->oldest(all));
    RC_ASSERT(rest == Texts(list.begin(), list.end()));
    RC_ASSERT(queue->state().damaged_bytes == 0u);
    RC_ASSERT(queue->state().dropped_frames == 0u);
  }));
}

}  // namespace
}  // namespace joulery
