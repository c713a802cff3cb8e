#include "watch/resident_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace joulery {
namespace {

namespace fs = std::filesystem;

class ResidentMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/joulery-memory-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    root = name;
  }
  void TearDown() override { fs::remove_all(root); }
  void lay(int pid, const std::string& name, long start, long pages) {
    const fs::path folder = root / "proc" / std::to_string(pid);
    fs::create_directories(folder);
    std::ofstream(folder / "stat") << pid << " (" << name << ") S 1 " << pid << " 0 0 -1 0 0 0 0 0 5 5 0 0 20 0 1 0 " << start << " 0 0\n";
    std::ofstream(folder / "statm") << "9999 " << pages << " 10 1 0 100 0\n";
  }
  fs::path root;
};

TEST_F(ResidentMemoryTest, TellsAllThatLiveWithTheirBytes) {
  lay(42, "a) R (b", 7, 100);
  lay(43, "kthread", 1, 0);
  fs::create_directories(root / "proc/sys");
  ResidentMemory memory(root.string());
  const auto& holders = memory.look();
  ASSERT_EQ(holders.size(), 2u);
  EXPECT_EQ(holders.at(42).bytes, 100 * ::sysconf(_SC_PAGESIZE));
  EXPECT_EQ(holders.at(42).name, "a) R (b");
  EXPECT_EQ(holders.at(42).id, (ProcessId{42, 7}));
  EXPECT_EQ(holders.at(43).bytes, 0);
}

CpuUse use_of(int pid, long start, const std::string& name, bool ended = false) {
  CpuUse use;
  use.id = {pid, start};
  use.name = name;
  use.ended = ended;
  return use;
}

TEST_F(ResidentMemoryTest, WhoRanIsReadAgainWithinTenLooks) {
  lay(42, "a", 7, 100);
  lay(43, "sleeper", 7, 100);
  ResidentMemory memory(root.string());
  memory.look();
  lay(42, "a", 7, 300);
  lay(43, "sleeper", 7, 300);
  memory.ran(use_of(42, 7, "a after exec"));
  for (int i = 0; i < 10; ++i) memory.look();
  EXPECT_EQ(memory.look().at(42).bytes, 300 * ::sysconf(_SC_PAGESIZE));
  EXPECT_EQ(memory.look().at(42).name, "a after exec");
  for (int i = 0; i < 200; ++i) memory.look();
  EXPECT_EQ(memory.look().at(43).bytes, 300 * ::sysconf(_SC_PAGESIZE)) << "the kernel may take pages from who sleeps";
}

TEST_F(ResidentMemoryTest, WhoIsNewIsReadAtTheNextLook) {
  ResidentMemory memory(root.string());
  memory.look();
  lay(44, "late", 8, 5);
  memory.ran(use_of(44, 8, "late"));
  EXPECT_EQ(memory.look().at(44).bytes, 0) << "not read yet";
  EXPECT_EQ(memory.look().at(44).bytes, 5 * ::sysconf(_SC_PAGESIZE));
  memory.ran(use_of(45, 9, "short"));  // it has gone meanwhile
  memory.look();
  EXPECT_FALSE(memory.look().contains(45));
}

TEST_F(ResidentMemoryTest, APidThatIsAnotherProcessNowIsToldAnew) {
  lay(42, "a", 7, 100);
  ResidentMemory memory(root.string());
  memory.look();
  lay(42, "b", 9, 300);
  memory.ran(use_of(42, 9, "b"));
  memory.look();
  const auto& holder = memory.look().at(42);
  EXPECT_EQ(holder.id, (ProcessId{42, 9}));
  EXPECT_EQ(holder.bytes, 300 * ::sysconf(_SC_PAGESIZE));
}

TEST_F(ResidentMemoryTest, WhoCameOrWentWithoutAWordIsSeenInTheEnd) {
  lay(42, "a", 7, 100);
  lay(43, "a", 7, 100);
  ResidentMemory memory(root.string());
  memory.look();
  fs::remove_all(root / "proc/42");
  lay(43, "b", 9, 300);
  lay(44, "late", 8, 5);
  for (int i = 0; i < 201; ++i) memory.look();
  EXPECT_FALSE(memory.look().contains(42));
  EXPECT_EQ(memory.look().at(43).id, (ProcessId{43, 9}));
  EXPECT_TRUE(memory.look().contains(44));
}

TEST_F(ResidentMemoryTest, WhatIsSaidToHaveEndedIsForgottenAtOnce) {
  lay(42, "a", 7, 100);
  lay(43, "b", 8, 100);
  ResidentMemory memory(root.string());
  memory.look();
  memory.ran(use_of(42, 7, "a", true));
  memory.ran(use_of(43, 9, "b", true));  // another process that had the pid
  EXPECT_FALSE(memory.look().contains(42));
  EXPECT_TRUE(memory.look().contains(43));
}

TEST_F(ResidentMemoryTest, ThisProcessHoldsSome) {
  ResidentMemory memory;
  EXPECT_GT(memory.look().at(::getpid()).bytes, 0);
}

}  // namespace
}  // namespace joulery
