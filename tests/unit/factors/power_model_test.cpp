// The estimate for machines without sensors. Expected watts come from tests/golden/power_model.csv, which the Python side
// (scripts/learn_power_model --write, an implementation of its own) computed for made-up machines from the shipped table.
#include "factors/power_model.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

namespace joulery {
namespace {

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, ',');) out.push_back(cell);
  return out;
}

using Row = std::map<std::string, std::string>;

std::vector<Row> golden() {
  std::ifstream file(JOULERY_SOURCE_DIR "/tests/golden/power_model.csv");
  std::vector<std::string> names;
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    const auto values = cells(line);
    if (names.empty()) {
      names = values;
      continue;
    }
    Row& row = rows.emplace_back();
    for (std::size_t i = 0; i < values.size(); ++i) row[names[i]] = values[i];
  }
  return rows;
}

CpuIdentity identity(const Row& r) {
  CpuIdentity cpu;
  cpu.model_name = r.at("name");
  cpu.vendor = r.at("vendor");
  const auto whole = [&](const char* key) { return std::stoi(r.at(key)); };
  cpu.family = whole("family"), cpu.model = whole("model"), cpu.stepping = whole("stepping");
  cpu.sockets = whole("sockets"), cpu.cores = whole("cores"), cpu.threads = whole("threads");
  cpu.memory_gb = std::stod(r.at("memory_gb"));
  cpu.virtual_machine = whole("virtual") != 0;
  return cpu;
}

std::optional<Calibration> calibration_of(const Row& r) {
  if (std::stod(r.at("full")) == 0) return std::nullopt;
  const double half = std::stod(r.at("half"));
  return Calibration{watts(std::stod(r.at("idle"))), watts(std::stod(r.at("full"))), half > 0 ? std::optional(watts(half)) : std::nullopt,
                     ""};
}

CpuIdentity xeon_6338() {
  CpuIdentity cpu;
  cpu.model_name = "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz";
  cpu.vendor = "GenuineIntel";
  cpu.family = 6, cpu.model = 106, cpu.stepping = 6;
  cpu.sockets = 2, cpu.cores = 64, cpu.threads = 128;
  cpu.memory_gb = 256;
  return cpu;
}

bool has_flag(const PowerModel& model, std::string_view flag) { return std::ranges::find(model.flags(), flag) != model.flags().end(); }

TEST(PowerModel, TheShippedTableIsWhole) {
  const PowerTable table = read_power_table(shipped::power_model());
  EXPECT_TRUE(table.whole());
  EXPECT_FALSE(PowerTable{}.whole());
  for (const auto& tree : table.full.trees) {
    for (const int feature : tree.feature) EXPECT_TRUE(feature >= -1 && feature < 11);
  }
  for (const auto& [name, family] : table.families) EXPECT_TRUE(table.hosts.contains(name)) << name;
}

TEST(PowerModel, SaysWhatThePythonModelSays) {
  const auto rows = golden();
  ASSERT_GE(rows.size(), 36u);
  for (const Row& r : rows) {
    SCOPED_TRACE(r.at("name") + " " + r.at("mode"));
    const double tdp = std::stod(r.at("tdp"));
    const auto model = PowerModel::for_machine(identity(r), calibration_of(r), tdp > 0 ? std::optional(watts(tdp)) : std::nullopt);
    EXPECT_EQ(model.mode(), r.at("mode"));
    for (int percent = 0; percent <= 100; percent += 10) {
      const PowerBand band = model.node(percent / 100.0);
      const auto expected = [&](const char* column) { return std::stod(r.at(column + std::to_string(percent))); };
      EXPECT_NEAR(to_watts(band.value), expected("w"), 1e-4 + 1e-6 * expected("w")) << percent;
      EXPECT_NEAR(to_watts(band.low), expected("low"), 1e-4 + 1e-6 * expected("low")) << percent;
      EXPECT_NEAR(to_watts(band.high), expected("high"), 1e-4 + 1e-6 * expected("high")) << percent;
    }
  }
}

// A reporting case: an unknown processor with a given TDP uses that TDP and says that the name was assumed.
TEST(PowerModel, UnknownNameWithGivenTdpUsesItAndIsFlagged) {
  CpuIdentity cpu;
  cpu.model_name = "foobar";
  cpu.sockets = 1, cpu.cores = 8, cpu.threads = 16, cpu.memory_gb = 32;
  const auto given = PowerModel::for_machine(cpu, {}, watts(150));
  EXPECT_EQ(given.total_tdp(), watts(150));
  EXPECT_TRUE(has_flag(given, "cpu-assumed"));
  EXPECT_FALSE(has_flag(given, "tdp-assumed"));
  const auto guessed = PowerModel::for_machine(cpu);
  EXPECT_TRUE(has_flag(guessed, "tdp-assumed"));
  const auto width = [](const PowerModel& m) { return to_watts(m.node(1).high) / to_watts(m.node(1).low); };
  EXPECT_GT(width(guessed), width(given));
}

// A machine case: memory.max of 100 GiB on a host of 1 TiB has about a tenth of the host's memory power.
TEST(PowerModel, ControlGroupMemoryIsAShareOfTheHosts) {
  CpuIdentity cpu = xeon_6338();
  cpu.memory_gb = 1024;
  cpu.memory_limit_gb = 100;
  const auto model = PowerModel::for_machine(cpu);
  EXPECT_NEAR(to_watts(model.memory().value) / to_watts(model.host_memory().value), 100.0 / 1024.0, 1e-12);
  EXPECT_TRUE(has_flag(model, "memory-share"));
  cpu.memory_limit_gb = 2048;  // a limit above all memory is none
  EXPECT_FALSE(has_flag(PowerModel::for_machine(cpu), "memory-share"));
}

// A reporting case: 1008 GB in a host whose RAM takes 378 W; a group of 100 GB has 37.5 W of them.
TEST(PowerModel, MemoryPowerFollowsThePublishedWattsPerGigabyte) {
  CpuIdentity cpu = xeon_6338();
  cpu.memory_gb = 1008;
  cpu.memory_limit_gb = 100;
  const auto model = PowerModel::for_machine(cpu);
  EXPECT_NEAR(to_watts(model.host_memory().value), 378.0, 0.01);
  EXPECT_NEAR(to_watts(model.memory().value), 37.5, 0.01);
}

// A machine case: a virtual machine never takes more than the TDP, whatever its size.
TEST(PowerModel, VirtualMachineIsAShareBelowTheTdp) {
  CpuIdentity cpu;
  cpu.model_name = "Intel(R) Xeon(R) Processor";
  cpu.vendor = "GenuineIntel";
  cpu.family = 6, cpu.model = 207, cpu.stepping = 2;
  cpu.sockets = 1, cpu.cores = 2, cpu.threads = 2, cpu.memory_gb = 24;
  cpu.virtual_machine = true;
  cpu.hypervisor = "KVM";
  for (const int threads : {1, 2, 16, 128, 256, 1024}) {
    cpu.threads = threads;
    const auto model = PowerModel::for_machine(cpu);
    EXPECT_TRUE(has_flag(model, "vm-share"));
    EXPECT_TRUE(has_flag(model, "family-by-numbers"));
    EXPECT_GT(model.machine_share(), 0);
    EXPECT_LE(model.machine_share(), 1);
    EXPECT_LE(model.node(1).high, model.total_tdp());
    EXPECT_LE(model.package(1).high, model.node(1).high);
  }
  cpu.threads = 2;
  const auto two = PowerModel::for_machine(cpu);
  cpu.threads = 4;
  const auto four = PowerModel::for_machine(cpu);
  const double memory = to_watts(two.memory().value);
  EXPECT_NEAR(memory, 24 * 0.375, 1e-9);
  EXPECT_EQ(four.memory(), two.memory());
  EXPECT_NEAR(to_watts(four.node(0.5).value) - memory, 2 * (to_watts(two.node(0.5).value) - memory), 1e-9);
}

// What is not memory of a guest is its share of what is not memory of the host, whatever the guest's own memory.
TEST(PowerModel, AGuestHasAShareOfTheHostAndItsOwnMemory) {
  CpuIdentity cpu;
  cpu.model_name = "AMD EPYC 7R32";
  cpu.vendor = "AuthenticAMD";
  cpu.family = 23, cpu.model = 49;
  cpu.sockets = 1, cpu.cores = 4, cpu.threads = 8;
  cpu.virtual_machine = true;
  const auto beyond_memory = [&cpu](double memory_gb, double utilisation) {
    cpu.memory_gb = memory_gb;
    const auto model = PowerModel::for_machine(cpu);
    return to_watts(model.node(utilisation).value) - 0.375 * memory_gb;
  };
  for (const double utilisation : {0.0, 0.35, 1.0}) EXPECT_NEAR(beyond_memory(1, utilisation), beyond_memory(64, utilisation), 1e-9);
}

// A wall meter shows the host: 100 W more there are the guest's share of 100 W more here.
TEST(PowerModel, ACalibratedGuestHasAShareOfTheMeteredHost) {
  CpuIdentity cpu;
  cpu.model_name = "AMD EPYC 7R32";
  cpu.vendor = "AuthenticAMD";
  cpu.family = 23, cpu.model = 49;
  cpu.sockets = 1, cpu.cores = 4, cpu.threads = 8, cpu.memory_gb = 16;
  cpu.virtual_machine = true;
  const auto at_full = [&cpu](double most) {
    return to_watts(PowerModel::for_machine(cpu, Calibration{watts(220), watts(most), {}, ""}).node(1).value);
  };
  const double share = PowerModel::for_machine(cpu).machine_share();
  EXPECT_NEAR(at_full(500) - at_full(400), share * 100, 1e-9);
}

TEST(PowerModel, CalibrationPassesThroughItsPointsExactly) {
  const Calibration points{watts(181.3), watts(617.9), watts(402.7), "wall meter"};
  const auto model = PowerModel::for_machine(xeon_6338(), points);
  const auto exactly = [](Power p) { return PowerBand{p, p, p}; };
  EXPECT_EQ(model.node(0), exactly(watts(181.3)));
  EXPECT_EQ(model.node(0.5), exactly(watts(402.7)));
  EXPECT_EQ(model.node(1), exactly(watts(617.9)));
  EXPECT_TRUE(has_flag(model, "calibrated"));
  EXPECT_NE(model.source().find("wall meter"), std::string::npos);
}

TEST(PowerModel, UtilisationIsBroughtInside) {
  const auto model = PowerModel::for_machine(xeon_6338());
  EXPECT_EQ(model.node(-3), model.node(0));
  EXPECT_EQ(model.node(7), model.node(1));
  EXPECT_EQ(model.node(std::numeric_limits<double>::quiet_NaN()), model.node(0));
}

TEST(PowerModel, BetweenTwoLevelsLiesTheStraightLine) {
  const auto model = PowerModel::for_machine(xeon_6338());
  const double a = to_watts(model.node(0.3).value), b = to_watts(model.node(0.4).value);
  EXPECT_NEAR(to_watts(model.node(0.35).value), (a + b) / 2, 1e-9);
}

const std::vector<std::string> some_names = {
    "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", "AMD EPYC 9654 96-Core Processor", "foobar",     "",
    "Intel(R) Core(TM) i7-8700K CPU @ 3.70GHz", "Intel(R) Xeon(R) Processor",      "Neoverse-N1"};

RC_GTEST_PROP(PowerModelProperty, HoldsItsInvariantsForAnyMachine, ()) {
  CpuIdentity cpu;
  cpu.model_name = *rc::gen::elementOf(some_names);
  cpu.sockets = *rc::gen::inRange(0, 9);
  cpu.cores = *rc::gen::inRange(0, 257);
  cpu.threads = *rc::gen::inRange(0, 513);
  cpu.memory_gb = *rc::gen::inRange(0, 4096);
  cpu.virtual_machine = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) cpu.memory_limit_gb = *rc::gen::inRange(1, 4096);
  std::optional<Calibration> own;
  if (*rc::gen::arbitrary<bool>()) {
    const int idle = *rc::gen::inRange(1, 500), half = idle + *rc::gen::inRange(1, 500), most = half + *rc::gen::inRange(1, 500);
    own = Calibration{watts(idle), watts(most), *rc::gen::arbitrary<bool>() ? std::optional(watts(half)) : std::nullopt, ""};
  }
  const auto model = PowerModel::for_machine(cpu, own);
  const auto ordered = [](const PowerBand& b) {
    return watts(0) <= b.low && b.low <= b.value && b.value <= b.high && std::isfinite(to_watts(b.high));
  };
  PowerBand before_node, before_package;
  for (int percent = 0; percent <= 100; percent += 5) {
    const PowerSplit s = model.split(percent / 100.0);
    const PowerBand package = model.package(percent / 100.0);
    for (const PowerBand& b : {s.node, s.package, s.memory, s.rest, package}) RC_ASSERT(ordered(b));
    RC_ASSERT(package.value <= s.node.value && package.high <= s.node.high);
    RC_ASSERT(s.node.value >= before_node.value && s.node.low >= before_node.low && s.node.high >= before_node.high);
    RC_ASSERT(package.value >= before_package.value);
    const double sum = to_watts(s.package.value) + to_watts(s.memory.value) + to_watts(s.rest.value);
    RC_ASSERT(std::abs(sum - to_watts(s.node.value)) <= 1e-9 * std::max(1.0, sum));
    before_node = s.node;
    before_package = package;
  }
}

}  // namespace
}  // namespace joulery
