// xplane.pb, nsys' SQLite, Perfetto, gzip.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <map>

#include "tests/unit/watch/profile/wire.h"
#include "watch/profile/read_profile.h"

namespace joulery {
namespace {

using namespace wire;

Result<Profile> read(std::string_view text, const ProfileLimits& limits = {}) {
  TraceInput input = TraceInput::of_bytes(text, "trace", limits);
  return read_profile(input);
}

std::string name_entry(std::uint32_t field, std::uint64_t id, std::string_view name) {
  return bytes(field, number(1, id) + bytes(2, number(1, id) + bytes(2, name)));
}

// A host whose line counts from the profile's start, and the plane that tells when that was.
std::string xplane() {
  const std::string op = number(1, 1) + number(2, 1'500) + number(3, 2'000'400);              // 1.5 ns, 2000.4 ns
  const std::string step = number(1, 2) + number(2, 0) + number(3, 5'000'000) + bytes(4, number(1, 1) + number(4, 12));
  const std::string line = number(1, 42) + bytes(2, "python") + number(3, 100) + bytes(4, step) + bytes(4, op);
  const std::string host = number(1, 1) + bytes(2, "/host:CPU") + bytes(3, line) + name_entry(4, 1, "net/dense/MatMul:MatMul") +
                           name_entry(4, 2, "train") + name_entry(5, 1, "step_num");
  const std::string environment =
      bytes(2, "Task Environment") + name_entry(5, 1, "profile_start_time") + bytes(6, number(1, 1) + number(3, 1'700'000'000'000'000'000));
  return bytes(1, host) + bytes(1, environment) + bytes(4, "host");
}

TEST(Xplane, LinesCountFromTheProfilesStart) {
  const auto profile = read(xplane());
  ASSERT_TRUE(profile) << profile.error().line();
  EXPECT_EQ(profile->format, "xplane");
  EXPECT_EQ(profile->framework, "tensorflow");
  EXPECT_EQ(profile->clock, ProfileClock::wall);
  ASSERT_EQ(profile->steps.size(), 1u);
  EXPECT_EQ(profile->steps[0].number, 12);
  EXPECT_EQ(profile->steps[0].begin, 1'700'000'000'000'000'100);
  const ProfileEvent& op = profile->tracks[0].events.at(0);
  EXPECT_EQ(profile->name(op.name), "MatMul");
  EXPECT_EQ(profile->name(op.layer), "net/dense");
  EXPECT_EQ(op.kind, EventKind::op);
  EXPECT_EQ(op.begin, 1'700'000'000'000'000'102);   // 1.5 ns rounds away from zero
  EXPECT_EQ(op.end(), 1'700'000'000'000'002'102);   // 2001.9 ns: the end by itself, not begin and duration rounded apart
}

TEST(Xplane, TheSyntheticTwoStepsAreRead) {
  const std::string path = JOULERY_SOURCE_DIR "/../shared/data/profiles/xplane/SYNTHETIC_two_step.xplane.pb";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "skipped: no ../shared";
  const auto profile = read_profile(path);
  ASSERT_TRUE(profile) << profile.error().line();
  ASSERT_EQ(profile->steps.size(), 2u);
  EXPECT_EQ(profile->steps[1].begin - profile->steps[0].begin, 10'000'000);
  std::int64_t kernels = 0, copies = 0;
  for (const ProfileTrack& track : profile->tracks)
    for (const ProfileEvent& event : track.events)
      (event.kind == EventKind::kernel ? kernels : copies) += track.kind == TrackKind::stream ? event.duration : 0;
  EXPECT_EQ(kernels, 8'000'000);
  EXPECT_EQ(copies, 1'000'000);
}

TEST(Xplane, CutAndLyingFilesAreErrors) {
  const std::string whole = xplane();
  for (std::size_t size = 60; size < whole.size(); ++size)
    (void)read(whole.substr(0, size));   // whole fields may be missing: no crash is what counts
  EXPECT_FALSE(read(whole.substr(0, whole.size() / 2)));
  // A plane that says it is 10 GB long.
  const std::string liar = varint(1 << 3 | 2) + varint(10'000'000'000) + number(1, 1) + bytes(2, "/host:CPU") + bytes(3, "");
  const auto profile = read(liar);
  ASSERT_FALSE(profile);
  EXPECT_NE(profile.error().what.find("cut short"), std::string::npos) << profile.error().line();
  // A name that says so inside of a plane that does not.
  const std::string name = number(1, 1) + bytes(2, "/host:CPU") + varint(4 << 3 | 2) + varint(10'000'000'000);
  const auto inner = read(bytes(1, name));
  ASSERT_FALSE(inner);
  EXPECT_NE(inner.error().what.find("reaches beyond"), std::string::npos) << inner.error().line();
}

TEST(Nsys, TablesAreProbed) {
  const std::string path = ::testing::TempDir() + "nsys-" + std::to_string(getpid()) + ".sqlite";
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  const char* const sql =
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, \"end\" INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, "
      "globalPid INTEGER, shortName INTEGER);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, \"end\" INTEGER, globalTid INTEGER, correlationId INTEGER);"  // no nameId: another version
      "CREATE TABLE NVTX_EVENTS (start INTEGER, \"end\" INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);"
      "INSERT INTO StringIds VALUES (1, 'gemm');"
      "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1730000000000000000);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000, 6000, 1, 7, 11, 4242*0x1000000, 1);"
      "INSERT INTO NVTX_EVENTS VALUES (1800, 7000, 59, 'step 4', 4242*0x1000000+4243), (1, 2, 34, 'a mark', 0);";
  ASSERT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
  const auto profile = read_profile(path);
  ASSERT_TRUE(profile) << profile.error().line();
  EXPECT_EQ(profile->clock, ProfileClock::wall);
  ASSERT_EQ(profile->steps.size(), 1u);
  EXPECT_EQ(profile->steps[0].number, 4);
  const ProfileTrack& stream = profile->tracks.at(0);
  EXPECT_EQ(stream.device, 1);
  EXPECT_EQ(profile->name(stream.events.at(0).name), "gemm");
  EXPECT_EQ(stream.events.at(0).begin, 1730000000000002000);
  ASSERT_EQ(profile->notes.size(), 1u);
  EXPECT_NE(profile->notes[0].find("no column nameId"), std::string::npos);
  // The same, cut in the middle.
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_FALSE(read_profile(path));
  std::filesystem::remove(path);
}

// A database of nsys' tables with these rows: runtime calls launch at `start`, each a kernel on stream 7.
class NsysRanges : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database_), SQLITE_OK);
    run("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, \"end\" INTEGER, deviceId INTEGER, streamId INTEGER, correlationId "
        "INTEGER, "
        "globalPid INTEGER, shortName INTEGER);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, \"end\" INTEGER, nameId INTEGER, globalTid INTEGER, correlationId "
        "INTEGER);"
        "CREATE TABLE NVTX_EVENTS (start INTEGER, \"end\" INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER);"
        "INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel'), (3, 'optimizer');");
  }
  void TearDown() override {
    sqlite3_close(database_);
    std::filesystem::remove(path_);
  }
  void run(const std::string& sql) { ASSERT_EQ(sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql; }
  void range(int begin, int end, const std::string& text, int thread = 4243) {
    const std::string name = text.empty() ? "NULL, 3" : "'" + text + "', NULL";
    run(fmt::format("INSERT INTO NVTX_EVENTS VALUES ({}, {}, 59, {}, 4242*0x1000000+{})", begin, end, name, thread));
  }
  // A kernel that runs much later than the call that launches it.
  void launch(int begin, int correlation, int thread = 4243, int pid = 4242) {
    run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({}, {}, 2, {}*0x1000000+{}, {})", begin, begin + 2, pid, thread,
                    correlation));
    run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({}, {}, 0, {}, {}, {}*0x1000000, 1)", 100'000 + begin, 100'001 + begin,
                    pid, correlation, pid));
  }
  Profile profile() {
    auto read = read_profile(path_);
    EXPECT_TRUE(read) << read.error().line();
    return read ? std::move(*read) : Profile{};
  }
  // "operator @ layer" of each kernel, by begin.
  std::vector<std::string> kernels() {
    const Profile p = profile();
    std::map<std::uint32_t, std::string> operators;
    for (const ProfileTrack& track : p.tracks)
      for (const ProfileEvent& event : track.events)
        if (event.kind == EventKind::op) operators[event.external] = p.name(event.name);
    std::map<std::int64_t, std::string> found;
    for (const ProfileTrack& track : p.tracks)
      for (const ProfileEvent& event : track.events)
        if (event.kind == EventKind::kernel)
          found[event.begin] = (event.external == no_link ? "-" : operators[event.external]) + " @ " + std::string(p.name(event.layer));
    std::vector<std::string> told;
    for (const auto& [begin, words] : found) told.push_back(words);
    return told;
  }

  const std::string path_ = ::testing::TempDir() + "ranges-" + std::to_string(getpid()) + ".sqlite";
  sqlite3* database_ = nullptr;
};

TEST_F(NsysRanges, KernelsBelongToTheRangesThatWereOpenWhenTheyWereLaunched) {
  range(0, 1000, "step 0");
  range(10, 500, "forward");
  range(20, 200, "net.block1");
  range(30, 100, "matmul");
  launch(40, 1);
  launch(110, 2);  // in the layer, in no operator
  range(200, 300, "net.block2");  // a leaf, and a path: a layer
  launch(250, 3);
  range(550, 900, "");  // its name is in StringIds
  launch(600, 4);
  launch(950, 5);  // in the step alone
  launch(45, 6, 4244);  // on another thread: at the time of "matmul", but not in it
  EXPECT_EQ(kernels(), (std::vector<std::string>{"matmul @ forward/net.block1", "- @ ", "- @ forward/net.block1", "- @ forward/net.block2",
                                                 "optimizer @ ", "- @ "}));
  EXPECT_EQ(profile().steps.size(), 1U);
}

TEST_F(NsysRanges, PathsOfPathsAreNotRepeated) {
  range(0, 100, "model");
  range(10, 90, "model.layers.0");
  range(20, 80, "model.layers.0.mlp");
  launch(30, 1);
  EXPECT_EQ(kernels(), std::vector<std::string>{"- @ model.layers.0.mlp"});
}

// torch.autograd.profiler.emit_nvtx: operators with their sequence, inside of each other; backward ones belong to the forward's layer.
TEST_F(NsysRanges, PyTorchsOperatorsAndItsBackward) {
  range(0, 300, "net");
  range(10, 200, "aten::linear, seq = 3, op_id = 1, sizes = [[2, 3]]");
  range(20, 100, "aten::addmm, seq = 3, op_id = 2");
  launch(30, 1);
  range(400, 500, "autograd::engine::evaluate_function: AddmmBackward0, seq = 3, op_id = 9", 4244);
  launch(450, 2, 4244);
  EXPECT_EQ(kernels(), (std::vector<std::string>{"aten::addmm @ net", "autograd::engine::evaluate_function: AddmmBackward0 @ net"}));
}

TEST_F(NsysRanges, IterationsAreStepsWhereNothingElseIs) {
  range(0, 1000, "epoch 0");
  range(0, 400, "Iteration 0");
  range(10, 20, "relu");
  launch(12, 1);
  range(500, 900, "Iteration 1");
  Profile p = profile();
  ASSERT_EQ(p.steps.size(), 2U);
  EXPECT_EQ(p.steps[1].number, 1);
  EXPECT_EQ(kernels(), std::vector<std::string>{"relu @ "});
  range(0, 450, "step 7");  // now they are parts of a step
  p = profile();
  ASSERT_EQ(p.steps.size(), 1U);
  EXPECT_EQ(p.steps[0].number, 7);
}

TEST_F(NsysRanges, TwoProcessesMayCountTheirLaunchesAlike) {
  range(0, 100, "mine");
  launch(50, 1);
  launch(60, 1, 4300, 4299);
  EXPECT_EQ(kernels(), (std::vector<std::string>{"mine @ ", "- @ "}));
}

TEST(Perfetto, SlicesWithInternedNamesOnTheWallsClock) {
  const auto packet = [](const std::string& inner) { return bytes(1, inner); };
  const std::string clocks =
      bytes(6, bytes(1, number(1, 6) + number(2, 1000)) + bytes(1, number(1, 1) + number(2, 1'700'000'000'000'001'000)));
  const std::string track = bytes(60, number(1, 5) + bytes(4, number(1, 77) + number(2, 78) + bytes(5, "worker")));
  const std::string names = bytes(12, bytes(2, number(1, 9) + bytes(2, "matmul")));
  const auto event = [&](std::uint64_t time, std::uint64_t type, const std::string& more) {
    return packet(number(8, time) + number(10, 1) + bytes(11, number(9, type) + number(11, 5) + more));
  };
  const std::string trace = packet(number(10, 1) + number(13, 1) + clocks) + packet(number(10, 1) + track) + packet(number(10, 1) + names) +
                            event(2000, 1, number(10, 9)) + event(2500, 1, bytes(23, "inner")) + event(2600, 2, "") + event(3000, 2, "") +
                            event(4000, 1, "");
  const auto profile = read(trace);
  ASSERT_TRUE(profile) << profile.error().line();
  EXPECT_EQ(profile->format, "perfetto");
  EXPECT_EQ(profile->clock, ProfileClock::wall);
  const ProfileTrack& thread = profile->tracks.at(0);
  EXPECT_EQ(thread.name, "worker");
  EXPECT_EQ(thread.process, 77);
  EXPECT_EQ(thread.thread, 78);
  ASSERT_EQ(thread.events.size(), 2u);
  EXPECT_EQ(profile->name(thread.events[0].name), "matmul");
  EXPECT_EQ(thread.events[0].begin, 1'700'000'000'000'002'000);
  EXPECT_EQ(thread.events[0].duration, 1000);
  EXPECT_EQ(profile->name(thread.events[1].name), "inner");
}

std::string gzip(std::string_view text) {
  std::string packed(compressBound(text.size()) + 64, '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<unsigned>(text.size());
  stream.next_out = reinterpret_cast<unsigned char*>(packed.data());
  stream.avail_out = static_cast<unsigned>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

TEST(TraceInput, GzipOfSeveralMembersCutAndBombs) {
  const std::string a = R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2},)",
                    b = R"({"ph":"X","name":"b","pid":1,"tid":1,"ts":5,"dur":2}])";
  const auto profile = read(gzip(a) + gzip(b));
  ASSERT_TRUE(profile) << profile.error().line();
  EXPECT_EQ(profile->event_count(), 2u);
  const std::string whole = gzip(a + b);
  const auto cut = read(whole.substr(0, whole.size() - 12));
  ASSERT_FALSE(cut);
  EXPECT_NE(cut.error().what.find("gzip stream is cut short"), std::string::npos) << cut.error().line();
  std::string damaged = whole;
  damaged[20] = static_cast<char>(damaged[20] ^ 0x55);
  EXPECT_FALSE(read(damaged));
  ProfileLimits limits;
  limits.unpacked_free = 1 << 20;
  const auto bomb = read(gzip("[" + std::string(50'000'000, ' ') + "]"), limits);
  ASSERT_FALSE(bomb);
  EXPECT_NE(bomb.error().what.find("unpacks to more than 200 times"), std::string::npos) << bomb.error().line();
}

TEST(ReadProfile, WhatIsNoTraceIsSaidWithWhatIsOne) {
  const auto profile = read("hello");
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().code, ErrorCode::unsupported);
  EXPECT_NE(profile.error().hint.find("xplane.pb"), std::string::npos);
  EXPECT_FALSE(read(""));
}

}  // namespace
}  // namespace joulery
