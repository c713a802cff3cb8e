#include "factors/cpu_table.h"

#include <gtest/gtest.h>

namespace joulery {
namespace {

TEST(CpuTable, PlainNameKeepsTheModelAlone) {
  EXPECT_EQ(plain_cpu_name("Intel(R) Xeon(R) CPU E5-2660 v2 @ 2.20GHz"), "xeone5-2660v2");
  EXPECT_EQ(plain_cpu_name("Intel(R) Xeon(R) CPU E5-2680 0 @ 2.70GHz"), "xeone5-2680");
  EXPECT_EQ(plain_cpu_name("AMD EPYC 7763 64-Core Processor"), "epyc7763");
  EXPECT_EQ(plain_cpu_name("13th Gen Intel(R) Core(TM) i9-13900K"), "corei9-13900k");
  EXPECT_EQ(plain_cpu_name("AMD Ryzen 7 5700G with Radeon Graphics"), "ryzen75700g");
  EXPECT_EQ(plain_cpu_name("Quad-Core AMD Opteron(tm) Processor 2376"), "opteron2376");
  EXPECT_EQ(plain_cpu_name(""), "");
  EXPECT_EQ(plain_cpu_name("   @@@ "), "");
}

TEST(CpuTable, PatternsKnowDigitsOneAndAny) {
  EXPECT_TRUE(matches("epyc7##3*", "epyc7763"));
  EXPECT_TRUE(matches("epyc7##3*", "epyc7773x"));
  EXPECT_FALSE(matches("epyc7##3*", "epyc7742"));
  EXPECT_FALSE(matches("epyc7##3", "epyc7773x"));
  EXPECT_TRUE(matches("a?c", "abc"));
  EXPECT_FALSE(matches("a?c", "ac"));
  EXPECT_TRUE(matches("*b*d", "abcbd"));
  EXPECT_FALSE(matches("*b*d", "abcb"));
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches("", "x"));
  EXPECT_TRUE(matches("*", ""));
}

TEST(CpuTable, FamilyComesFromTheNameBeforeTheNumbers) {
  CpuIdentity cpu;
  cpu.model_name = "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz";
  cpu.vendor = "GenuineIntel", cpu.family = 6, cpu.model = 207;
  EXPECT_EQ(find_cpu_kind(cpu).family, "icelake");
  EXPECT_TRUE(find_cpu_kind(cpu).by_name);
}

TEST(CpuTable, GeneralNamesAreFoundByTheirNumbers) {
  CpuIdentity cpu;
  cpu.model_name = "Intel(R) Xeon(R) Processor";
  cpu.vendor = "GenuineIntel", cpu.family = 6;
  const std::tuple<int, int, const char*> known[] = {{207, 2, "emeraldrapids"}, {143, 8, "sapphirerapids"}, {85, 4, "skylake"},
                                                     {85, 7, "cascadelake"},    {85, 11, "cooperlake"},     {106, 6, "icelake"}};
  for (const auto& [model, stepping, family] : known) {
    cpu.model = model, cpu.stepping = stepping;
    EXPECT_EQ(find_cpu_kind(cpu).family, family);
    EXPECT_FALSE(find_cpu_kind(cpu).by_name);
  }
  cpu.vendor = "AuthenticAMD", cpu.family = 25, cpu.model = 17;
  EXPECT_EQ(find_cpu_kind(cpu).family, "zen4");
}

TEST(CpuTable, UnknownStaysUnknown) {
  CpuIdentity cpu;
  cpu.model_name = "foobar";
  EXPECT_EQ(find_cpu_kind(cpu).family, "");
  EXPECT_FALSE(find_tdp("foobar"));
  EXPECT_FALSE(find_tdp(""));
  EXPECT_FALSE(find_tdp("Intel(R) Xeon(R) Processor"));
}

// Makers' figures: Xeon Gold 6338 205 W, EPYC 7763 280 W, Xeon E5-2660 v2 95 W, Core i7-8700K 95 W.
TEST(CpuTable, TdpIsTheMakers) {
  EXPECT_EQ(find_tdp("Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz"), watts(205));
  EXPECT_EQ(find_tdp("AMD EPYC 7763 64-Core Processor"), watts(280));
  EXPECT_EQ(find_tdp("Intel(R) Xeon(R) CPU E5-2660 v2 @ 2.20GHz"), watts(95));
  EXPECT_EQ(find_tdp("Intel(R) Core(TM) i7-8700K CPU @ 3.70GHz"), watts(95));
}

}  // namespace
}  // namespace joulery
