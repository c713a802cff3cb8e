// Expected values: the CUDA documentation's own examples and rules, and what a driver was seen to do (see cuda_visible.h).
#include "sense/nvidia/cuda_visible.h"

#include <gmock/gmock.h>

namespace joulery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CudaGpu gpu(std::size_t number, std::string uuid, unsigned bus, std::string name = "NVIDIA A100-SXM4-80GB") {
  return {number, std::move(uuid), std::move(name), 0, bus, 0, false, {}};
}

// Numbered by the library in another order than their buses.
const std::vector<CudaGpu> three = {gpu(0, "GPU-8932f937-d72c", 0x0b), gpu(1, "GPU-8932aaaa-0000", 0x07),
                                    gpu(2, "GPU-5b4e1111-2222", 0x48)};

CudaGpu partitioned(std::size_t number, std::string uuid, unsigned bus) {
  CudaGpu whole = gpu(number, std::move(uuid), bus);
  whole.partitioned = true;
  whole.slices = {{3, 0, "MIG-c6d4f1ef-42e4"}, {5, 0, "MIG-cba663e8-9bed"}, {5, 1, "MIG-1e099852-3624"}};
  return whole;
}

CudaEnvironment set_to(std::string list, std::string order = "PCI_BUS_ID", int driver = 550) {
  return {std::move(list), std::move(order), false, driver};
}

std::vector<std::size_t> numbers(const std::vector<CudaGpu>& gpus, const CudaEnvironment& environment) {
  const auto visible = visible_gpus(gpus, environment);
  if (!visible) {
    ADD_FAILURE() << visible.error().line();
    return {99};
  }
  std::vector<std::size_t> all;
  for (const VisibleGpu& one : *visible) all.push_back(one.gpu);
  return all;
}

std::string refusal(const std::vector<CudaGpu>& gpus, const CudaEnvironment& environment) {
  const auto visible = visible_gpus(gpus, environment);
  return visible ? "not refused" : visible.error().line();
}

TEST(CudaVisible, NotSetIsEveryGpuAndEmptyIsNone) {
  EXPECT_THAT(numbers(three, {std::nullopt, "", false, 550}), ElementsAre(1, 0, 2));
  EXPECT_THAT(numbers(three, set_to("")), IsEmpty());
  EXPECT_THAT(numbers(three, set_to("  ")), IsEmpty());
  EXPECT_THAT(numbers({}, set_to("0")), IsEmpty());
}

struct Row {
  const char* list;
  std::vector<std::size_t> expected;
};

// By bus: index 0 is the library's GPU 1, index 1 its GPU 0, index 2 its GPU 2.
TEST(CudaVisible, IndicesCountInTheOrderOfTheBus) {
  const Row rows[] = {
      {"2,1", {2, 0}},          // the documentation's example: 2 comes first, 0 is not seen
      {"0,2,-1,1", {1, 2}},     // likewise: the invalid index ends the list
      {"0,7,1", {1}},           // out of range ends it too
      {"7", {}},
      {"-1", {}},
      {"NoDevFiles", {}},       // what Slurm sets for a job without GPUs
      {"none", {}},
      {"0,,1", {1}},            // an empty entry is no index
      {"0,1,0", {}},            // a repeated one leaves nothing
      {"0,9,0", {}},
      {" 0 , 2 ", {1, 2}},
      {"1gpu2,2ampere", {0, 2}},
      {"+1", {0}},
      {"18446744073709551616", {}},
  };
  for (const Row& row : rows) EXPECT_EQ(numbers(three, set_to(row.list)), row.expected) << row.list;
}

TEST(CudaVisible, UnlikeGpusHaveAnOrderThatOnlyCudaKnows) {
  std::vector<CudaGpu> unlike = three;
  unlike[2].name = "NVIDIA H100 80GB HBM3";
  EXPECT_THAT(refusal(unlike, set_to("0", "")), HasSubstr("CUDA_DEVICE_ORDER=PCI_BUS_ID"));
  EXPECT_THAT(refusal(unlike, set_to("0,1", "FASTEST_FIRST")), HasSubstr("fastest"));
  EXPECT_THAT(numbers(unlike, set_to("0", "PCI_BUS_ID")), ElementsAre(1));
  EXPECT_EQ(numbers(unlike, set_to("0,1,2", "")).size(), 3u);               // all of them, in whatever order
  EXPECT_THAT(numbers(unlike, set_to("GPU-5b4e", "")), ElementsAre(2));     // a UUID needs no order
  EXPECT_THAT(numbers(three, set_to("0", "")), ElementsAre(1));             // alike: no one is the fastest
}

TEST(CudaVisible, UuidsMayBeShortenedWhileUnique) {
  const Row rows[] = {
      {"GPU-8932f937-d72c", {0}},
      {"GPU-8932f", {0}},
      {"GPU-5", {2}},
      {"GPU-5b4e,GPU-8932a", {2, 1}},
      {"GPU-8932", {}},                  // not unique
      {"GPU-5,GPU-8932,GPU-8932f", {2}}, // ends the list
      {"GPU-ffff,GPU-5", {}},
      {"GPU-5,GPU-5", {}},               // repeated
      {"GPU-5,GPU-5b", {}},              // the same by two names
      {"GPU-5,junk,GPU-8932f", {2}},
      {"GPU-", {}},
  };
  for (const Row& row : rows) EXPECT_EQ(numbers(three, set_to(row.list)), row.expected) << row.list;
  EXPECT_THAT(numbers({three[0]}, set_to("GPU-")), ElementsAre(0));
}

TEST(CudaVisible, WhatDriversReadDifferentlyIsRefused) {
  EXPECT_THAT(refusal(three, set_to("0,GPU-5")), HasSubstr("mixes"));
  EXPECT_THAT(refusal(three, set_to("GPU-5,0")), HasSubstr("mixes"));
  EXPECT_THAT(refusal(three, set_to("GPU-5, GPU-8932f")), HasSubstr("spaces"));
  EXPECT_THAT(refusal(three, set_to("GPU-5B4E")), HasSubstr("small letters"));
  CudaEnvironment behind = set_to("1");
  behind.behind_mps = true;
  EXPECT_THAT(refusal(three, behind), HasSubstr("MPS"));
  EXPECT_EQ(refusal(three, set_to("0,-1,GPU-5")), "not refused");  // the list has ended before
}

TEST(CudaVisible, Case20EveryMigNameFindsItsBoard) {
  const std::vector<CudaGpu> gpus = {gpu(0, "GPU-ffff0000", 1), partitioned(1, "GPU-ab120000", 2)};
  const auto one = [&](const char* list) { return visible_gpus(gpus, set_to(list)).value(); };
  EXPECT_THAT(one("MIG-c6d4f1ef-42e4"), ElementsAre(VisibleGpu{1, 0, true}));
  EXPECT_THAT(one("MIG-GPU-ab120000/3/0"), ElementsAre(VisibleGpu{1, 0, true}));
  EXPECT_THAT(one("MIG-GPU-ab120000/5/1"), ElementsAre(VisibleGpu{1, 2, true}));
  EXPECT_THAT(one("GPU-ab12"), ElementsAre(VisibleGpu{1, {}, true}));  // the board for certain, which slice not
  EXPECT_THAT(one("GPU-ffff"), ElementsAre(VisibleGpu{0, {}, false}));
  EXPECT_THAT(one("MIG-GPU-ab120000/9/0"), IsEmpty());
  EXPECT_THAT(one("MIG-99999999"), IsEmpty());
  EXPECT_THAT(refusal(gpus, set_to("MIG-GPU-ab120000")), HasSubstr("no slice"));
  EXPECT_THAT(refusal(gpus, set_to("MIG-c6d4")), HasSubstr("write it out"));
  EXPECT_THAT(refusal(gpus, set_to("0")), HasSubstr("partitioned"));
}

TEST(CudaVisible, AnOldDriverThatListsNoSlicesStillTellsTheBoard) {
  CudaGpu old = partitioned(1, "GPU-ab120000", 2);
  old.slices.clear();
  EXPECT_THAT(visible_gpus({old}, set_to("MIG-GPU-ab120000/3/0")).value(), ElementsAre(VisibleGpu{1, {}, true}));
  EXPECT_THAT(refusal({old}, set_to("GPU-ab12")), HasSubstr("shows no slice"));
}

// Before driver 570 a process has one slice in all; since, one of each GPU instance.
TEST(CudaVisible, HowManySlicesDependsOnTheDriver) {
  const std::vector<CudaGpu> gpus = {gpu(0, "GPU-ffff0000", 1), partitioned(1, "GPU-ab120000", 2)};
  const auto at = [&](std::optional<std::string> list, int driver) { return visible_gpus(gpus, {list, "", false, driver}); };
  EXPECT_THAT(at(std::nullopt, 550).value(), ElementsAre(VisibleGpu{1, 0, true}));
  EXPECT_THAT(at(std::nullopt, 570).value(), ElementsAre(VisibleGpu{0, {}, false}, VisibleGpu{1, 0, true}, VisibleGpu{1, 1, true}));
  const std::string two = "MIG-cba663e8-9bed,MIG-c6d4f1ef-42e4";
  EXPECT_THAT(at(two, 550).value(), ElementsAre(VisibleGpu{1, 1, true}));
  EXPECT_THAT(at(two, 580).value(), ElementsAre(VisibleGpu{1, 1, true}, VisibleGpu{1, 0, true}));
  EXPECT_THAT(at("MIG-cba663e8-9bed,MIG-1e099852-3624", 580).value(), ElementsAre(VisibleGpu{1, 1, true}));  // parts of one instance
  EXPECT_FALSE(at(two, 0));
}

TEST(CudaVisible, OneSliceAloneIsKnownByItsBoard) {
  CudaGpu board = partitioned(0, "GPU-ab120000", 2);
  board.slices.resize(1);
  EXPECT_THAT(visible_gpus({board}, set_to("0")).value(), ElementsAre(VisibleGpu{0, 0, true}));
}

}  // namespace
}  // namespace joulery
