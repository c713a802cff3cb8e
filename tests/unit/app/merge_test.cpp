// Recordings of hosts whose joules and clocks are known by script, merged and told as one job.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "app/loaded_run.h"
#include "ledger/merge/write_job.h"
#include "publish/text.h"
#include "tests/unit/publish/golden.h"
#include "tests/unit/record/sample_run.h"

namespace joulery {
namespace {

// A host by script. True times are seconds since some moment that all hosts share.
struct Script {
  std::string name, boot;
  double watts = 10;
  double begin = 10, end = 20;        // of its run
  double clock_at_zero = 1000;        // its monotonic clock then
  double fast = 0;                    // by how much that runs fast
  double wall_ahead = 0;              // of its wall clock
  std::optional<Duration> wall_error = {};
  std::vector<std::pair<double, double>> steps = {};
  int rank = 0;
  std::int32_t pid = 100;
  std::string place = "DE";
  std::int64_t clock(double t) const { return to_whole((clock_at_zero + t * (1 + fast)) * 1e9); }
};

constexpr std::int64_t epoch = 1'772'366'400'000'000'000;

ClockMap crossing(const Script& s, double t) { return {{s.clock(t)}, {s.clock(t)}, {epoch + to_whole((t + s.wall_ahead) * 1e9)}}; }

void record(const std::string& path, const Script& s) {
  Channel package;
  package.component = Component("node/cpu/package-0");
  package.name = "energy";
  package.unit = 1e-6;
  package.accuracy.relative = 0.01;
  RunFacts facts;
  facts.version = "test";
  facts.command = {"train", s.name};
  facts.exit_code = 0;
  facts.run = Interval{{s.clock(s.begin)}, {s.clock(s.end)}};
  facts.run_ended = true;
  facts.machine.threads = 2;
  facts.host = {s.name, s.boot};
  facts.wall_clock_error = s.wall_error;
  facts.factors.place = s.place;
  facts.fill = Fill::none;
  auto writer = RecordingWriter::create(path, {{"rapl.powercap", "package-0", milliseconds(100), {package}}}, to_metadata(facts),
                                        crossing(s, s.begin - 1));
  ASSERT_TRUE(writer);
  for (double t = s.begin - 1; t <= s.end + 1.001; t += 0.1) {
    const MonoTime at{s.clock(t) / 1000 * 1000};
    const Reading reading{to_whole(s.watts * t * 1e6), MissingReason::none, at, at};
    (*writer)->add(Round{0, at, std::span(&reading, 1)});
  }
  (*writer)->add(Mark{{s.clock(s.begin)}, s.pid, s.pid, MarkKind::point, "rank", static_cast<double>(s.rank)});
  for (const auto& [begin, end] : s.steps) {
    (*writer)->add(Mark{{s.clock(begin)}, s.pid, s.pid, MarkKind::step_begin, "step", 32});
    (*writer)->add(Mark{{s.clock(end)}, s.pid, s.pid, MarkKind::step_end, "step", 0});
  }
  (*writer)->add(ProcessSample{{s.pid, 5}, 1, "train", {s.clock(s.end)}, seconds(3)});
  (*writer)->add(crossing(s, s.end + 1));
  ASSERT_TRUE((*writer)->close());
}

Result<MergePlan> merge(const std::vector<std::string>& files, const std::string& output, bool apart = false) {
  std::vector<MergeInput> inputs;
  for (const std::string& file : files) {
    auto input = MergeInput::open(file);
    if (!input) return std::unexpected(input.error());
    inputs.push_back(std::move(*input));
  }
  auto plan = plan_merge(inputs, apart);
  if (!plan) return plan;
  if (const auto done = write_job(inputs, *plan, "test", output); !done) return std::unexpected(done.error());
  return plan;
}

class Merge : public ::testing::Test {
 protected:
  std::string make(const std::string& name, const Script& script) {
    record(folder_.file(name), script);
    return folder_.file(name);
  }
  Report report(const std::string& file) {
    auto run = LoadedRun::load(file, {});
    EXPECT_TRUE(run) << (run ? "" : run.error().line());
    return run ? run->report() : Report{};
  }
  TemporaryFolder folder_;
};

// Steps of 0.2 s that end together but for `jitter`.
std::vector<std::pair<double, double>> steps_with(double jitter, unsigned seed, double from, double to) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> late(0, jitter);
  std::vector<std::pair<double, double>> steps;
  for (double t = from; t + 0.2 <= to; t += 0.2) {
    const double begin = t + 0.002 + std::abs(late(random));
    steps.emplace_back(begin, t + 0.19 + late(random));
  }
  return steps;
}

TEST(ComponentOfAHost, IsTheSameTreeBelowItsHost) {
  const Component package = Component("node/cpu/package-0").of_host("node-a"), wall = Component("wall").of_host("node-a");
  EXPECT_EQ(package.path(), "host/node-a/node/cpu/package-0");
  EXPECT_EQ(package.host(), "node-a");
  EXPECT_EQ(package.local(), "node/cpu/package-0");
  EXPECT_EQ(Component("node/cpu").host(), "");
  EXPECT_EQ(Component("node/cpu").local(), "node/cpu");
  EXPECT_TRUE(wall.at_wall());
  EXPECT_TRUE(package.inside(wall));
  EXPECT_FALSE(package.inside(Component("wall").of_host("node-b")));
  EXPECT_FALSE(wall.inside(wall));
  EXPECT_TRUE(package.inside(Component("node/cpu").of_host("node-a")));
}

TEST_F(Merge, TheJobsEnergyIsTheSumOfItsHostsToTheMicrojoule) {
  const std::string a = make("a", {"alpha", "boot-a", 17.123457}), b = make("b", {"beta", "boot-b", 31.7654321, 10.35, 20.6, 5});
  ASSERT_TRUE(merge({a, b}, folder_.file("job")));
  const Report one = report(a), other = report(b), job = report(folder_.file("job"));
  ASSERT_TRUE(job.energy.joules);
  EXPECT_EQ(job.energy.joules->value, one.energy.joules->value + other.energy.joules->value);
  EXPECT_NEAR(to_joules(job.energy.joules->value), 17.123457 * 10 + 31.7654321 * 10.25, 0.01);
  EXPECT_FALSE(job.energy.partial);
  EXPECT_NEAR(job.duration_s, 10.6, 1e-3);  // the wall clocks agree, to the reading of both
  ASSERT_EQ(job.components.size(), 2U);
  EXPECT_EQ(job.components[0].path, "host/alpha/node/cpu/package-0");
  EXPECT_EQ(job.components[0].label, "alpha: CPU package 0");
  EXPECT_EQ(job.components[0].joules->value, one.energy.joules->value);
  Energy phases, hosts;
  for (const ReportPhase& phase : job.phases) phases += *phase.joules;
  for (const ReportHost& host : job.hosts) hosts += host.joules->value;
  EXPECT_EQ(phases, job.energy.joules->value);
  EXPECT_EQ(hosts, job.energy.joules->value);
  for (const ReportLayer& layer : job.layers) {
    if (!layer.joules) continue;
    Energy sum = layer.residual.joules->value;
    for (const ReportLayerPart& part : layer.parts)
      if (part.joules) sum += part.joules->value;
    EXPECT_EQ(sum, layer.joules->value) << layer.name;
  }
  ASSERT_TRUE(job.carbon && job.carbon->grams);
  EXPECT_NEAR(*job.carbon->grams, *one.carbon->grams + *other.carbon->grams, 1e-9);
}

TEST_F(Merge, EachHostHasTheGramsOfItsOwnPlace) {
  Script france{"beta", "boot-b", 10};
  france.place = "FR";
  const std::string a = make("a", {"alpha", "boot-a", 10}), b = make("b", france);
  ASSERT_TRUE(merge({a, b}, folder_.file("job")));
  const Report one = report(a), other = report(b), job = report(folder_.file("job"));
  EXPECT_NE(*one.carbon->grams, *other.carbon->grams);
  EXPECT_NEAR(*job.carbon->grams, *one.carbon->grams + *other.carbon->grams, 1e-9);
  EXPECT_NEAR(job.carbon->g_per_kwh, (one.carbon->g_per_kwh + other.carbon->g_per_kwh) / 2, 0.01);  // the same energy at both
  EXPECT_NEAR(*job.hosts[1].grams, *other.carbon->grams, 1e-12);
}

// The second host's wall clock is 0.25 s ahead and its clocks run 30 ppm fast; steps end together but for 1 ms.
TEST_F(Merge, CommonStepsTellTheClocksOffsetAndDrift) {
  Script alpha{"alpha", "boot-a", 20, 10, 310}, beta{"beta", "boot-b", 30, 10, 310, 77'000, 30e-6, 0.25};
  alpha.steps = steps_with(1e-3, 1, 12, 300);
  beta.steps = steps_with(1e-3, 2, 12, 300);
  beta.rank = 1;
  const std::string a = make("a", alpha), b = make("b", beta);
  const auto plan = merge({a, b}, folder_.file("job"));
  ASSERT_TRUE(plan);
  const ClockAlignment& clock = plan->hosts[1].alignment;
  EXPECT_EQ(clock.source, "1440 common steps");
  EXPECT_NEAR(to_seconds(clock.ahead), 0.25, 2e-3);
  ASSERT_TRUE(clock.low && clock.high);
  EXPECT_LT(*clock.low, clock.ahead);
  EXPECT_LT(to_seconds(*clock.high - *clock.low), 1e-3);
  EXPECT_NEAR(clock.drift, 30e-6, 3e-6);
  const Report one = report(a), other = report(b), job = report(folder_.file("job"));
  EXPECT_EQ(job.energy.joules->value, one.energy.joules->value + other.energy.joules->value);
  EXPECT_NEAR(job.duration_s, 300, 0.001);  // both ran from 10 to 310
  EXPECT_EQ(job.rounds, 1440);
  ASSERT_EQ(job.ranks.size(), 2U);
  EXPECT_EQ(job.ranks[0].host, "alpha");
  EXPECT_EQ(job.ranks[1].rank, 1);
  EXPECT_EQ(job.ranks[1].pid, 100);
  ASSERT_EQ(job.work.size(), 1U);
  EXPECT_EQ(job.work[0].count, 2 * 1440 * 32);
  Energy ranks;
  for (const ReportRank& rank : job.ranks) ranks += *rank.joules;
  const auto steps = std::ranges::find(job.phases, "steps", &ReportPhase::name);
  // Where one host is in a step and the other between two, the phase holds both hosts' joules.
  EXPECT_LE(ranks, *steps->joules);
  EXPECT_NEAR(to_joules(ranks), to_joules(*steps->joules), 0.01 * to_joules(*steps->joules));
}

TEST_F(Merge, TheStragglerIsNamed) {
  Script alpha{"alpha", "boot-a", 20, 10, 40}, beta{"beta", "boot-b", 30, 10, 40, 500};
  for (int k = 0; k < 100; ++k) {  // all begin together; beta needs 150 ms and alpha 100
    alpha.steps.emplace_back(12 + 0.2 * k, 12.1 + 0.2 * k);
    beta.steps.emplace_back(12 + 0.2 * k, 12.15 + 0.2 * k + (k % 7) * 1e-3);
  }
  beta.rank = 1;
  ASSERT_TRUE(merge({make("a", alpha), make("b", beta)}, folder_.file("job")));
  const Report job = report(folder_.file("job"));
  ASSERT_EQ(job.ranks.size(), 2U);
  EXPECT_EQ(job.ranks[1].last, 100);
  EXPECT_EQ(job.ranks[0].last, 0);
  EXPECT_NEAR(job.ranks[1].waited_for_s, 99 * 0.05 + 14 * (1 + 2 + 3 + 4 + 5 + 6) * 1e-3, 1e-3);  // after the last step nobody waits
  EXPECT_EQ(job.ranks[0].waited_s, job.ranks[1].waited_for_s);
  const std::string text = report_text(job, {.colour = false, .unicode = true, .width = 100});
  EXPECT_NE(text.find("rank 1, pid 100, beta came last in 100 of 100 rounds"), std::string::npos) << text;
}

// Two ranks on one host, each under a joulery run of its own: one begins and ends later. 40 W from 10 to 21 s, counted once.
TEST_F(Merge, RecordingsOfOneHostShareItsJoules) {
  Script first{"alpha", "boot-a", 40, 10, 20}, second{"alpha", "boot-a", 40, 11, 21};
  first.steps = steps_with(0, 1, 12, 18);
  second.steps = steps_with(0, 1, 12, 18);
  second.pid = 101;
  second.rank = 1;
  ASSERT_TRUE(merge({make("a", first), make("b", second)}, folder_.file("job")));
  const Report job = report(folder_.file("job"));
  EXPECT_NEAR(to_joules(job.energy.joules->value), 40 * 11.0, 0.01);
  ASSERT_EQ(job.hosts.size(), 1U);
  EXPECT_EQ(job.hosts[0].recordings, 2);
  ASSERT_EQ(job.ranks.size(), 2U);
  EXPECT_EQ(job.ranks[0].steps, 30);
  // Both are in a step at the same time: each has half, together what the phase has.
  EXPECT_NEAR(*job.ranks[0].share, 0.5, 1e-6);
  const auto steps = std::ranges::find(job.phases, "steps", &ReportPhase::name);
  EXPECT_EQ(*job.ranks[0].joules + *job.ranks[1].joules, *steps->joules);
  EXPECT_EQ(job.work[0].count, 2 * 30 * 32);
  // The same pid in two containers would be two processes: here they differ, and both are listed once.
  EXPECT_EQ(std::ranges::count_if(job.processes, [](const ReportProcess& p) { return p.pid != 0; }), 2);
}

TEST_F(Merge, TheSamePidInTwoRecordingsIsTwoProcesses) {
  Script first{"alpha", "boot-a"}, second{"beta", "boot-b"};
  first.steps = steps_with(0, 1, 11, 19);
  second.steps = first.steps;
  ASSERT_TRUE(merge({make("a", first), make("b", second)}, folder_.file("job")));
  const Report job = report(folder_.file("job"));
  ASSERT_EQ(job.ranks.size(), 2U);
  EXPECT_EQ(job.ranks[0].pid, 100);
  EXPECT_EQ(job.ranks[1].pid, 100);
  EXPECT_EQ(job.steps.count, 80);
}

// Two hosts of 20 and 50 W from 10 to 20 s: 200 and 500 J. Ten rounds from 11 s on, every 0.8 s: alpha is done after 0.5 s, beta after 0.6 s and
// 0, 1 or 2 ms in turns, 9 ms in all. So some rank is in a step for 6.009 s, and none for the rest of the 7.8 s from the first step's begin to the
// last one's end.
TEST_F(Merge, AJobLooksAsItsGoldenFile) {
  Script alpha{"alpha", "boot-a", 20}, beta{"beta", "boot-b", 50, 10, 20, 500};
  for (int k = 0; k < 10; ++k) {
    alpha.steps.emplace_back(11 + 0.8 * k, 11.5 + 0.8 * k);
    beta.steps.emplace_back(11 + 0.8 * k, 11.6 + 0.8 * k + (k % 3) * 1e-3);
  }
  beta.rank = 1;
  ASSERT_TRUE(merge({make("a", alpha), make("b", beta)}, folder_.file("job")));
  const Report job = report(folder_.file("job"));
  EXPECT_NEAR(to_joules(job.energy.joules->value), 700, 0.01);
  const std::vector<std::pair<std::string, double>> phases{
      {"start-up", 70 * 1.0}, {"steps", 70 * 6.009}, {"between steps", 70 * 1.791}, {"tear-down", 70 * 1.2}};
  ASSERT_EQ(job.phases.size(), phases.size());
  Energy sum;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    EXPECT_EQ(job.phases[i].name, phases[i].first);
    EXPECT_NEAR(to_joules(*job.phases[i].joules), phases[i].second, 0.1) << phases[i].first;
    sum += *job.phases[i].joules;
  }
  EXPECT_EQ(sum, job.energy.joules->value);
  ASSERT_EQ(job.ranks.size(), 2U);
  EXPECT_EQ(job.ranks[1].last, 10);
  EXPECT_NEAR(job.ranks[1].waited_for_s, 9 * 0.1 + 0.009, 0.001);  // after the last round nobody waits
  EXPECT_EQ(job.work[0].count, 2 * 10 * 32);
  expect_golden("job.txt", report_text(job, {.colour = false, .unicode = true, .width = 80}));
}

TEST_F(Merge, TheSameRecordingTwiceIsCountedOnce) {
  const std::string a = make("a", {"alpha", "boot-a"}), b = make("b", {"beta", "boot-b"});
  std::filesystem::copy_file(a, folder_.file("copy"));
  const auto plan = merge({a, b, folder_.file("copy"), a}, folder_.file("job"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->notes.size(), 2U);
  EXPECT_EQ(report(folder_.file("job")).energy.joules->value, report(a).energy.joules->value + report(b).energy.joules->value);
}

TEST_F(Merge, RecordingsThatDoNotOverlapAreRefusedUnlessToldOtherwise) {
  const std::string a = make("a", {"alpha", "boot-a", 10, 10, 20}), b = make("b", {"beta", "boot-b", 10, 30, 40});
  const auto plan = merge({a, b}, folder_.file("job"));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::usage);
  EXPECT_NE(plan.error().line().find("10.0 s after"), std::string::npos) << plan.error().line();
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 2);
  ASSERT_TRUE(merge({a, b}, folder_.file("job"), true));
  const Report job = report(folder_.file("job"));
  EXPECT_NEAR(to_joules(job.energy.joules->value), 200, 0.01);
  EXPECT_FALSE(job.energy.partial);
  EXPECT_NEAR(job.duration_s, 30, 1e-3);
}

TEST_F(Merge, NothingIsWrittenWhereItFails) {
  const std::string a = make("a", {"alpha", "boot-a"});
  ASSERT_TRUE(merge({a}, folder_.file("job")));
  EXPECT_FALSE(merge({a}, folder_.file("job")));  // it exists
  EXPECT_FALSE(merge({a, folder_.file("job")}, folder_.file("x")));  // merged already
  EXPECT_FALSE(merge({a, folder_.file("none")}, folder_.file("x")));
  EXPECT_FALSE(merge({a}, folder_.file("no/folder/x")));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 2);
}

// A merged recording whose metadata names a host twice, or holds a job within a job, would count or go round for ever.
TEST(JobHosts, DamagedOnesAreRefused) {
  JobHost host;
  host.name = "alpha";
  host.crossings.resize(1);
  host.alignment.source = "the job's clock";
  host.members = {0};
  JobHost other = host;
  EXPECT_EQ(job_hosts({{"hosts", hosts_json({host})}})->size(), 1U);
  EXPECT_FALSE(job_hosts({{"hosts", hosts_json({host, other})}}));
  other.name = "beta";
  EXPECT_FALSE(job_hosts({{"hosts", hosts_json({host, other})}}));  // of one member
  other.members = {1};
  EXPECT_TRUE(job_hosts({{"hosts", hosts_json({host, other})}}));
  other.metadata["hosts"] = "[]";
  EXPECT_FALSE(job_hosts({{"hosts", hosts_json({host, other})}}));
  EXPECT_FALSE(job_hosts({{"hosts", "[{}]"}}));
  EXPECT_FALSE(job_hosts({{"hosts", "[3"}}));
  EXPECT_TRUE(job_hosts({})->empty());
}

TEST_F(Merge, WallClocksLayHostsOnEachOtherWithTheErrorThatTheirKernelsKnew) {
  Script alpha{"alpha", "boot-a"}, beta{"beta", "boot-b", 10, 10, 20, 4000};
  alpha.wall_error = milliseconds(3);
  beta.wall_error = milliseconds(5);
  const auto plan = merge({make("a", alpha), make("b", beta)}, folder_.file("job"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->hosts[1].alignment.source, "wall clocks");
  EXPECT_EQ(plan->hosts[1].alignment.high, milliseconds(8));
  EXPECT_EQ(plan->hosts[1].shift, seconds(1000 - 4000));
}

}  // namespace
}  // namespace joulery
