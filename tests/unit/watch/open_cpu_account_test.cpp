#include "watch/open_cpu_account.h"

#include <gtest/gtest.h>

#include "tests/unit/watch/machine_tree.h"

namespace joulery {
namespace {

TEST(OpenCpuAccount, ARecordedMachineHasProcAlone) {
  const MachineTree tree;
  const auto best = open_cpu_account(tree.root(), CpuAccountChoice::best);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->account->method(), "proc");
  ASSERT_TRUE(best->instead_of_ebpf);
  EXPECT_EQ(best->instead_of_ebpf->code, ErrorCode::unsupported);
  const auto proc = open_cpu_account(tree.root(), CpuAccountChoice::proc);
  ASSERT_TRUE(proc);
  EXPECT_FALSE(proc->instead_of_ebpf);
  EXPECT_FALSE(open_cpu_account(tree.root(), CpuAccountChoice::ebpf));
}

TEST(OpenCpuAccount, WordsOfTheConfiguration) {
  EXPECT_EQ(cpu_account_choice("auto"), CpuAccountChoice::best);
  EXPECT_EQ(cpu_account_choice("ebpf"), CpuAccountChoice::ebpf);
  EXPECT_EQ(cpu_account_choice("proc"), CpuAccountChoice::proc);
  EXPECT_FALSE(cpu_account_choice("EBPF"));
}

}  // namespace
}  // namespace joulery
