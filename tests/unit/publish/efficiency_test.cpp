// The efficiency report of a small profile made by hand: one second, ten steps, one device.
#include "publish/efficiency.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "judge/profile_flame.h"
#include "publish/flame.h"
#include "watch/profile/read_profile.h"

namespace joulery {
namespace {

constexpr std::int64_t ms = 1'000'000;

// The name ids of a profile made here.
NameId named(Profile& profile, std::string_view name) { return profile.names.add(name); }

ProfileEvent event(std::int64_t begin_ms, std::int64_t length_ms, NameId name, EventKind kind) {
  ProfileEvent e;
  e.begin = begin_ms * ms, e.duration = length_ms * ms, e.name = name, e.kind = kind;
  return e;
}

struct Sample {
  Profile profile;
  ProfileAccount account;
};

Sample sample() {
  Sample s;
  Profile& p = s.profile;
  const NameId copy = named(p, "Memcpy HtoD (Pageable -> Device)"), sync = named(p, "cudaDeviceSynchronize"),
               launch = named(p, "cudaLaunchKernel"), kernel = named(p, "gemm"), loader = named(p, "enumerate(DataLoader)#_Iter.__next__");
  ProfileTrack host, stream;
  stream.kind = TrackKind::stream, stream.device = 0;
  for (int i = 0; i < 10; ++i) {
    host.events.push_back(event(100 * i, 20, loader, EventKind::annotation));
    host.events.push_back(event(100 * i + 5, 10, loader, EventKind::annotation));  // inside the one before: not twice
    host.events.push_back(event(100 * i + 20, 5, launch, EventKind::runtime));
    host.events.push_back(event(100 * i + 60, 30, sync, EventKind::sync));
    stream.events.push_back(event(100 * i + 25, 5, copy, EventKind::copy));
    stream.events.push_back(event(100 * i + 30, 50, kernel, EventKind::kernel));
    s.account.steps.push_back({"step", i, nanoseconds(100 * i * ms), milliseconds(100), joules(10)});
  }
  p.tracks = {host, stream};
  p.facts[kernel].occupancy_ns = 0.2 * 500 * ms, p.facts[kernel].occupied_ns = 500 * ms;
  p.memory = {{0, 1 << 30, std::int64_t{2} << 30, 5}};
  p.devices = {{0, "GPU <x>"}};
  s.account.length = seconds(1);
  s.account.energy = joules(100);
  ProfileSide side;
  side.device = 0, side.busy = milliseconds(550), side.energy = joules(80);
  s.account.sides = {side};
  GapLine gap;
  gap.device = 0, gap.time = milliseconds(450), gap.energy = joules(20);
  s.account.gaps = {gap};
  OperatorLine line;
  line.name = "aten::mm", line.figures.device = milliseconds(500), line.figures.energy = joules(60);
  s.account.operators = {line};
  return s;
}

const EfficiencyFinding* finding(const Efficiency& report, std::string_view what) {
  for (const EfficiencyFinding& f : report.findings)
    if (f.what.find(what) != std::string::npos) return &f;
  return nullptr;
}

TEST(Efficiency, RatesAndDevices) {
  const Sample s = sample();
  const Efficiency r = make_efficiency(s.profile, s.account, 32);
  EXPECT_DOUBLE_EQ(*r.steps_per_second, 10);
  EXPECT_DOUBLE_EQ(*r.samples_per_second, 320);
  EXPECT_DOUBLE_EQ(*r.joules_per_step, 10);
  EXPECT_DOUBLE_EQ(*r.joules_per_sample, 10.0 / 32);
  EXPECT_EQ(*r.launch_per_kernel, milliseconds(5));
  EXPECT_EQ(*r.gap_per_step, milliseconds(45));
  EXPECT_DOUBLE_EQ(*r.input_stalled, 0.2);
  ASSERT_EQ(r.devices.size(), 1U);
  EXPECT_DOUBLE_EQ(r.devices[0].busy, 0.55);
  EXPECT_NEAR(*r.devices[0].occupancy, 0.2, 1e-12);
  EXPECT_EQ(*r.devices[0].peak_reserved, std::int64_t{2} << 30);
  EXPECT_DOUBLE_EQ(*r.operators[0].share, 0.6);
}

TEST(Efficiency, FindingsHaveTheirEvidenceAndJoules) {
  const Sample s = sample();
  const Efficiency r = make_efficiency(s.profile, s.account, 0);
  const EfficiencyFinding* waits = finding(r, "waits for the device");
  ASSERT_NE(waits, nullptr);
  EXPECT_EQ(*waits->at_stake, joules(30));        // 300 ms of 1 s that burnt 100 J
  EXPECT_NE(waits->evidence.find("10 waits"), std::string::npos);
  EXPECT_EQ(*finding(r, "pageable")->at_stake, joules(5));
  EXPECT_EQ(*finding(r, "waits for input")->at_stake, joules(20));
  EXPECT_EQ(*finding(r, "idle between kernels")->at_stake, joules(20));
  EXPECT_NE(finding(r, "low achieved occupancy"), nullptr);
  EXPECT_NE(finding(r, "launch overhead"), nullptr);
}

// A first launch that loads code, and a call that makes the context, are told apart from the launches: 50 ms of launches stay.
TEST(Efficiency, StartUpIsNoLaunchOverhead) {
  Sample s = sample();
  const NameId launch = s.profile.tracks[0].events[2].name, init = named(s.profile, "cudaFree");
  s.profile.tracks[0].events.push_back(event(1000, 50, launch, EventKind::runtime));   // ten times the others' 5 ms
  s.profile.tracks[0].events.push_back(event(1050, 30, init, EventKind::runtime));     // there is no other
  const Efficiency r = make_efficiency(s.profile, s.account, 0);
  EXPECT_EQ(*r.start_up, milliseconds(80));
  EXPECT_EQ(*r.launch_per_kernel, milliseconds(5));
  EXPECT_EQ(finding(r, "launch overhead")->time, milliseconds(50));
  EXPECT_EQ(finding(r, "start-up")->time, milliseconds(80));
  EXPECT_NE(finding(r, "start-up")
                ->evidence.find("2 one-off calls, 80.0 ms, 8.0 % of the time; the longest: cudaLaunchKernel 50.0 ms, cudaFree 30.0 ms"),
            std::string::npos)
      << finding(r, "start-up")->evidence;
  EXPECT_FALSE(make_efficiency(sample().profile, s.account, 0).start_up);
}

struct RealStartUp {
  const char* file;
  std::int64_t start_up_us, launches_us, kernels;
};

// Sums of the calls in real traces, worked out from their JSON with Python's decimals: a call of 1 ms or more and ten times the second longest of its
// function. Both began with the process' first use of the device.
TEST(Efficiency, StartUpOfRealTraces) {
  const std::filesystem::path folder = JOULERY_SOURCE_DIR "/../shared/data/profiles/kineto";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "skipped: no ../shared";
  for (const RealStartUp& real : {RealStartUp{"alexnet--benchmark_result_2869224_1695835535_trace.json.gz", 39733741, 2562346, 79},
                                  RealStartUp{"amd_trace--mi250_minitoy_train_ROCm6_2_kineto.json.gz", 6543, 193, 14}}) {
    const auto profile = read_profile((folder / real.file).string());
    ASSERT_TRUE(profile) << profile.error().what;
    const Efficiency r = make_efficiency(*profile, account_profile(*profile, nullptr), 0);
    ASSERT_TRUE(r.start_up) << real.file;
    EXPECT_EQ(r.start_up->base_units() / 1000, real.start_up_us) << real.file;
    EXPECT_EQ(r.launch_per_kernel->base_units() / 1000, real.launches_us / real.kernels) << real.file;
  }
}

TEST(Efficiency, WithoutEnergyThereIsTimeAlone) {
  Sample s = sample();
  s.account.energy.reset();
  for (StepLine& step : s.account.steps) step.energy.reset();
  for (OperatorLine& line : s.account.operators) line.figures.energy.reset();
  const Efficiency r = make_efficiency(s.profile, s.account, 32);
  EXPECT_FALSE(r.joules_per_sample);
  EXPECT_FALSE(finding(r, "pageable")->at_stake);
  EXPECT_NE(efficiency_text(r, {false, false, 100}).find("missing"), std::string::npos);
  EXPECT_TRUE(nlohmann::json::parse(efficiency_json(r))["joules"].is_null());
}

TEST(Efficiency, ToldInEveryForm) {
  const Sample s = sample();
  const Efficiency r = make_efficiency(s.profile, s.account, 32);
  const std::string text = efficiency_text(r, {false, false, 140});
  for (const char* words : {"aten::mm", "pageable", "up to 30.0 J", "1,024 MiB of 2,048 MiB reserved"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  const auto json = nlohmann::json::parse(efficiency_json(r));
  EXPECT_EQ(json["schema"], "joulery.efficiency/1");
  EXPECT_EQ(json["findings"].size(), r.findings.size());
  const std::string page = efficiency_html(r, "a <trace>");
  EXPECT_NE(page.find("a &lt;trace&gt;"), std::string::npos);
  EXPECT_NE(page.find("GPU &lt;x&gt;"), std::string::npos);
  EXPECT_EQ(page.find("src="), std::string::npos);
}

// One operator runs in two stacks, 30 and 10 ms: its joules go 3 to 1; a kernel that no stack tells stands alone; so do the gaps.
TEST(ProfileFlame, JoulesFollowTheStacksAndSumToTheAccount) {
  Profile p;
  const NameId layer1 = named(p, "net/a"), layer2 = named(p, "net/b"), mm = named(p, "aten::mm");
  ProfileTrack host;
  host.events = {event(0, 40, layer1, EventKind::module), event(5, 30, mm, EventKind::op), event(50, 20, layer2, EventKind::module),
                 event(55, 10, mm, EventKind::op)};
  p.tracks = {host};
  ProfileAccount account;
  account.energy = microjoules(1'000'003);
  OperatorLine op, alone;
  op.name = "aten::mm", op.figures.energy = microjoules(800'001);
  alone.name = "gemm", alone.figures.energy = microjoules(100'002);
  account.operators = {op, alone};
  GapLine gap;
  gap.device = 0, gap.time = milliseconds(10), gap.energy = microjoules(100'000);
  account.gaps = {gap};
  const Flame flame = profile_flame(p, account, "trace");
  EXPECT_EQ(flame.root.energy, microjoules(1'000'003));
  EXPECT_EQ(flame_folded(flame), "(device 0 idle) 100000\ngemm 100002\nnet/a;aten::mm 600001\nnet/b;aten::mm 200000\n");
}

}  // namespace
}  // namespace joulery
