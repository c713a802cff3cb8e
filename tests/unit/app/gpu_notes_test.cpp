#include "app/gpu_notes.h"

#include <gmock/gmock.h>

namespace joulery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CudaGpus two() {
  CudaGpu first{0, "GPU-aaaa", "NVIDIA A100", 0, 1, 0, false, {}}, second{1, "GPU-bbbb", "NVIDIA A100", 0, 2, 0, false, {}};
  return {{first, second}, 550};
}
CudaEnvironment set_to(std::optional<std::string> list) { return {std::move(list), "", false, 550}; }

TEST(GpuNotes, NothingIsSaidWhereEveryGpuIsSeen) {
  EXPECT_THAT(gpu_notes(two(), set_to(std::nullopt)), IsEmpty());
  EXPECT_THAT(gpu_notes(two(), set_to("1,0")), IsEmpty());
}

TEST(GpuNotes, HiddenGpusAreNamedByThoseThatAreLeft) {
  EXPECT_THAT(gpu_notes(two(), set_to("GPU-b")), ElementsAre("gpus-visible: node/gpu/1 of 2 by CUDA_VISIBLE_DEVICES=GPU-b"));
  EXPECT_THAT(gpu_notes(two(), set_to("")), ElementsAre("gpus-visible: none of 2 by CUDA_VISIBLE_DEVICES="));
}

TEST(GpuNotes, ASliceSharesItsBoardsPower) {
  CudaGpus gpus = two();
  gpus.gpus[1].partitioned = true;
  gpus.gpus[1].slices = {{3, 0, "MIG-cccc"}};
  const auto notes = gpu_notes(gpus, set_to("MIG-cccc"));
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_THAT(notes[1], HasSubstr("gpu-shared: node/gpu/1: slice 3/0, MIG-cccc"));
}

TEST(GpuNotes, WhatCannotBeKnownIsSaid) {
  EXPECT_THAT(gpu_notes(two(), set_to("0,GPU-b")), ElementsAre(HasSubstr("gpus-unclear: '0,GPU-b' mixes")));
}

}  // namespace
}  // namespace joulery
