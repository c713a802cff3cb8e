// What a recording does when the world is not kind: killed writers, full disks, damaged and foreign files.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

#include "record/sql.h"
#include "tests/unit/record/sample_run.h"

namespace joulery {
namespace {

std::unique_ptr<RecordingWriter> start(const std::string& path) {
  auto writer = RecordingWriter::create(path, two_devices(), {{"command", "[]"}});
  EXPECT_TRUE(writer) << writer.error().line();
  return writer ? std::move(*writer) : nullptr;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void put(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

void run_sql(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
}

// One clear line with the path in it.
void expect_error(const std::string& path, ErrorCode code) {
  const auto recording = Recording::open(path);
  ASSERT_FALSE(recording) << path;
  EXPECT_EQ(recording.error().code, code) << recording.error().line();
  EXPECT_NE(recording.error().line().find(path), std::string::npos) << recording.error().line();
  EXPECT_EQ(recording.error().line().find('\n'), std::string::npos);
}

// The rounds of device 0 are those of add_round() from 0 on, without a gap; how many, or -1.
std::int64_t rounds_in_order(const std::string& path) {
  const auto recording = Recording::open(path);
  if (!recording) {
    ADD_FAILURE() << recording.error().line();
    return -1;
  }
  const auto series = (*recording)->series(0);
  if (!series) {
    ADD_FAILURE() << series.error().line();
    return -1;
  }
  const auto count = static_cast<std::int64_t>(series->before.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<std::size_t>(i);
    if (series->columns[0].raw[row] != 1000 * i || series->before[row].ns != 5'000'150'000 + 100'000'000 * i) return -1;
  }
  return count;
}

// Runs `work` in a child process; its exit status.
int in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Writes rounds until it is killed, and says after each flush how many are safe.
[[noreturn]] void write_until_killed(const std::string& path, std::atomic<std::int64_t>* safe, unsigned seed) {
  std::mt19937 random(seed);
  auto writer = RecordingWriter::create(path, two_devices(), {});
  if (!writer) _exit(1);
  for (std::int64_t i = 0;;) {
    const std::int64_t end = i + static_cast<std::int64_t>(random() % 400);
    for (; i < end; ++i) add_round(**writer, 0, 1, i);
    (*writer)->add(Mark{{i}, 1, 1, MarkKind::point, "m", 0});
    if (!(*writer)->flush()) _exit(2);
    safe->store(i);
  }
}

TEST(RecordingDamage, AKilledWriterLosesOnlyWhatWasNotFlushed) {
  void* shared = mmap(nullptr, sizeof(std::atomic<std::int64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* safe = new (shared) std::atomic<std::int64_t>(0);
  std::mt19937 random(7);
  for (unsigned run = 0; run < 30; ++run) {
    TemporaryFolder folder;
    const std::string path = folder.file("a");
    safe->store(-1);
    const pid_t child = fork();
    if (child == 0) write_until_killed(path, safe, run);
    while (safe->load() < 0) usleep(200);
    usleep(static_cast<useconds_t>(random() % 60'000));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    const std::string before = bytes_of(path), log_before = bytes_of(path + "-wal");
    EXPECT_GE(rounds_in_order(path), safe->load()) << "run " << run;
    EXPECT_EQ(bytes_of(path), before);  // reading changes nothing
    EXPECT_EQ(bytes_of(path + "-wal"), log_before);
  }
  munmap(shared, sizeof(std::atomic<std::int64_t>));
}

// Leaves a recording as a killed writer does: 300 rounds in the log beside the file.
void leave_killed(const std::string& path) {
  ASSERT_EQ(in_child([&] {
              auto writer = RecordingWriter::create(path, two_devices(), {});
              if (!writer) return 1;
              for (std::int64_t i = 0; i < 300; ++i) add_round(**writer, 0, 1, i);
              if (!(*writer)->flush()) return 2;
              return kill(getpid(), SIGKILL);
            }),
            128 + SIGKILL);
  ASSERT_TRUE(std::filesystem::exists(path + "-wal"));
}

// In a child that is nobody, so that a folder without write permission is one even when the tests run as root.
int rounds_seen_by_nobody(const std::string& path) {
  return in_child([&] {
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) return 251;
    const auto recording = Recording::open(path);
    if (!recording) return 252;
    const auto series = (*recording)->series(0);
    return series ? static_cast<int>(series->before.size() / 10) : 253;
  });
}

TEST(RecordingDamage, AReadOnlyFolderIsNoHindrance) {
  for (const bool with_index : {true, false}) {
    TemporaryFolder folder;
    const std::string path = folder.file("a");
    leave_killed(path);
    if (!with_index) std::filesystem::remove(path + "-shm");  // as after copying the two files
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) ::chmod(entry.path().c_str(), 0444);
    ::chmod(folder.path().c_str(), 0555);
    EXPECT_EQ(rounds_seen_by_nobody(path), 30) << (with_index ? "with" : "without") << " an index";
    ::chmod(folder.path().c_str(), 0755);
  }
  TemporaryFolder folder;
  const std::string path = folder.file("closed");
  auto writer = start(path);
  for (std::int64_t i = 0; i < 300; ++i) add_round(*writer, 0, 1, i);
  ASSERT_TRUE(writer->close());
  ::chmod(path.c_str(), 0444);
  ::chmod(folder.path().c_str(), 0555);
  EXPECT_EQ(rounds_seen_by_nobody(path), 30);
  ::chmod(folder.path().c_str(), 0755);
}

TEST(RecordingDamage, AnUnwritableFolderIsAnErrorThatSaysSo) {
  TemporaryFolder folder;
  ::chmod(folder.path().c_str(), 0555);
  EXPECT_EQ(in_child([&] {
              if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) return 251;
              const auto writer = RecordingWriter::create(folder.file("a"), two_devices(), {});
              return !writer && writer.error().code == ErrorCode::permission && writer.error().where == folder.file("a") ? 0 : 1;
            }),
            0);
  ::chmod(folder.path().c_str(), 0755);
  const auto writer = RecordingWriter::create(folder.file("no/such/folder/a"), two_devices(), {});
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code, ErrorCode::not_found);
}

TEST(RecordingDamage, WhatExistsIsNeverOverwritten) {
  TemporaryFolder folder;
  put(folder.file("a"), "precious");
  const auto writer = RecordingWriter::create(folder.file("a"), two_devices(), {});
  ASSERT_FALSE(writer);
  EXPECT_NE(writer.error().line().find("exists"), std::string::npos);
  EXPECT_EQ(bytes_of(folder.file("a")), "precious");
  put(folder.file("b-wal"), "precious too");
  EXPECT_FALSE(RecordingWriter::create(folder.file("b"), two_devices(), {}));
  EXPECT_EQ(bytes_of(folder.file("b-wal")), "precious too");
  EXPECT_FALSE(std::filesystem::exists(folder.file("b")));
}

TEST(RecordingDamage, ATruncatedFileIsAnErrorOrWhole) {
  TemporaryFolder folder;
  auto writer = start(folder.file("whole"));
  for (std::int64_t i = 0; i < 20'000; ++i) add_round(*writer, 0, 1, i * i % 7919);
  ASSERT_TRUE(writer->close());
  const std::string whole = bytes_of(folder.file("whole"));
  for (std::size_t part = 0; part < 16; ++part) {
    const std::string path = folder.file("cut-" + std::to_string(part));
    put(path, whole.substr(0, whole.size() * part / 16));
    expect_error(path, ErrorCode::format);
    const auto answer = query(path, "SELECT count(*) FROM samples");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::format);
  }
  put(folder.file("less-a-byte"), whole.substr(0, whole.size() - 1));
  expect_error(folder.file("less-a-byte"), ErrorCode::format);
}

TEST(RecordingDamage, ForeignFilesAreAnError) {
  TemporaryFolder folder;
  put(folder.file("empty"), "");
  put(folder.file("text"), "timestamp, power\n2023/07/08, 126.96\n");
  put(folder.file("short"), "SQLite format 3");
  put(folder.file("header"), std::string("SQLite format 3\0", 16) + std::string(4080, 'x'));
  run_sql(folder.file("other.db"), "CREATE TABLE metadata(name, json); INSERT INTO metadata VALUES('command','[]')");
  for (const std::string name : {"empty", "text", "short", "header", "other.db"}) expect_error(folder.file(name), ErrorCode::format);
  expect_error(folder.file("none"), ErrorCode::not_found);
  EXPECT_FALSE(Recording::open(folder.path().string()));
}

TEST(RecordingDamage, ANewerFormatIsNamed) {
  TemporaryFolder folder;
  ASSERT_TRUE(start(folder.file("a"))->close());
  run_sql(folder.file("a"), "PRAGMA user_version=3");
  expect_error(folder.file("a"), ErrorCode::newer_format);
}

TEST(RecordingDamage, ATableThatLacksIsAnError) {
  for (const std::string table : {"device", "channel", "metadata"}) {
    TemporaryFolder folder;
    ASSERT_TRUE(start(folder.file("a"))->close());
    run_sql(folder.file("a"), "DROP TABLE " + table);
    const auto recording = Recording::open(folder.file("a"));
    ASSERT_FALSE(recording) << table;
    EXPECT_NE(recording.error().line().find(table), std::string::npos);
  }
}

// Chunks of 4096 rounds: 0, 4096, 8192. The middle one loses a byte, or its sense.
TEST(RecordingDamage, ADamagedChunkCostsItsOwnRounds) {
  const std::vector<std::string> damages = {
      "UPDATE chunk SET data = substr(data,1,20) || x'5a' || substr(data,22) WHERE device=0 AND first=4096",
      "UPDATE chunk SET data = x'' WHERE device=0 AND first=4096",
      "UPDATE chunk SET data = 7 WHERE device=0 AND first=4096",
      "UPDATE chunk SET data = x'ffffffff', crc32 = 4294967295 WHERE device=0 AND first=4096",
      "UPDATE chunk SET crc32 = crc32 + 1 WHERE device=0 AND first=4096",
  };
  for (const auto& damage : damages) {
    TemporaryFolder folder;
    auto writer = start(folder.file("a"));
    for (std::int64_t i = 0; i < 10'000; ++i) add_round(*writer, 0, 1, i);
    writer->add(RecordedEvent{{{0}, {1}}, "rounds missed", "", 1});
    ASSERT_TRUE(writer->close());
    run_sql(folder.file("a"), damage);

    const auto recording = Recording::open(folder.file("a"));
    ASSERT_TRUE(recording) << damage;
    const auto early = (*recording)->events();  // known by its checksum before anyone reads the series
    const auto series = (*recording)->series(0);
    const auto events = (*recording)->events();
    ASSERT_TRUE(series && early && events);
    ASSERT_EQ(series->before.size(), 10'000u - 4096u) << damage;
    EXPECT_EQ(series->columns[0].raw[4095], 4095 * 1000);
    EXPECT_EQ(series->columns[0].raw[4096], 8192 * 1000);
    EXPECT_EQ(series->columns[0].raw.back(), 9999 * 1000);
    // A chunk whose checksum was forged as well is found out when it is unpacked.
    EXPECT_EQ(early->size(), damage.find("crc32 = 42") == std::string::npos ? 2u : 1u);
    ASSERT_EQ(events->size(), 2u);
    EXPECT_EQ((*events)[1].kind, "chunk unreadable");
    EXPECT_EQ((*events)[1].count, 4096);
    EXPECT_EQ((*events)[1].detail, "rapl.powercap package-0, row 4096 on");
    // Rounded to whole microseconds: begin of round 4096, end of round 8191.
    EXPECT_EQ((*events)[1].when, (Interval{{5'000'150'000 + 4096 * 100'000'000LL}, {5'000'190'000 + 8191 * 100'000'000LL}}));
    const auto answer = query(folder.file("a"), "SELECT missing, count(*) FROM samples GROUP BY missing");
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->rows.size(), 2u);
    EXPECT_EQ(answer->rows[0][1], SqlValue(std::int64_t{10'000 - 4096}));
    EXPECT_EQ(answer->rows[1][0], SqlValue("chunk unreadable: 4096 rounds"));
  }
}

TEST(RecordingDamage, AbsurdRowCountsAllocateNothing) {
  TemporaryFolder folder;
  auto writer = start(folder.file("a"));
  add_round(*writer, 0, 1, 0);
  ASSERT_TRUE(writer->close());
  for (const std::string rows : {"-1", "0", "65537", "9223372036854775807", "'x'"}) {
    run_sql(folder.file("a"), "UPDATE chunk SET rounds = " + rows);
    const auto series = (*Recording::open(folder.file("a")))->series(0);
    ASSERT_TRUE(series);
    EXPECT_TRUE(series->before.empty());
  }
}

// A limit on the size of files stands for a full disk: SQLite sees the write fail in both cases.
TEST(RecordingDamage, AFullDiskLosesNothing) {
  TemporaryFolder folder;
  const std::string path = folder.file("a");
  const int status = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    auto writer = RecordingWriter::create(path, two_devices(), {});
    if (!writer) return 1;
    for (std::int64_t i = 0; i < 100; ++i) add_round(**writer, 0, 1, i);
    if (!(*writer)->flush()) return 2;
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    rlimit small = limit;
    small.rlim_cur = std::filesystem::file_size(path + "-wal") + 100;
    setrlimit(RLIMIT_FSIZE, &small);
    for (std::int64_t i = 100; i < 9000; ++i) {
      add_round(**writer, 0, 1, i);
      if (i % 1000 != 0) continue;
      const auto full = (*writer)->flush();
      if (full || full.error().what.empty() || full.error().where.empty()) return 3;
    }
    if (Recording::open(path)->get()->series(0)->before.size() != 100) return 4;  // what was written is still there
    setrlimit(RLIMIT_FSIZE, &limit);
    if (!(*writer)->flush()) return 5;
    return (*writer)->close() ? 0 : 6;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(rounds_in_order(path), 9000);
}

TEST(RecordingDamage, AFullDiskAtTheStartIsAnErrorAndLeavesNothing) {
  TemporaryFolder folder;
  const std::string path = folder.file("a");
  const int status = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{8192, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &small);
    const auto writer = RecordingWriter::create(path, two_devices(), {});
    return !writer && writer.error().where == path ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// A thread per device and one for marks, while a third flushes: everything arrives, in each thread's order.
TEST(RecordingDamage, ThreadsAddWhileAnotherFlushes) {
  TemporaryFolder folder;
  auto writer = start(folder.file("a"));
  constexpr std::int64_t rounds = 20'000;
  std::atomic<int> running = 3;
  const auto rounds_of = [&](std::size_t device, std::size_t channels) {
    for (std::int64_t i = 0; i < rounds; ++i) add_round(*writer, device, channels, i);
    --running;
  };
  std::thread first(rounds_of, 0, 1), second(rounds_of, 1, 2);
  std::thread marks([&] {
    for (std::int64_t i = 0; i < rounds; ++i) writer->add(Mark{{i}, 1, 1, MarkKind::work, "sample", 1});
    --running;
  });
  while (running > 0) {
    EXPECT_TRUE(writer->flush());
    usleep(1000);
  }
  first.join();
  second.join();
  marks.join();
  ASSERT_TRUE(writer->close());
  EXPECT_EQ(rounds_in_order(folder.file("a")), rounds);
  const auto recording = Recording::open(folder.file("a"));
  EXPECT_EQ((*recording)->series(1)->before.size(), static_cast<std::size_t>(rounds));
  EXPECT_EQ((*recording)->marks()->size(), static_cast<std::size_t>(rounds));
}

}  // namespace
}  // namespace joulery
