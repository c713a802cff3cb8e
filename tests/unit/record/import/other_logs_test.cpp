#include <gtest/gtest.h>

#include <cmath>

#include "helpers.h"

namespace joulery {
namespace {

TEST(PerfStat, ADecimalCommaIsAPoint) {
  const ImportedLog log = imported("12,34;Joules;power/energy-pkg/;1000;100,00\n");
  ASSERT_EQ(log.devices.size(), 1U);
  EXPECT_DOUBLE_EQ(si(log.devices[0], 1) - si(log.devices[0], 0), 12.34);
  EXPECT_EQ(log.devices[0].lines[1].at - log.devices[0].lines[0].at, nanoseconds(1000));
  EXPECT_EQ(log.devices[0].channels[0].component.path(), "node/cpu");
  EXPECT_FALSE(log.has_wall_clock);
}

TEST(PerfStat, SocketsIntervalsAndTheTimeItStarted) {
  const ImportedLog log = imported(
      "# started on Fri Apr 10 10:23:01 2026\n\n"
      "     1.000265,S0,1,20.00,Joules,power/energy-pkg/,1000265000,100.00,,\n"
      "     1.000265,S1,1,10.00,Joules,power/energy-pkg/,1000265000,100.00,,\n"
      "     1.000265,S0,1,30.00,Joules,power/energy-psys/,1000265000,100.00,,\n"
      "     1.000265,S0,1,123456,,instructions,1000265000,100.00,,\n"
      "     2.000530,S0,1,21.50,Joules,power/energy-pkg/,1000265000,100.00,,\n"
      "     2.000530,S1,1,11.50,Joules,power/energy-pkg/,1000265000,100.00,,\n"
      "     2.000530,S0,1,31.00,Joules,power/energy-psys/,1000265000,100.00,,\n");
  ASSERT_EQ(log.devices.size(), 3U);
  EXPECT_TRUE(log.has_wall_clock);
  const LoggedDevice& first = log.devices[0];
  EXPECT_EQ(first.channels[0].component.path(), "node/cpu/package-0");
  EXPECT_EQ(first.lines[0].at.ns, 1775816581LL * 1'000'000'000);
  EXPECT_NEAR(si(first, 2) - si(first, 0), 41.5, 1e-6);
  EXPECT_EQ(log.devices[1].channels[0].component.path(), "node/cpu/package-1");
  EXPECT_EQ(log.devices[2].channels[0].scope, Scope::platform);
}

TEST(PerfStat, AnIntervalThatWasNotCountedIsLost) {
  const ImportedLog log = imported(
      "1.0,5.00,Joules,power/energy-ram/,1,100.00\n2.0,<not counted>,Joules,power/energy-ram/,0,0.00\n"
      "3.0,6.00,Joules,power/energy-ram/,1,100.00\n");
  const LoggedDevice& ram = log.devices.at(0);
  EXPECT_EQ(reason(ram, 2), MissingReason::io_error);
  EXPECT_LT(ram.lines[3].values[0].raw, ram.lines[1].values[0].raw);  // as a counter that was reset: nothing is bridged
  EXPECT_FALSE(import_log("<not supported>,,power/energy-pkg/,0,100.00\n", "", {}));
}

TEST(RocmSmi, RealSnapshotsOfEveryVersion) {
  const std::string folder = shared_data + "sensors/telegraf/amd_rocm_smi_json/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "skipped: no ../shared";
  struct Expected {
    const char* file;
    std::vector<double> watts;  // by card, as grep finds them
  };
  const Expected all[] = {{"mi100_rocm571.json", {39, 37, 35, 39, 39, 40}},
                          {"mi100_rocm602.json", {36, 44, 43, 39}},
                          {"rx6700xt_rocm430.json", {6}},
                          {"rx6700xt_rocm602.json", {-1}},
                          {"vega-10-XT.json", {15}},
                          {"vega-20-WKS-GL-XE.json", {26}}};
  for (const Expected& expected : all) {
    ImportOptions options;
    options.interval = seconds(1);
    const std::string text = file_text(folder + expected.file);
    const ImportedLog log = imported(text + "\n" + text, options);
    ASSERT_EQ(log.devices.size(), expected.watts.size()) << expected.file;
    EXPECT_TRUE(has_note(log, "times-assumed"));
    double sum = 0, wanted = 0;
    for (std::size_t i = 0; i < log.devices.size(); ++i) {
      if (expected.watts[i] < 0)
        EXPECT_EQ(reason(log.devices[i], 0), MissingReason::not_supported) << expected.file;
      else
        sum += si(log.devices[i], 0), wanted += expected.watts[i];
    }
    EXPECT_DOUBLE_EQ(sum, wanted) << expected.file;
    EXPECT_EQ(has_note(log, "covered-by-sibling"), expected.watts[0] < 0);
  }
}

TEST(RocmSmi, TheEnergyCounterIsInMicrojoules) {
  ImportOptions options;
  options.interval = seconds(1);
  const ImportedLog log = imported(
      R"json({"card0": {"Energy counter": "0", "Accumulated Energy (uJ)": "0.0"}}
         {"card0": {"Energy counter": "65628", "Accumulated Energy (uJ)": "1004108.4"}})json",
      options);
  EXPECT_NEAR(si(log.devices.at(0), 1) - si(log.devices[0], 0), 1.004108, 1e-6);  // 65628 x 15.3 uJ
}

TEST(RocmSmi, SeveralSnapshotsNeedTheirInterval) {
  const auto log = import_log(R"json({"card0": {"GPU use (%)": "3"}} {"card0": {"GPU use (%)": "4"}})json", "", {});
  ASSERT_FALSE(log);
  EXPECT_NE(log.error().hint.find("--interval"), std::string::npos);
  EXPECT_FALSE(import_log(R"({"card0": {"Average)", "", {}));
}

TEST(PtDaemon, EverySampleOfARealLog) {
  const std::string file = shared_data + "mlperf-power/v3.0-nvidia-h100x8-bert99-server/run_1/spl.txt";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "skipped: no ../shared";
  const ImportedLog log = imported(file_text(file));
  ASSERT_EQ(log.devices.size(), 1U);
  EXPECT_EQ(log.devices[0].channels[0].component.path(), "wall");
  // The checker's own rule over 22:40:57.366 to 22:50:57.395: 600 samples, their mean 3061.409 W (expected.csv).
  const auto begin = 1677278457'366'000'000, end = 1677279057'395'000'000;
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < log.devices[0].lines.size(); ++i) {
    const std::int64_t at = log.devices[0].lines[i].at.ns;
    if (at <= begin || at >= end || reason(log.devices[0], i) != MissingReason::none) continue;
    sum += si(log.devices[0], i);
    ++count;
  }
  EXPECT_EQ(count, 600);
  EXPECT_NEAR(sum / count, 3061.409, 0.0005);
}

TEST(PtDaemon, WattsThatAreNonePositiveAreNoNumbers) {
  const ImportedLog log = imported(
      "Time,07-23-2022 01:05:41.201,Watts,651.9,Volts,-1.0,Amps,-1.0,PF,-1.0,Mark,x,Ch1,Watts,270.6\n"
      "Time,07-23-2022 01:05:42.201,Watts,NaN,Volts,-1.0\nTime,07-23-2022 01:05:43.201,Watts,-1.0,Volts,-1.0\n"
      "Time,07-23-2022 01:05:44.201,Watts,0.0,Volts,-1.0\nTime,07-23-2022 01:05:45.201,Watts,650.0,Volts,-1.0\n");
  EXPECT_DOUBLE_EQ(si(log.devices.at(0), 0), 651.9);
  for (const std::size_t i : {1, 2, 3}) EXPECT_EQ(reason(log.devices[0], i), MissingReason::rubbish) << i;
}

constexpr const char* codecarbon_header =
    "timestamp,project_name,run_id,duration,emissions,cpu_power,gpu_power,ram_power,cpu_energy,gpu_energy,ram_energy,energy_consumed\n";

TEST(CodeCarbon, KilowattHoursOfTheLastRun) {
  const ImportedLog log = imported(std::string(codecarbon_header) +
                                   "2026-03-01T10:00:00,old,1,10,0,42.5,0,3,0.0001,0.0,0.00001,0.00011\n"
                                   "2026-03-01T11:16:40,\"train, all\",2,1000,0,42.5,390.005,3,0.0118056,0.108335,0.0008,0.12\n");
  ASSERT_EQ(log.devices.size(), 3U);
  // 0.108335 kWh are 390 006 J: 390.005 W for 1000 s, as the tool computes it.
  EXPECT_NEAR(si(log.devices[1], 1), 390.005 * 1000, 1.1);
  EXPECT_NEAR(si(log.devices[0], 1), 42.5 * 1000, 0.2);
  EXPECT_EQ(log.run->end - log.run->begin, seconds(1000));
  EXPECT_EQ(log.command.back(), "train, all");
  EXPECT_TRUE(has_note(log, "rows-left-out: 1"));
  EXPECT_TRUE(has_note(log, "codecarbon-values"));
}

TEST(CodeCarbon, AZeroIsWhatItDidNotMeasure) {
  const ImportedLog log = imported(std::string(codecarbon_header) + "2026-03-01T10:00:00,p,1,10,0,42.5,0,3,0.0001,0.0,0.00001,0.00011\n");
  EXPECT_EQ(reason(log.devices.at(1), 1), MissingReason::not_supported);
  EXPECT_FALSE(import_log(std::string(codecarbon_header) + "2026-03-01T10:00:00,p,1,0,0,1,1,1,1,1,1,1\n", "", {}));
  EXPECT_FALSE(import_log(codecarbon_header, "", {}));
}

constexpr const char* sacct_header = "JobID|JobName|Start|End|NNodes|ConsumedEnergyRaw|ConsumedEnergy\n";

TEST(Sacct, TheJobsOwnLineCounts) {
  const ImportedLog log = imported(std::string(sacct_header) +
                                   "77|train|2026-03-01T10:00:00|2026-03-01T10:02:02|1|101630|101.63K\n"
                                   "77.batch|batch|2026-03-01T10:00:00|2026-03-01T10:02:02|1|100000|100K\n");
  ASSERT_EQ(log.devices.size(), 1U);
  EXPECT_DOUBLE_EQ(si(log.devices[0], 1), 101630);  // 833 W for 122 s
  EXPECT_EQ(log.run->end - log.run->begin, seconds(122));
  EXPECT_EQ(log.devices[0].channels[0].component.path(), "node");
  EXPECT_TRUE(has_note(log, "slurm-exclusive"));
}

TEST(Sacct, WithoutItTheStepsDo) {
  const ImportedLog log = imported(std::string(sacct_header) +
                                   "77|train|2026-03-01T10:00:00|2026-03-01T10:02:02|1||\n"
                                   "77.0|a|2026-03-01T10:00:00|2026-03-01T10:01:00|1||1.50K\n"
                                   "77.1|b|2026-03-01T10:01:10|2026-03-01T10:02:00|1|500|500\n");
  const LoggedDevice& job = log.devices.at(0);
  ASSERT_EQ(job.lines.size(), 4U);
  EXPECT_DOUBLE_EQ(si(job, 3), 2000);
}

TEST(Sacct, EnergiesThatCannotBeAreNoNumbers) {
  const auto of = [](const char* raw) {
    return reason(imported(std::string(sacct_header) + "7|t|2026-03-01T10:00:00|2026-03-01T10:02:02|1|" + raw + "|\n").devices.at(0), 1);
  };
  EXPECT_EQ(of("0"), MissingReason::not_supported);
  EXPECT_EQ(of("-1"), MissingReason::not_supported);
  EXPECT_EQ(of("4294967294"), MissingReason::rubbish);            // unset
  EXPECT_EQ(of("18446744073709551602"), MissingReason::rubbish);  // an underflow
}

TEST(Sacct, OneOfSeveralJobsIsNamed) {
  const std::string two = std::string(sacct_header) +
                          "7|t|2026-03-01T10:00:00|2026-03-01T10:02:02|1|100|\n8|t|2026-03-01T11:00:00|2026-03-01T11:02:02|1|200|\n";
  const auto unsaid = import_log(two, "", {});
  ASSERT_FALSE(unsaid);
  EXPECT_EQ(unsaid.error().code, ErrorCode::usage);
  ImportOptions options;
  options.job = "8";
  EXPECT_DOUBLE_EQ(si(imported(two, options).devices.at(0), 1), 200);
}

TEST(ImportLog, ForeignTextIsOneClearError) {
  for (const std::string& text : {std::string("hello\nworld\n"), std::string(1000, '\0'), std::string("{}"), std::string("a,b,c\n1,2,3\n"),
                                  std::string("\x7f"
                                              "ELF\2\1\1")}) {
    const auto log = import_log(text, "", {});
    ASSERT_FALSE(log);
    EXPECT_EQ(log.error().code, ErrorCode::format);
    EXPECT_EQ(log.error().line().find('\n'), std::string::npos);
  }
  const auto misnamed = import_log("x", "ptdeamon", {});
  ASSERT_FALSE(misnamed);
  EXPECT_NE(misnamed.error().hint.find("ptdaemon"), std::string::npos);
}

}  // namespace
}  // namespace joulery
