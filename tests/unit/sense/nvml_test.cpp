#include "sense/nvidia/nvml.h"

#include <gmock/gmock.h>

#include "sense/rapl/powercap.h"
#include "tests/unit/sense/nvml_fixture.h"

namespace joulery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace joulery::testing;

class Nvml : public NvmlFixture {};

TEST_F(Nvml, AGpuHasAllItsChannels) {
  probe(
      "gpu 0 name NVIDIA H100 80GB HBM3\ngpu 0 uuid GPU-5b4e0000-0000-0000-0000-000000000000\ngpu 0 watts 0 250\ngpu 0 base 1000\n"
      "gpu 0 pci 0:1b:0\ngpu 0 window 1000\ngpu 0 instant 25\ngpu 0 utilisation 87\ngpu 0 memory 1024 512 64\ngpu 0 clock 1980\n"
      "gpu 0 throttle 0x44\n");
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_EQ(found.devices[0].name, "GPU-5b4e0000-0000-0000-0000-000000000000 0000:1b:00.0 NVIDIA H100 80GB HBM3");
  EXPECT_TRUE(found.devices[0].slow);
  set_time_ms(2000);
  EXPECT_EQ(read_channel(gpu(0), "energy").raw, 1000 + 250 * 2000);
  EXPECT_EQ(read_channel(gpu(0), "power_average").raw, 250'000);
  EXPECT_EQ(read_channel(gpu(0), "power_instant").raw, 250'000);
  EXPECT_EQ(read_channel(gpu(0), "limit").raw, 700'000);
  EXPECT_EQ(read_channel(gpu(0), "limit_least").raw, 200'000);
  EXPECT_EQ(channel_named(gpu(0), "limit")->measurand, Measurand::power_limit);  // no energy comes of it
  EXPECT_EQ(read_channel(gpu(0), "memory_reserved").raw, 64 << 20);
  EXPECT_EQ(read_channel(gpu(0), "memory_clock").raw, 2619);
  EXPECT_EQ(read_channel(gpu(0), "utilisation").raw, 87);
  EXPECT_EQ(read_channel(gpu(0), "memory").raw, 512 << 20);
  EXPECT_EQ(read_channel(gpu(0), "memory_total").raw, 1024 << 20);
  EXPECT_EQ(read_channel(gpu(0), "sm_clock").raw, 1980);
  EXPECT_EQ(read_channel(gpu(0), "throttle").raw, 0x44);
  const Channel& energy = *channel_named(gpu(0), "energy");
  EXPECT_EQ(energy.component.path(), "node/gpu/0");
  EXPECT_DOUBLE_EQ(energy.unit, 1e-3);
  EXPECT_GE(to_watts(energy.max_power), 700.0);
  EXPECT_EQ(channel_named(gpu(0), "throttle")->behaviour, Behaviour::label);
  EXPECT_EQ(channel_named(gpu(0), "power"), nullptr);  // the old function tells nothing beside the fields
}

TEST_F(Nvml, TrafficLimitsAndWhatHeldTheClockAreCounted) {
  probe(
      "gpu 0 watts 0 250\ngpu 0 rate 74 250000000\ngpu 0 rate 270 1000000\ngpu 0 rate 197 5000\ngpu 0 rate 198 7000\n"
      "gpu 0 rate 138/all 100\ngpu 0 rate 204/all 300\n");
  set_time_ms(4000);
  EXPECT_EQ(read_channel(gpu(0), "held_by_power_cap").raw, 1'000'000'000);  // ns
  EXPECT_EQ(read_channel(gpu(0), "held_by_hardware_heat").raw, 4'000'000);
  EXPECT_EQ(read_channel(gpu(0), "pcie_sent").raw, 20'000);
  EXPECT_EQ(read_channel(gpu(0), "pcie_received").raw, 28'000);
  const auto bytes = [&](const char* name) {
    return static_cast<double>(read_channel(gpu(0), name).raw) * channel_named(gpu(0), name)->unit;
  };
  EXPECT_DOUBLE_EQ(bytes("nvlink_sent"), 400 * 1024.0);   // KiB of the older field
  EXPECT_DOUBLE_EQ(bytes("nvlink_received"), 1200.0);     // bytes of the newer
  EXPECT_EQ(channel_named(gpu(0), "held_by_sync_boost"), nullptr);
}

TEST_F(Nvml, Case19AModuleOfCpuAndGpuIsToldApartAndNeverAdded) {
  probe("gpu 0 name NVIDIA GH200 480GB\ngpu 0 watts 0 350\ngpu 0 module 250\n");
  set_time_ms(2000);
  EXPECT_EQ(read_channel(gpu(0), "power_average").raw, 350'000);
  EXPECT_EQ(read_channel(gpu(0), "module_power_average").raw, 600'000);
  EXPECT_EQ(read_channel(gpu(0), "module_energy").raw, 1'200'000);
  EXPECT_EQ(channel_named(gpu(0), "energy"), nullptr);  // the counter is the module's: none of the GPU alone
  double counted = 0;
  for (const Channel& channel : gpu(0).channels()) {
    if (channel.measurand != Measurand::power && channel.measurand != Measurand::energy) continue;
    const bool of_module = channel.name.starts_with("module_");
    EXPECT_EQ(channel.scope, of_module ? Scope::platform : Scope::component) << channel.name;
    EXPECT_EQ(channel.component.path(), of_module ? "node/module/0" : "node/gpu/0") << channel.name;
    if (channel.scope == Scope::component && channel.name == "power_average")
      counted += static_cast<double>(read_channel(gpu(0), channel.name).raw) * 1e-3;
  }
  EXPECT_DOUBLE_EQ(counted, 350);
  EXPECT_THAT(finding_for(found, found.devices[0].name)->reason, HasSubstr("module"));
}

TEST_F(Nvml, AModuleWithTwoCountersGivesBoth) {
  probe("gpu 0 watts 0 350\ngpu 0 module 250 1\n");
  set_time_ms(2000);
  found = probe_nvml(tree.machine());  // at time 0 both stand at 0 and cannot be told apart
  EXPECT_EQ(read_channel(gpu(0), "energy").raw, 700'000);
  EXPECT_EQ(channel_named(gpu(0), "energy")->scope, Scope::component);
  EXPECT_EQ(read_channel(gpu(0), "module_energy").raw, 1'200'000);
  EXPECT_EQ(channel_named(gpu(0), "module_energy")->scope, Scope::platform);
}

TEST_F(Nvml, PowerOfTheMemoryIsPartOfTheGpus) {
  probe("gpu 0 watts 0 350\ngpu 0 memory_watts 60\ngpu 1 watts 0 100\n");
  EXPECT_EQ(read_channel(gpu(0), "memory_power").raw, 60'000);
  EXPECT_EQ(channel_named(gpu(0), "memory_power")->component.path(), "node/gpu/0/memory");
  EXPECT_EQ(channel_named(gpu(1), "memory_power"), nullptr);  // says 0 W, which stands for "not supported"
}

TEST_F(Nvml, EachFieldHasItsOwnReturnCode) {
  probe("gpu 0 watts 0 100\ngpu 0 field 83 code 10\ngpu 0 field 185 code 3\ngpu 0 field 186 code 4\ngpu 0 field 190 code 999\n");
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_EQ(read_channel(gpu(0), "energy").reason, MissingReason::timed_out);
  EXPECT_EQ(channel_named(gpu(0), "power_average"), nullptr);
  EXPECT_EQ(read_channel(gpu(0), "power_instant").reason, MissingReason::permission);
  EXPECT_EQ(read_channel(gpu(0), "limit").reason, MissingReason::io_error);
  EXPECT_TRUE(read_channel(gpu(0), "limit_greatest").ok());
  rewrite("gpu 0 watts 0 100\n");
  EXPECT_TRUE(read_channel(gpu(0), "energy").ok());
  EXPECT_EQ(read_channel(gpu(0), "power_instant").raw, 100'000);
}

TEST_F(Nvml, ADriverThatRefusesAllForOneUnknownFieldIsAskedForEach) {
  probe("gpu 0 watts 0 100\ngpu 0 field 204/all code -1\n");
  EXPECT_EQ(read_channel(gpu(0), "power_average").raw, 100'000);
  EXPECT_TRUE(read_channel(gpu(0), "energy").ok());
  EXPECT_EQ(channel_named(gpu(0), "nvlink_received"), nullptr);
}

TEST_F(Nvml, TheNewerFieldOfTheCounterStandsInForTheOlder) {
  probe("gpu 0 watts 0 100\ngpu 0 field 83 code 3\n");
  set_time_ms(3000);
  EXPECT_EQ(read_channel(gpu(0), "energy").raw, 300'000);
}

TEST_F(Nvml, Case13BeforeVoltaThereIsPowerAloneAndNoZeroEnergy) {
  probe("gpu 0 name Tesla P100\ngpu 0 arch 4\ngpu 0 cc 6 0\ngpu 0 counter no\ngpu 0 watts 0 250\n");
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_EQ(channel_named(gpu(0), "energy"), nullptr);
  double joules = 0;  // 250 000 mW each second, 0 to 10
  for (int second = 1; second <= 10; ++second) {
    set_time_ms(second * 1000.0);
    joules += static_cast<double>(read_channel(gpu(0), "power_instant").raw) * channel_named(gpu(0), "power_instant")->unit;
  }
  EXPECT_DOUBLE_EQ(joules, 2500.0);
  EXPECT_EQ(channel_named(gpu(0), "power_instant")->behaviour, Behaviour::gauge);
}

TEST_F(Nvml, Case16MillijoulesStandBesideMicrojoules) {
  probe("gpu 0 base 192276\n");
  tree.zone("intel-rapl:0", "package-0", 153976351);
  Discovery cpu = probe_powercap(tree.machine());
  ASSERT_EQ(cpu.devices.size(), 1u);
  ASSERT_EQ(found.devices.size(), 1u);
  const double package =
      static_cast<double>(read_channel(*cpu.devices[0].meter, "package-0").raw) * channel_named(*cpu.devices[0].meter, "package-0")->unit;
  const double card = static_cast<double>(read_channel(gpu(0), "energy").raw) * channel_named(gpu(0), "energy")->unit;
  EXPECT_NEAR(package, 153.976, 0.0005);
  EXPECT_NEAR(card, 192.276, 0.0005);
  EXPECT_NEAR(package + card, 346.252, 0.0005);
}

TEST_F(Nvml, ALostGpuCostsItselfAlone) {
  probe("gpu 0 watts 0 100\ngpu 1 watts 0 200\ngpu 0 lost 5000\n");
  ASSERT_EQ(found.devices.size(), 2u);
  set_time_ms(4000);
  EXPECT_TRUE(read_channel(gpu(0), "power_average").ok());
  set_time_ms(6000);
  for (const Reading& reading : read_once(gpu(0))) EXPECT_EQ(reading.reason, MissingReason::device_lost);
  EXPECT_EQ(read_channel(gpu(1), "power_average").raw, 200'000);
}

TEST_F(Nvml, ALostGpuThatComesBackIsReadAgain) {
  probe("gpu 0 watts 0 100\ngpu 0 lost 1000 5000\n");
  set_time_ms(2000);
  EXPECT_EQ(read_channel(gpu(0), "energy").reason, MissingReason::device_lost);
  set_time_ms(6000);
  EXPECT_EQ(read_channel(gpu(0), "energy").raw, 600'000);
}

// The driver was loaded anew: the same handle, the counter from 0. The track of the readings names it as a fall.
TEST_F(Nvml, ADriverLoadedAnewIsSeenAsTheCounterItself) {
  probe("gpu 0 watts 0 100\ngpu 0 base 5000000\ngpu 0 reset 3000\n");
  set_time_ms(2000);
  EXPECT_EQ(read_channel(gpu(0), "energy").raw, 5'200'000);
  set_time_ms(4000);
  EXPECT_EQ(read_channel(gpu(0), "energy").raw, 100'000);
}

TEST_F(Nvml, AGpuThatIsLostAlreadyIsAFinding) {
  probe("gpu 0 watts 0 100\ngpu 1 watts 0 200\ngpu 0 lost 0\n");
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_EQ(channel_named(gpu(0), "power_average")->component.path(), "node/gpu/1");
  ASSERT_NE(finding_for(found, "gpu 0"), nullptr);
  EXPECT_THAT(finding_for(found, "gpu 0")->reason, HasSubstr("GPU is lost"));
}

TEST_F(Nvml, ReturnCodesOfFunctionsBecomeReasons) {
  probe(
      "gpu 0 watts 0 100\ngpu 0 return nvmlDeviceGetTotalEnergyConsumption 10\ngpu 0 return nvmlDeviceGetPowerUsage 4\ngpu 0 return "
      "nvmlDeviceGetClockInfo 999\n"
      "gpu 0 return nvmlDeviceGetUtilizationRates 3\n",
      JOULERY_STANDINS "/old/libnvidia-ml.so.1");
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_EQ(read_channel(gpu(0), "energy").reason, MissingReason::timed_out);
  EXPECT_EQ(read_channel(gpu(0), "power").reason, MissingReason::permission);
  EXPECT_EQ(read_channel(gpu(0), "sm_clock").reason, MissingReason::io_error);
  EXPECT_EQ(channel_named(gpu(0), "utilisation"), nullptr);
  EXPECT_TRUE(read_channel(gpu(0), "memory").ok());
}

// A driver from before fields: energy, power, memory and the reasons for the clock by functions, some under their older names.
TEST_F(Nvml, AnOldLibraryIsReadByItsFunctions) {
  probe("gpu 0 watts 0 100\ngpu 0 memory 1024 512 64\ngpu 0 throttle 4\ngpu 0 process 4711 100 50 10 0 0\n",
        JOULERY_STANDINS "/old/libnvidia-ml.so.1");
  ASSERT_EQ(found.devices.size(), 1u);
  set_time_ms(2000);
  EXPECT_EQ(gpu(0).channels().front().name, "energy");
  EXPECT_EQ(read_channel(gpu(0), "energy").raw, 200'000);
  EXPECT_EQ(read_channel(gpu(0), "power").raw, 100'000);
  EXPECT_EQ(read_channel(gpu(0), "limit").raw, 700'000);
  EXPECT_EQ(read_channel(gpu(0), "memory").raw, 576 << 20);  // the older call counts what is reserved as used
  EXPECT_EQ(read_channel(gpu(0), "throttle").raw, 4);
  std::vector<DeviceProcess> processes;
  gpu(0).processes(processes);
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].pid, 4711);
  EXPECT_THAT(found.devices[0].remarks.back(), HasSubstr("nvmlDeviceGetFieldValues"));
}

TEST_F(Nvml, AGpuWithNeitherEnergyNorPowerIsAFindingAndNoDevice) {
  probe("gpu 0 counter no\ngpu 0 field 185 code 3\ngpu 0 field 186 code 3\ngpu 0 return nvmlDeviceGetPowerUsage 3\n");
  EXPECT_TRUE(found.devices.empty());
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_TRUE(found.findings[0].found);
  EXPECT_THAT(found.findings[0].reason, HasSubstr("neither energy nor power"));
}

TEST_F(Nvml, AJetsonStartsAndSupportsNothing) {
  tree.file("/etc/nv_tegra_release", "# R36\n");
  probe(
      "gpu 0 name Orin (nvgpu)\ngpu 0 counter no\ngpu 0 field 185 code 3\ngpu 0 field 186 code 3\ngpu 0 return nvmlDeviceGetPowerUsage "
      "3\n");
  EXPECT_TRUE(found.devices.empty());
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_FALSE(found.findings[0].readable);
  EXPECT_THAT(found.findings[0].reason, HasSubstr("INA3221"));
}

TEST_F(Nvml, ALibraryThatLacksFunctionsGivesWhatItHas) {
  probe("gpu 0 watts 0 100\n", JOULERY_STANDINS "/minimal/libnvidia-ml.so.1");
  ASSERT_EQ(found.devices.size(), 1u);
  ASSERT_EQ(gpu(0).channels().size(), 1u);
  EXPECT_EQ(read_channel(gpu(0), "power").raw, 100'000);
}

struct InitFailure {
  int code;
  const char* reason;
  const char* remedy;
};

TEST_F(Nvml, AFailedStartHasItsReasonAndRemedy) {
  const InitFailure failures[] = {{9, "driver is not loaded", "modprobe nvidia"},
                                  {18, "different versions", "reboot"},
                                  {4, "device files", "/dev/nvidiactl"},
                                  {17, "container", "--gpus"},
                                  {999, "NVML 999", "nvidia-smi"}};
  for (const InitFailure& failure : failures) {
    probe("return nvmlInit_v2 " + std::to_string(failure.code) + "\n");
    EXPECT_TRUE(found.devices.empty());
    ASSERT_EQ(found.findings.size(), 1u);
    EXPECT_TRUE(found.findings[0].found);
    EXPECT_THAT(found.findings[0].reason, HasSubstr(failure.reason));
    EXPECT_THAT(found.findings[0].remedy, HasSubstr(failure.remedy));
    ::dlclose(library);
    library = nullptr;
  }
}

// What the table of sensors says of each reading goes with its channel.
TEST_F(Nvml, PowerIsSampledAsTheArchitectureDoes) {
  probe(
      "gpu 0 arch 9\ngpu 0 cc 9 0\ngpu 0 watts 0 100\ngpu 1 arch 8\ngpu 1 cc 8 9\ngpu 1 watts 0 100\ngpu 2 arch 7\ngpu 2 cc 8 0\ngpu 2 "
      "watts 0 100\n");
  ASSERT_EQ(found.devices.size(), 3u);
  const auto window = [&](std::size_t index, const char* name) { return channel_named(gpu(index), name)->averaging_window; };
  EXPECT_EQ(window(0, "power_average"), milliseconds(1000));
  EXPECT_EQ(window(0, "power_instant"), milliseconds(25));
  EXPECT_EQ(window(1, "power_instant"), milliseconds(100));
  EXPECT_EQ(window(2, "power_instant"), milliseconds(25));
  EXPECT_EQ(channel_named(gpu(2), "power_average"), nullptr);  // GA100 has none
  EXPECT_EQ(channel_named(gpu(0), "power_instant")->update_period, milliseconds(100));
  // Of two powers the one that sees all of the time, and of two that do the younger one, comes first.
  EXPECT_EQ(gpu(0).channels()[1].name, "power_average");
  EXPECT_EQ(gpu(1).channels()[1].name, "power_instant");
}

TEST(NvmlWithoutDriver, ARecordedTreeHasNoGpu) {
  Tree tree;
  const Discovery found = probe_nvml(tree.machine());
  EXPECT_TRUE(found.devices.empty());
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_FALSE(found.findings[0].found);
}

}  // namespace
}  // namespace joulery
