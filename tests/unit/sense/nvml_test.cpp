#include "sense/nvidia/nvml.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include "sense/rapl/powercap.h"
#include "tests/unit/sense/tree.h"

namespace joulery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace joulery::testing;

// A machine with NVIDIA's driver whose library is the stand-in: loaded beforehand under its real name, so that the meter's
// dlopen finds it whatever else is installed.
class Nvml : public ::testing::Test {
 protected:
  Nvml() { tree.file("/proc/driver/nvidia/version", "NVRM version: stand-in\n"); }
  ~Nvml() override {
    found = {};
    if (library) ::dlclose(library);
    ::unsetenv("FAKE_NVML_SCRIPT");
  }

  void probe(const std::string& script, const char* path = JOULERY_STANDINS "/libnvidia-ml.so.1") {
    tree.file("/script", script);
    ::setenv("FAKE_NVML_SCRIPT", (tree.root() + "/script").c_str(), 1);
    library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    set_time_ms = reinterpret_cast<void (*)(double)>(::dlsym(library, "fake_nvml_set_time_ms"));
    ASSERT_NE(set_time_ms, nullptr);
    set_time_ms(0);
    found = probe_nvml(tree.machine());
  }
  Meter& gpu(std::size_t index) { return *found.devices.at(index).meter; }

  Tree tree;
  void* library = nullptr;
  void (*set_time_ms)(double) = nullptr;
  Discovery found;
};

TEST_F(Nvml, AGpuHasAllItsChannels) {
  probe(
      "gpu 0 name NVIDIA H100 80GB HBM3\ngpu 0 uuid GPU-5b4e0000-0000-0000-0000-000000000000\ngpu 0 watts 0 250\ngpu 0 base 1000\n"
      "gpu 0 utilisation 87\ngpu 0 memory 1024 512\ngpu 0 clock 1980\ngpu 0 throttle 0x44\n");
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_EQ(found.devices[0].name, "GPU-5b4e0000-0000-0000-0000-000000000000 NVIDIA H100 80GB HBM3");
  EXPECT_TRUE(found.devices[0].slow);
  set_time_ms(2000);
  EXPECT_EQ(read_channel(gpu(0), "energy").raw, 1000 + 250 * 2000);
  EXPECT_EQ(read_channel(gpu(0), "power").raw, 250'000);
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
}

TEST_F(Nvml, Case13BeforeVoltaThereIsPowerAloneAndNoZeroEnergy) {
  probe("gpu 0 name Tesla P100\ngpu 0 arch 4\ngpu 0 cc 6 0\ngpu 0 counter no\ngpu 0 watts 0 250\n");
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_EQ(channel_named(gpu(0), "energy"), nullptr);
  double joules = 0;  // 250 000 mW each second, 0 to 10
  for (int second = 1; second <= 10; ++second) {
    set_time_ms(second * 1000.0);
    joules += static_cast<double>(read_channel(gpu(0), "power").raw) * channel_named(gpu(0), "power")->unit;
  }
  EXPECT_DOUBLE_EQ(joules, 2500.0);
  EXPECT_EQ(channel_named(gpu(0), "power")->behaviour, Behaviour::gauge);
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
  EXPECT_TRUE(read_channel(gpu(0), "power").ok());
  set_time_ms(6000);
  for (const Reading& reading : read_round(gpu(0))) EXPECT_EQ(reading.reason, MissingReason::device_lost);
  EXPECT_EQ(read_channel(gpu(1), "power").raw, 200'000);
}

TEST_F(Nvml, AGpuThatIsLostAlreadyIsAFinding) {
  probe("gpu 0 watts 0 100\ngpu 1 watts 0 200\ngpu 0 lost 0\n");
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_EQ(channel_named(gpu(0), "power")->component.path(), "node/gpu/1");
  ASSERT_NE(finding_for(found, "gpu 0"), nullptr);
  EXPECT_THAT(finding_for(found, "gpu 0")->reason, HasSubstr("GPU is lost"));
}

TEST_F(Nvml, ReturnCodesBecomeReasons) {
  probe(
      "gpu 0 watts 0 100\ngpu 0 return nvmlDeviceGetTotalEnergyConsumption 10\ngpu 0 return nvmlDeviceGetPowerUsage 4\ngpu 0 return "
      "nvmlDeviceGetClockInfo 999\n"
      "gpu 0 return nvmlDeviceGetUtilizationRates 3\n");
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_EQ(read_channel(gpu(0), "energy").reason, MissingReason::timed_out);
  EXPECT_EQ(read_channel(gpu(0), "power").reason, MissingReason::permission);
  EXPECT_EQ(read_channel(gpu(0), "sm_clock").reason, MissingReason::io_error);
  EXPECT_EQ(channel_named(gpu(0), "utilisation"), nullptr);  // a partitioned GPU has none
  EXPECT_TRUE(read_channel(gpu(0), "memory").ok());
}

TEST_F(Nvml, AGpuWithNeitherEnergyNorPowerIsAFindingAndNoDevice) {
  probe("gpu 0 counter no\ngpu 0 return nvmlDeviceGetPowerUsage 3\n");
  EXPECT_TRUE(found.devices.empty());
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_TRUE(found.findings[0].found);
  EXPECT_THAT(found.findings[0].reason, HasSubstr("neither energy nor power"));
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

struct Sampling {
  const char* lines;
  std::int64_t update_ms, window_ms;
};

TEST_F(Nvml, PowerIsSampledAsTheArchitectureDoes) {
  const Sampling rows[] = {{"gpu 0 arch 5\ngpu 0 cc 7 0\n", 20, 10},    {"gpu 0 arch 6\ngpu 0 cc 7 5\n", 100, 100},
                           {"gpu 0 arch 7\ngpu 0 cc 8 0\n", 100, 25},   {"gpu 0 arch 7\ngpu 0 cc 8 6\n", 100, 1000},
                           {"gpu 0 arch 9\ngpu 0 cc 9 0\n", 100, 1000}, {"gpu 0 arch 10\ngpu 0 cc 10 0\n", 100, 1000}};
  for (const Sampling& row : rows) {
    probe(row.lines);
    ASSERT_EQ(found.devices.size(), 1u);
    EXPECT_EQ(channel_named(gpu(0), "power")->update_period, milliseconds(row.update_ms)) << row.lines;
    EXPECT_EQ(channel_named(gpu(0), "power")->averaging_window, milliseconds(row.window_ms)) << row.lines;
    found = {};
    ::dlclose(library);
    library = nullptr;
  }
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
