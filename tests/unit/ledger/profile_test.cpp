// A profile's time and joules: who worked when, whose clock, sums to the microjoule, copies.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

#include "ledger/profile/activity.h"
#include "ledger/profile/load_fit.h"
#include "ledger/profile/profile_account.h"
#include "ledger/profile/step_fit.h"
#include "publish/profile/chrome_copy.h"
#include "publish/profile/xplane_copy.h"
#include "record/memory_recording.h"
#include "tests/unit/watch/profile/wire.h"
#include "watch/profile/pieces.h"
#include "watch/profile/read_profile.h"
#include "watch/profile/seal.h"

namespace joulery {
namespace {

MonoTime at(double s) { return {seconds(s).base_units()}; }

Profile parsed(std::string_view text) {
  TraceInput input = TraceInput::of_bytes(text, "trace", {});
  auto profile = read_profile(input);
  EXPECT_TRUE(profile) << profile.error().line();
  return std::move(*profile);
}

// A CPU and a GPU with counters of microjoules, read each `tick` seconds for `length`; `host` and `device` in watts at a time.
template <class Host, class Device>
MemoryRecording measured(double length, double tick, Host&& host, Device&& device) {
  Channel cpu, gpu;
  cpu.component = Component("node/cpu/package-0");
  gpu.component = Component("node/gpu/0");
  cpu.name = gpu.name = "energy";
  cpu.unit = gpu.unit = 1e-6;
  MemoryRecording recording({{"rapl.powercap", "package-0", seconds(tick), {cpu}}, {"nvml", "GPU-0", seconds(tick), {gpu}}});
  double joules[2] = {0, 0};
  for (int i = 0; i * tick <= length + 1e-9; ++i) {
    const double now = i * tick;
    for (std::size_t d = 0; d < 2; ++d) {
      const Reading reading{to_whole(joules[d] * 1e6), MissingReason::none, at(now), at(now)};
      recording.add(Round{d, at(now), {&reading, 1}});
    }
    for (int k = 0; k < 10; ++k) {
      joules[0] += host(now + (k + 0.5) * tick / 10) * tick / 10;
      joules[1] += device(now + (k + 0.5) * tick / 10) * tick / 10;
    }
  }
  recording.add(ClockMap{at(0), {0}, {1'700'000'000'000'000'000}});
  recording.set({{"run_begin_ns", "0"}, {"run_end_ns", std::to_string(seconds(length).base_units())}});
  return recording;
}

// Two threads, of which one works while the other waits or works too; a kernel launched by an operator; a gap.
constexpr std::string_view trace = R"({"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#0","pid":1,"tid":1,"ts":1000000,"dur":1000000},
{"ph":"X","cat":"cpu_op","name":"aten::a","pid":1,"tid":1,"ts":1000000,"dur":400000,"args":{"External id":3}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1100000,"dur":100000,"args":{"correlation":9}},
{"ph":"X","cat":"cpu_op","name":"aten::b","pid":1,"tid":2,"ts":1200000,"dur":400000},
{"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","pid":1,"tid":1,"ts":1400000,"dur":300000},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1500000,"dur":250000,"args":{"device":0,"correlation":9}}
],"baseTimeNanoseconds":1700000000000000000})";

TEST(ProfileAccount, EachMomentIsSharedByThoseAtWork) {
  const Profile profile = parsed(trace);
  const ProfileAccount account = account_profile(profile, nullptr);
  const auto op = [&](std::string_view name) {
    const auto found = std::ranges::find(account.operators, name, &OperatorLine::name);
    return found == account.operators.end() ? ProfileFigures{} : found->figures;
  };
  // a alone for 200 ms, a and b for 200, b for 200 more (a wait beside it does not count), then the wait alone for 100.
  EXPECT_NEAR(to_seconds(op("aten::a").host), 0.3, 1e-9);
  EXPECT_NEAR(to_seconds(op("aten::b").host), 0.3, 1e-9);
  EXPECT_NEAR(to_seconds(op("cudaDeviceSynchronize").host), 0.1, 1e-9);
  EXPECT_EQ(to_seconds(op("aten::a").device), 0.25);         // its kernel
  EXPECT_EQ(op("aten::a").calls, 1);
  EXPECT_FALSE(account.energy);
  ASSERT_EQ(account.gaps.size(), 2u);
  EXPECT_NEAR(to_seconds(account.gaps[0].time), 0.3, 1e-9);
  EXPECT_NEAR(to_seconds(account.gaps[1].time), 0.75, 1e-9);
}

struct Joined {
  MemoryRecording recording;
  Timeline timeline;
  Ledger ledger;
  explicit Joined(MemoryRecording made)
      : recording(std::move(made)), timeline(std::move(*Timeline::from(recording, 2))), ledger(timeline, std::nullopt, Fill::none, {}) {}
  ClockEvidence evidence(std::span<const Step> steps = {}) const { return {steps, maps, &ledger, timeline.run}; }
  std::vector<ClockMap> maps = *recording.clock_maps();
};

template <class Lines>
Energy sum(const Lines& lines) {
  Energy total;
  for (const auto& line : lines) total += line.figures.energy.value_or(Energy{});
  return total;
}

TEST(ProfileAccount, SumsToTheMicrojouleAndDevicesPayForKernels) {
  const Joined joined(measured(3, 0.1, [](double) { return 20.0; }, [](double) { return 100.0; }));
  const Profile profile = parsed(trace);
  const auto clock = align(profile, joined.evidence());
  ASSERT_TRUE(clock) << clock.error().line();
  EXPECT_EQ(clock->method, ClockMethod::wall);
  const ProfileEnergySource source{joined.ledger, *clock};
  const ProfileAccount account = account_profile(profile, &source);
  ASSERT_TRUE(account.energy);
  EXPECT_NEAR(to_joules(*account.energy), 120, 1e-5);        // a second of 20 and 100 W
  Energy gaps;
  for (const GapLine& gap : account.gaps) gaps += *gap.energy;
  EXPECT_EQ(sum(account.operators) + gaps, *account.energy);
  EXPECT_EQ(sum(account.layers) + gaps, account.layers.empty() ? gaps : *account.energy);
  Energy phases;
  for (const PhaseLine& phase : account.phases) phases += *phase.energy;
  EXPECT_EQ(phases, *account.energy);
  ASSERT_EQ(account.kernels.size(), 1u);
  EXPECT_NEAR(to_joules(*account.kernels[0].figures.energy), 25, 1e-4);
  EXPECT_NEAR(to_joules(*account.gaps[0].energy), 0.3 * 20, 1e-4);
  EXPECT_NEAR(to_joules(*account.gaps[1].energy), 75, 1e-4);
  ASSERT_EQ(account.steps.size(), 1u);
  EXPECT_EQ(account.steps[0].energy, account.energy);
}

RC_GTEST_PROP(ProfileAccount, AnyEventsSumToTheWhole,
              (const std::vector<std::tuple<std::uint8_t, std::uint16_t, std::uint16_t, std::uint8_t>>& events)) {
  RC_PRE(!events.empty());
  static const Joined joined(measured(3, 0.1, [](double t) { return 20 + 10 * t; }, [](double t) { return 50 + 40 * t; }));
  Profile profile;
  profile.clock = ProfileClock::wall;
  for (int t = 0; t < 6; ++t) {
    ProfileTrack& track = profile.tracks.emplace_back();
    track.kind = t < 4 ? TrackKind::thread : TrackKind::stream;
    track.device = t < 4 ? -1 : 0;
  }
  for (const auto& [track, begin, length, name] : events) {
    ProfileEvent event{.begin = 1'700'000'000'500'000'000 + begin * 20'000, .duration = length * 10'000};
    event.name = profile.names.add("op " + std::to_string(name % 9));
    event.kind = track % 6 < 4 ? (name % 3 ? EventKind::op : EventKind::python) : EventKind::kernel;
    profile.tracks[track % 6].events.push_back(event);
  }
  seal(profile);
  RC_PRE(profile.end > profile.begin);
  std::size_t left = 0;
  for (const ProfileTrack& track : profile.tracks) {
    left += track.events.size();
    std::int64_t until = 0;
    visit_pieces(track, [&](std::int64_t begin, std::int64_t end, std::span<const ProfileEvent* const> stack) {
      RC_ASSERT(begin >= until && end > begin && !stack.empty());
      for (const ProfileEvent* event : stack) RC_ASSERT(event->begin <= begin && event->end() >= end);
      until = end;
    });
  }
  RC_ASSERT(left == events.size());
  const TraceClock clock{-1'700'000'000'000'000'000, ClockMethod::wall, {}, ""};
  const ProfileEnergySource source{joined.ledger, clock};
  const ProfileAccount account = account_profile(profile, &source);
  Energy gaps;
  for (const GapLine& gap : account.gaps) gaps += gap.energy.value_or(Energy{});
  RC_ASSERT(account.energy.has_value());
  RC_ASSERT(sum(account.operators) + gaps == *account.energy);
  for (const ProfileSide& side : account.sides) RC_ASSERT(side.busy <= account.length);
}

TEST(ProfileAccount, FittedPowersTellTheHungryKernel) {
  // Kernels h (300 W) and l (100 W) in steps of varying mixture, 60 s; gaps burn 50 W.
  std::string text = R"({"traceEvents":[)";
  std::vector<std::pair<double, double>> watts;               // until when, how much
  double now = 1;
  unsigned random = 1;
  while (now < 61) {
    for (const auto& [name, power] : {std::pair("h", 300.0), std::pair("l", 100.0), std::pair("", 50.0)}) {
      random = random * 1103515245u + 12345u;
      const double length = 0.01 + 0.04 * ((random >> 16) % 1000) / 1000.0;
      if (*name) {
        char event[256];
        std::snprintf(event, sizeof event,
                      R"(%s{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":7,"ts":%.3f,"dur":%.3f,"args":{"device":0}})",
                      text.back() == '[' ? "" : ",", name, now * 1e6, length * 1e6);
        text += event;
      }
      now += length;
      watts.emplace_back(now, power);
    }
  }
  text += R"(],"baseTimeNanoseconds":1700000000000000000})";
  std::size_t next = 0;
  const auto device = [&](double t) {
    if (t < 1) return 50.0;
    while (next < watts.size() && watts[next].first <= t) ++next;
    return next < watts.size() ? watts[next].second : 50.0;
  };
  const Joined joined(measured(63, 0.05, [](double) { return 20.0; }, device));
  const Profile profile = parsed(text);
  const auto clock = align(profile, joined.evidence());
  ASSERT_TRUE(clock) << clock.error().line();
  const ProfileEnergySource source{joined.ledger, *clock, &joined.recording};
  const ProfileAccount account = account_profile(profile, &source);
  for (const auto& [name, power] : {std::pair("h", 300.0), std::pair("l", 100.0)}) {
    const auto line = std::ranges::find(account.kernels, name, &KernelLine::name);
    ASSERT_NE(line, account.kernels.end());
    ASSERT_TRUE(line->figures.energy);
    EXPECT_NEAR(to_watts(*line->figures.energy / line->figures.device), power, 0.05 * power) << name;
    ASSERT_TRUE(line->figures.low && line->figures.high) << name << line->merged;
    EXPECT_LE(*line->figures.low, *line->figures.energy);
    EXPECT_EQ(line->figures.quality, Quality::derived);
  }
  Energy gaps;
  for (const GapLine& gap : account.gaps) gaps += *gap.energy;
  EXPECT_EQ(sum(account.operators) + gaps, *account.energy);
}

TEST(StepFit, StepsThatBothKnowTellTheOffset) {
  std::vector<ProfileStep> steps;
  std::vector<Step> recorded;
  double now = 5;
  for (int i = 0; i < 40; ++i) {
    const double length = 0.1 + 0.01 * ((i * 7) % 5) + 0.001 * ((i * 13) % 11);
    recorded.push_back({{at(now), at(now + length)}, "step", 0, 1, 1});
    // The trace saw ten of them, on a clock 1234.5 s ahead, and tells each 30 µs early.
    if (i >= 20 && i < 30) steps.push_back({at(now + 1234.5 - 30e-6).ns, at(now + length + 1234.5 - 30e-6).ns, i, 0});
    now += length + 0.002;
  }
  const auto anywhere = fit_steps(steps, recorded, std::nullopt);
  ASSERT_TRUE(anywhere);
  EXPECT_NEAR(static_cast<double>(anywhere->offset_ns), -1234.5e9 + 30e3, 1e3);
  EXPECT_EQ(anywhere->pairs, 10);
  const auto near = fit_steps(steps, recorded, -1234'510'000'000);   // clocks that are 10 ms wrong
  ASSERT_TRUE(near);
  EXPECT_NEAR(static_cast<double>(near->offset_ns), -1234.5e9 + 30e3, 1e3);
  EXPECT_LE(near->error, nanoseconds(100'000));
}

TEST(StepFit, EvenStepsFitEverywhereAndTellNothing) {
  std::vector<ProfileStep> steps;
  std::vector<Step> recorded;
  for (int i = 0; i < 40; ++i) recorded.push_back({{at(1 + i * 0.1), at(1.09 + i * 0.1)}, "step", 0, 1, 1});
  for (int i = 0; i < 10; ++i) steps.push_back({at(i * 0.1).ns, at(i * 0.1 + 0.09).ns, i, 0});
  EXPECT_FALSE(fit_steps(steps, recorded, std::nullopt));
}

TEST(LoadFit, LoadIsFoundInThePower) {
  // Busy stretches of changing length from 20 s on, on a clock that tells nothing.
  std::string text = "[";
  std::vector<std::pair<double, double>> busy;
  for (double now = 0; now < 12;) {
    const double length = 0.2 + std::fmod(now * 0.77, 0.6);
    busy.emplace_back(now, now + length);
    text += (text.size() > 1 ? "," : "") + std::string(R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"args":{"device":0},"ts":)") +
            std::to_string(now * 1e6) + ",\"dur\":" + std::to_string(length * 1e6) + "}";
    now += length + 0.3 + std::fmod(now * 0.31, 0.4);
  }
  const auto device = [&](double t) {
    return std::ranges::any_of(busy, [&](const auto& piece) { return piece.first + 20 <= t && t < piece.second + 20; }) ? 250.0 : 60.0;
  };
  const Joined joined(measured(60, 0.1, [](double) { return 20.0; }, device));
  const Profile profile = parsed(text + "]");
  EXPECT_EQ(profile.clock, ProfileClock::relative);
  const auto clock = align(profile, joined.evidence());
  ASSERT_TRUE(clock) << clock.error().line();
  EXPECT_EQ(clock->method, ClockMethod::load);
  EXPECT_NEAR(static_cast<double>(clock->offset_ns) * 1e-9, 20, to_seconds(clock->error));
  EXPECT_LE(clock->error, milliseconds(400));
  EXPECT_GE(clock->error, milliseconds(50));
}

TEST(TraceClock, ARecordingOfAnotherTimeIsRefused) {
  const Joined joined(measured(3, 0.1, [](double) { return 20.0; }, [](double) { return 100.0; }));
  std::string later(trace);
  later.replace(later.find("1700000000000000000"), 19, "1700000100000000000");
  const auto clock = align(parsed(later), joined.evidence());
  ASSERT_FALSE(clock);
  EXPECT_EQ(clock.error().code, ErrorCode::usage);
  EXPECT_NE(clock.error().where.find("2023-11-14 22:15:0"), std::string::npos) << clock.error().line();
}

TEST(Copies, ChromesCopyIsTheTraceWithJoules) {
  const Joined joined(measured(3, 0.1, [](double) { return 20.0; }, [](double) { return 100.0; }));
  const Profile profile = parsed(trace);
  const ProfileEnergySource source{joined.ledger, *align(profile, joined.evidence())};
  const ProfileAccount account = account_profile(profile, &source);
  const EnergyFinder energy(profile, account, &source);
  std::string copy;
  TraceInput input = TraceInput::of_bytes(trace, "trace", {});
  ASSERT_TRUE(copy_chrome_trace(input, energy, [&](std::string_view bytes) {
    copy += bytes;
    return true;
  }));
  const auto was = nlohmann::json::parse(trace), is = nlohmann::json::parse(copy);
  double own = 0;
  std::size_t counters = 0;
  for (std::size_t i = 0; i < is["traceEvents"].size(); ++i) {
    auto event = is["traceEvents"][i];
    if (event["ph"] == "C") ++counters;
    if (i >= was["traceEvents"].size()) continue;
    own += event["args"].value("energy_self_j", 0.0);
    for (const char* added : {"energy_j", "energy_self_j", "energy_quality"}) event["args"].erase(added);
    auto original = was["traceEvents"][i];
    if (!original.contains("args")) original["args"] = nlohmann::json::object();
    if (event["args"].is_null()) event["args"] = nlohmann::json::object();
    EXPECT_EQ(event, original);
  }
  EXPECT_EQ(is["baseTimeNanoseconds"], was["baseTimeNanoseconds"]);
  EXPECT_NEAR(own, 0.7 * 20 + 25, 1e-3);                      // all but the gaps
  EXPECT_NEAR(is["traceEvents"][0]["args"]["energy_j"].get<double>(), 120, 1e-3);   // of the step: all that was burnt
  EXPECT_NEAR(is["traceEvents"][5]["args"]["energy_self_j"].get<double>(), 25, 1e-3);
  EXPECT_GE(counters, 20u);                                   // ten readings of two components
}

TEST(Copies, XplanesCopyReadsAsBeforeAndCopiesAgain) {
  using namespace wire;
  const auto entry = [](std::uint32_t field, std::uint64_t id, std::string_view name) {
    return bytes(field, number(1, id) + bytes(2, number(1, id) + bytes(2, name)));
  };
  const std::string kernel = number(1, 1) + number(2, 1'500'000'000'000) + number(3, 250'000'000'000);
  const std::string line = number(1, 7) + bytes(2, "Stream #7") + number(3, 1'700'000'000'000'000'000) + bytes(4, kernel);
  const std::string plane = number(1, 1) + bytes(2, "/device:GPU:0") + bytes(3, line) + entry(4, 1, "gemm") + entry(5, 4, "other");
  const std::string host_event = number(1, 1) + number(2, 1'000'000'000'000) + number(3, 1'000'000'000'000);
  const std::string host =
      bytes(2, "/host:CPU") + bytes(3, number(3, 1'700'000'000'000'000'000) + bytes(4, host_event)) + entry(4, 1, "net/MatMul:MatMul");
  const std::string text = bytes(1, plane) + bytes(1, host) + bytes(4, "a host");
  const Joined joined(measured(3, 0.1, [](double) { return 20.0; }, [](double) { return 100.0; }));
  const auto copy_of = [&](const std::string& from) {
    const Profile profile = parsed(from);
    const ProfileEnergySource source{joined.ledger, *align(profile, joined.evidence())};
    const ProfileAccount account = account_profile(profile, &source);
    TraceInput input = TraceInput::of_bytes(from, "trace", {});
    std::string copy;
    const auto copied = copy_xplane(input, EnergyFinder(profile, account, &source), [&](std::string_view part) {
      copy += part;
      return true;
    });
    EXPECT_TRUE(copied) << copied.error().line();
    return copy;
  };
  const std::string copy = copy_of(text);
  EXPECT_GT(copy.size(), text.size());
  EXPECT_NE(copy.find("vdd_energy_j"), std::string::npos);
  EXPECT_NE(copy.find(real(2, 25.0).substr(0, 4)), std::string::npos);
  const Profile was = parsed(text), is = parsed(copy);
  ASSERT_EQ(is.event_count(), was.event_count());
  EXPECT_EQ(is.begin, was.begin);
  EXPECT_EQ(is.end, was.end);
  EXPECT_EQ(copy_of(copy), copy);                             // our statistics are replaced, not added once more
}

}  // namespace
}  // namespace joulery
