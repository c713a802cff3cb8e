#include "watch/slurm_allocation.h"

#include <gtest/gtest.h>

namespace joulery {
namespace {

using namespace std::string_literals;

TEST(SlurmAllocation, OfAJobOnItsSecondNode) {
  const auto found = slurm_allocation(
      "A=1\0SLURM_JOB_ID=4711\0SLURM_NODEID=1\0SLURM_JOB_CPUS_PER_NODE=16,8(x2)\0SLURM_MEM_PER_NODE=2048\0SLURM_JOB_GPUS=2,3\0"
      "SLURM_STEP_GPUS=3\0SLURM_CPUS_ON_NODE=4\0"s);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (SlurmAllocation{"4711", 8, 2'147'483'648, {2, 3}}));
}

TEST(SlurmAllocation, OfAStepThatKnowsOnlyItself) {
  const auto found = slurm_allocation("SLURM_JOB_ID=9\0SLURM_CPUS_ON_NODE=4\0SLURM_MEM_PER_CPU=512\0SLURM_STEP_GPUS=1"s);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (SlurmAllocation{"9", 4, 2'147'483'648, {1}}));
}

TEST(SlurmAllocation, WhatIsNotSaidStaysEmpty) {
  EXPECT_FALSE(slurm_allocation(""));
  EXPECT_FALSE(slurm_allocation("SLURM_CPUS_ON_NODE=4"));
  EXPECT_FALSE(slurm_allocation("SLURM_JOB_ID=x"));
  EXPECT_FALSE(slurm_allocation("XSLURM_JOB_ID=1"));
  // All of the node's memory is written as 0; lists and numbers that are none; a node beyond the list.
  for (const auto& text : {"SLURM_JOB_ID=1\0SLURM_MEM_PER_NODE=0\0SLURM_JOB_CPUS_PER_NODE=16(x"s, "SLURM_JOB_ID=1\0SLURM_CPUS_ON_NODE=-4"s,
                           "SLURM_JOB_ID=1\0SLURM_NODEID=3\0SLURM_JOB_CPUS_PER_NODE=16(x3)"s, "SLURM_JOB_ID=1\0SLURM_MEM_PER_CPU=7"s})
    EXPECT_EQ(*slurm_allocation(text), (SlurmAllocation{"1", std::nullopt, std::nullopt, {}})) << text;
}

TEST(CpuList, IsCounted) {
  EXPECT_EQ(cpus_in_list("0-3,8,10-11\n"), 7);
  EXPECT_EQ(cpus_in_list("5"), 1);
  EXPECT_EQ(cpus_in_list(""), 0);
  for (const char* text : {"3-1", "a", "1-", "1,,2", "-1", "0-99999999999"}) EXPECT_FALSE(cpus_in_list(text)) << text;
}

}  // namespace
}  // namespace joulery
