#include "sense/nvidia/cuda_gpus.h"

#include "tests/unit/sense/nvml_fixture.h"

namespace joulery {
namespace {

using namespace joulery::testing;

class CudaGpuList : public NvmlFixture {};

TEST_F(CudaGpuList, HasWhatTheLibraryTells) {
  load(
      "driver 535.261.03\ngpu 0 uuid GPU-aaaa\ngpu 0 pci 0:48:0\ngpu 1 uuid GPU-bbbb\ngpu 1 pci 1:7:0\n"
      "gpu 1 mig 3 0 MIG-cccc 1024 0\ngpu 2 return nvmlDeviceGetHandleByIndex_v2 4\n");
  const auto all = read_cuda_gpus(tree.machine());
  ASSERT_TRUE(all);
  EXPECT_EQ(all->driver, 535);
  ASSERT_EQ(all->gpus.size(), 2u);  // the third is kept from this process, and CUDA does not count it either
  EXPECT_EQ(all->gpus[0].uuid, "GPU-aaaa");
  EXPECT_EQ(all->gpus[0].pci_bus, 0x48u);
  EXPECT_FALSE(all->gpus[0].partitioned);
  EXPECT_EQ(all->gpus[1].pci_domain, 1u);
  EXPECT_TRUE(all->gpus[1].partitioned);
  ASSERT_EQ(all->gpus[1].slices.size(), 1u);
  EXPECT_EQ(all->gpus[1].slices[0].uuid, "MIG-cccc");
  EXPECT_EQ(all->gpus[1].slices[0].gpu_instance, 3u);
}

TEST_F(CudaGpuList, IsNothingWithoutADriver) {
  load("return nvmlInit_v2 9\n");
  EXPECT_FALSE(read_cuda_gpus(tree.machine()));
  EXPECT_FALSE(read_cuda_gpus(Tree().machine()));
}

}  // namespace
}  // namespace joulery
