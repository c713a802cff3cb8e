// Kineto's and Chrome's JSON.
#include "watch/profile/kineto.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "watch/profile/read_profile.h"

namespace joulery {
namespace {

Result<Profile> read(std::string_view text, const ProfileLimits& limits = {}) {
  TraceInput input = TraceInput::of_bytes(text, "trace", limits);
  return read_profile(input);
}

const ProfileTrack* track_of(const Profile& profile, TrackKind kind) {
  for (const ProfileTrack& track : profile.tracks)
    if (track.kind == kind && !track.events.empty()) return &track;
  return nullptr;
}

// A step with a layer, a forward operator in it, its backward on another thread, a launch and its kernel.
constexpr std::string_view small = R"({"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA A100","x":[1]}],"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":7,"tid":7,"ts":10.000,"dur":100,"args":{"External id":1}},
{"ph":"X","cat":"python_function","name":"train.py(1): step","pid":7,"tid":7,"ts":5,"dur":30},
{"ph":"X","cat":"python_function","name":"nn.Module: Net_0","pid":7,"tid":7,"ts":12,"dur":20},
{"ph":"X","cat":"python_function","name":"nn.Module: Linear_0","pid":7,"tid":7,"ts":13,"dur":15},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":7,"tid":7,"ts":14,"dur":10,"args":{"External id":5,"Sequence number":9,"Input Dims":[[1,2],[3]]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":7,"ts":15.001,"dur":2.5,"args":{"correlation":77}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":20,"dur":40,"args":{"device":0,"stream":7,"correlation":77,"est. achieved occupancy %":50}},
{"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#3","pid":0,"tid":7,"ts":20,"dur":40},
{"ph":"X","cat":"cpu_op","name":"MmBackward0","pid":7,"tid":8,"ts":50,"dur":10,"args":{"External id":6,"Sequence number":9,"Fwd thread id":1}},
{"ph":"i","name":"[memory]","pid":7,"tid":7,"ts":16,"args":{"Total Reserved":2097152,"Total Allocated":1024,"Device Type":1,"Device Id":0}},
{"ph":"s","id":77,"pid":7,"tid":7,"ts":15,"cat":"ac2g","name":"ac2g"}
],"baseTimeNanoseconds":1700000000000000000})";

TEST(Kineto, EventsLinksLayersStepsAndMemory) {
  const auto profile = read(small);
  ASSERT_TRUE(profile) << profile.error().line();
  EXPECT_EQ(profile->format, "kineto");
  EXPECT_EQ(profile->clock, ProfileClock::wall);
  ASSERT_EQ(profile->steps.size(), 1u);                       // told by host and device, and once
  EXPECT_EQ(profile->steps[0].number, 3);
  EXPECT_EQ(profile->steps[0].begin, 1700000000000010000);    // although the base stands behind the events
  EXPECT_EQ(profile->steps[0].end, 1700000000000110000);      // although a function that began before ended within
  const ProfileTrack* stream = track_of(*profile, TrackKind::stream);
  ASSERT_NE(stream, nullptr);
  EXPECT_EQ(stream->device, 0);
  ASSERT_EQ(stream->events.size(), 1u);
  const ProfileEvent& kernel = stream->events[0];
  EXPECT_EQ(profile->name(kernel.layer), "Net_0/Linear_0");   // by the launch, whose operator runs in the layer
  EXPECT_EQ(kernel.external, 5u);
  const NameFacts& facts = profile->facts.at(kernel.name);
  EXPECT_DOUBLE_EQ(facts.occupancy_ns, 20000);
  std::string backward;
  for (const ProfileTrack& track : profile->tracks)
    for (const ProfileEvent& event : track.events)
      if (profile->name(event.name) == "MmBackward0") backward = profile->name(event.layer);
  EXPECT_EQ(backward, "Net_0/Linear_0");                      // by the number that forward and backward share
  ASSERT_EQ(profile->memory.size(), 1u);
  EXPECT_EQ(profile->memory[0].device, 0);
  EXPECT_EQ(profile->memory[0].peak_reserved, 2097152);
  ASSERT_EQ(profile->devices.size(), 1u);
  EXPECT_EQ(profile->devices[0].name, "NVIDIA A100");
}

TEST(Kineto, BeginsAndEndsMakeEvents) {
  const auto profile = read(R"([{"ph":"B","name":"a","pid":1,"tid":1,"ts":1},{"ph":"B","name":"b","pid":1,"tid":1,"ts":2},
    {"ph":"E","pid":1,"tid":1,"ts":3},{"ph":"E","pid":1,"tid":1,"ts":5},{"ph":"B","name":"never","pid":1,"tid":1,"ts":6}])");
  ASSERT_TRUE(profile) << profile.error().line();
  const ProfileTrack* track = track_of(*profile, TrackKind::thread);
  ASSERT_NE(track, nullptr);
  ASSERT_EQ(track->events.size(), 2u);
  EXPECT_EQ(track->events[0].duration, 4000);
  EXPECT_EQ(track->events[1].duration, 1000);
  EXPECT_EQ(profile->clock, ProfileClock::relative);
  ASSERT_EQ(profile->notes.size(), 1u);
  EXPECT_NE(profile->notes[0].find("1 events never ended"), std::string::npos);
}

TEST(Kineto, TensorFlowsPlanesAreDevices) {
  const auto profile = read(R"({"traceEvents":[{"ph":"M","name":"process_name","pid":1,"args":{"name":"/device:GPU:1"}},
    {"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"Steps"}},
    {"ph":"X","name":"fusion.1","pid":1,"tid":1,"ts":1,"dur":2,"args":{"tf_op":"net/dense/MatMul:MatMul"}},
    {"ph":"X","name":"0","pid":1,"tid":2,"ts":1,"dur":2}]})");
  ASSERT_TRUE(profile) << profile.error().line();
  const ProfileTrack* stream = track_of(*profile, TrackKind::stream);
  ASSERT_NE(stream, nullptr);
  EXPECT_EQ(stream->device, 1);
  ASSERT_EQ(stream->events.size(), 1u);
  EXPECT_EQ(stream->events[0].kind, EventKind::kernel);
  EXPECT_EQ(profile->name(stream->events[0].layer), "net/dense");
}

TEST(Kineto, ImpossibleEventsAreLeftOutAndCounted) {
  const auto profile = read(
      R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":-5},{"ph":"X","name":"b","pid":1,"tid":1,"ts":4600000000000000,"dur":4600000000000000},
    {"ph":"X","name":"c","pid":1,"tid":1,"ts":"x"},{"ph":"X","name":"d","pid":1,"tid":1,"ts":1,"dur":10},{"ph":"X","name":"e","pid":1,"tid":1,"ts":6,"dur":50}])");
  ASSERT_TRUE(profile) << profile.error().line();
  const ProfileTrack* track = track_of(*profile, TrackKind::thread);
  ASSERT_NE(track, nullptr);
  ASSERT_EQ(track->events.size(), 2u);
  EXPECT_EQ(track->events[1].end(), track->events[0].end());   // what overlaps is cut at its parent's end
  EXPECT_EQ(profile->cut, 1);
  EXPECT_NE(profile->notes[0].find("3 events"), std::string::npos) << profile->notes[0];
}

TEST(Kineto, EveryCutFileIsAnErrorThatNamesTheByte) {
  for (std::size_t size = 0; size < small.size(); ++size) {
    const auto profile = read(small.substr(0, size));
    ASSERT_FALSE(profile) << size;
    EXPECT_TRUE(size < 30 || profile.error().where.find("byte") != std::string::npos) << profile.error().line();
  }
}

TEST(Kineto, HostileFilesAreErrors) {
  const auto error_of = [](const std::string& text, const ProfileLimits& limits = {}) {
    const auto profile = read(text, limits);
    return profile ? std::string() : profile.error().what;
  };
  EXPECT_NE(error_of(R"({"traceEvents":[{"args":)" + std::string(100000, '[')).find("not JSON"), std::string::npos);
  EXPECT_NE(error_of(R"({"x":1})").find("no traceEvents"), std::string::npos);
  EXPECT_NE(error_of(R"({"traceEvents":[]} {})").find("goes on"), std::string::npos);
  ProfileLimits small_window;
  small_window.window = 4096;
  EXPECT_NE(error_of(R"([{"name":")" + std::string(100000, 'a') + "\"}]", small_window).find("longer than 4096 bytes"), std::string::npos);
  ProfileLimits little_memory;
  little_memory.memory = 100000;
  std::string many = "[";
  for (int i = 0; i < 10000; ++i) many += R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1},)";
  EXPECT_NE(error_of(many + "{}]", little_memory).find("memory"), std::string::npos);
}

// Each saved trace, event by event, against a parser of decimals that knows nothing of ours.
TEST(Kineto, SavedTracesHaveExactNanoseconds) {
  const std::filesystem::path folder = JOULERY_SOURCE_DIR "/../shared/data/profiles/kineto";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "skipped: no ../shared";
  int traces = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (path.find("LICENSE") != std::string::npos || path.find("_et.json") != std::string::npos) continue;
    std::vector<std::string> ours, theirs;
    const auto whole = read_profile(path);
    ASSERT_TRUE(whole) << whole.error().line();
    auto input = TraceInput::open(path, {});
    ASSERT_TRUE(input);
    ChromeScanner scanner(*input);
    KinetoPlacer placer({});
    for (auto item = scanner.next(); item && *item != ChromeScanner::Item::end; item = scanner.next())
      if (*item == ChromeScanner::Item::event)
        if (const auto placed = placer.place(scanner.event()))
          ours.push_back(std::to_string(placed->begin + whole->base_ns) + " " + std::to_string(placed->duration));
    const std::string command = "/usr/bin/python3 '" JOULERY_SOURCE_DIR "/tests/unit/watch/profile/kineto_decimals.py' '" + path + "'";
    std::FILE* const python = popen(command.c_str(), "r");
    ASSERT_NE(python, nullptr);
    char line[128];
    while (std::fgets(line, sizeof line, python)) theirs.emplace_back(line, std::string_view(line).size() - 1);
    ASSERT_EQ(pclose(python), 0);
    ASSERT_FALSE(theirs.empty());
    std::ranges::sort(ours);
    std::ranges::sort(theirs);
    EXPECT_EQ(ours, theirs) << path;
    ++traces;
  }
  EXPECT_GE(traces, 10);
}

}  // namespace
}  // namespace joulery
