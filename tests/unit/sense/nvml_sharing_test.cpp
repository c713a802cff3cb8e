// What shares a GPU: MIG slices, their profiling metrics, and processes.
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "tests/unit/sense/nvml_fixture.h"

namespace joulery {
namespace {

using ::testing::HasSubstr;
using namespace joulery::testing;

class NvmlSharing : public NvmlFixture {
 protected:
  std::vector<DeviceProcess> processes(std::size_t index) {
    std::vector<DeviceProcess> all;
    gpu(index).processes(all);
    return all;
  }
};

constexpr const char* partitioned =
    "gpu 0 uuid GPU-ab12\ngpu 0 watts 0 300\ngpu 0 mig 3 0 MIG-11111111-aaaa 20096 512\ngpu 0 mig 5 0 MIG-22222222-bbbb 10048 256\n"
    "gpu 0 gpm_mig 3 2 61.5\ngpu 0 gpm_mig 5 2 7\ngpu 0 process 4711 500 0 0 0 0 3 0\n";

TEST_F(NvmlSharing, PowerOfAPartitionedGpuIsTheBoardsAndSaidToBe) {
  probe(partitioned);
  ASSERT_EQ(found.devices.size(), 1u);
  set_time_ms(1000);
  EXPECT_EQ(read_channel(gpu(0), "energy").raw, 300'000);
  EXPECT_EQ(channel_named(gpu(0), "utilisation"), nullptr);
  EXPECT_THAT(found.devices[0].remarks.at(0), HasSubstr("shared by its slices (3/0, 5/0)"));
  std::size_t energies = 0;
  for (const Channel& channel : gpu(0).channels())
    if (channel.measurand == Measurand::energy || channel.measurand == Measurand::power) {
      EXPECT_EQ(channel.component.path(), "node/gpu/0") << channel.name;
      energies += channel.measurand == Measurand::energy;
    }
  EXPECT_EQ(energies, 1u);  // the slices carry no copy of the parent's counter
}

TEST_F(NvmlSharing, ASliceHasItsMemoryAndItsMetrics) {
  probe(partitioned);
  const Channel* memory = channel_named(gpu(0), "memory_mig_3");
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->component.path(), "node/gpu/0/mig-3");
  EXPECT_EQ(read_channel(gpu(0), "memory_mig_5").raw, 256 << 20);
  std::this_thread::sleep_for(std::chrono::milliseconds(110));  // two samples are more than 100 ms apart, by our own clock
  const auto busy = [&](const char* name) {
    return static_cast<double>(read_channel(gpu(0), name).raw) * channel_named(gpu(0), name)->unit;
  };
  EXPECT_NEAR(busy("gpm_sm_mig_3"), 0.615, 1e-9);
  EXPECT_NEAR(busy("gpm_sm_mig_5"), 0.07, 1e-9);
  EXPECT_EQ(channel_named(gpu(0), "gpm_sm_mig_5")->component.path(), "node/gpu/0/mig-5");
}

TEST_F(NvmlSharing, MetricsHaveNoValueBeforeTheSecondSample) {
  probe("gpu 0 watts 0 300\ngpu 0 gpm 2 80\ngpu 0 gpm 20 1.5\n");
  EXPECT_EQ(read_channel(gpu(0), "gpm_sm").reason, MissingReason::gone);
  std::this_thread::sleep_for(std::chrono::milliseconds(110));
  EXPECT_EQ(read_channel(gpu(0), "gpm_sm").raw, 80'000);
  const double sending =
      static_cast<double>(read_channel(gpu(0), "gpm_pcie_sending").raw) * channel_named(gpu(0), "gpm_pcie_sending")->unit;
  EXPECT_NEAR(sending, 1.5 * 1048576, 1);
  EXPECT_EQ(read_channel(gpu(0), "gpm_tensor").reason, MissingReason::not_supported);
}

TEST_F(NvmlSharing, AGpuWithoutSlicesYetIsPartitionedAllTheSame) {
  probe("gpu 0 watts 0 300\ngpu 0 mig on\n");
  EXPECT_THAT(found.devices.at(0).remarks.at(0), HasSubstr("none yet"));
}

TEST_F(NvmlSharing, ProcessesHaveMemoryAndTheirShareSinceTheLastTime) {
  probe("gpu 0 watts 0 300\ngpu 0 process 4711 1024 60 20 0 0\ngpu 0 process 4712 10 0 0 0 0\ngpu 0 process 4713 10 180 0 0 0\n");
  set_time_ms(1000);
  std::vector<DeviceProcess> first = processes(0);
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(first[0].memory, 1024 << 20);
  EXPECT_FALSE(first[0].busy);  // the first answer is an average over a long past
  set_time_ms(2000);
  const std::vector<DeviceProcess> second = processes(0);
  EXPECT_EQ(second[0].pid, 4711);
  EXPECT_EQ(second[0].component.path(), "node/gpu/0");
  EXPECT_DOUBLE_EQ(second[0].busy.value(), 0.6);
  EXPECT_DOUBLE_EQ(second[0].memory_busy.value(), 0.2);
  EXPECT_DOUBLE_EQ(second[1].busy.value(), 0.0);  // not busy since then: no sample, and not a failure
  EXPECT_FALSE(second[2].busy);                   // 180 %: dropped, not clamped
}

TEST_F(NvmlSharing, NobodyBusyIsNoFailure) {
  probe("gpu 0 watts 0 300\ngpu 0 process 4712 10 0 0 0 0\n");
  processes(0);
  set_time_ms(1000);
  EXPECT_DOUBLE_EQ(processes(0).at(0).busy.value(), 0.0);
}

TEST_F(NvmlSharing, AProcessOfASliceNamesItAndHasNoShare) {
  probe(partitioned);
  processes(0);
  set_time_ms(1000);
  const std::vector<DeviceProcess> all = processes(0);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].component.path(), "node/gpu/0/mig-3");
  EXPECT_FALSE(all[0].busy);
}

TEST_F(NvmlSharing, MoreProcessesThanExpectedAreAllSeen) {
  std::string script = "gpu 0 watts 0 300\n";
  for (int pid = 1; pid <= 100; ++pid) script += "gpu 0 process " + std::to_string(pid) + " 1 1 1 0 0\n";
  probe(script);
  EXPECT_EQ(processes(0).size(), 100u);
}

}  // namespace
}  // namespace joulery
