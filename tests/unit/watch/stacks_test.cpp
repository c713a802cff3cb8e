// Names for sampled addresses: ELF files, maps of code made at run time.
#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "watch/stacks/elf_symbols.h"
#include "watch/stacks/name_stacks.h"
#include "watch/stacks/perf_map.h"
#include "watch/stacks/stack_sampler.h"

namespace joulery {
namespace {

TEST(PerfMap, FindsTheFunctionThatHoldsAnAddress) {
  const PerfMap map = PerfMap::parse("7f0000001000 10 py::train:/home/me/model.py\n0x7f0000002000 0x20 Interpret me\nrubbish\n7f 3\n");
  EXPECT_EQ(map.at(0x7f0000001000), "py::train:/home/me/model.py");
  EXPECT_EQ(map.at(0x7f000000100f), "py::train:/home/me/model.py");
  EXPECT_EQ(map.at(0x7f0000001010), "");
  EXPECT_EQ(map.at(0x7f0000002001), "Interpret me");
  EXPECT_EQ(map.at(0x10), "");
  EXPECT_TRUE(map.begins_at(0x7f0000002000));
  EXPECT_FALSE(map.begins_at(0x7f0000002001));
}

TEST(PerfMap, WhatWasSaidLastCounts) { EXPECT_EQ(PerfMap::parse("10 8 old\n10 8 new\n").at(0x12), "new"); }

TEST(PerfMap, PythonFunctions) {
  EXPECT_EQ(python_function("py::train:/home/me/model.py"), "train (model.py)");
  EXPECT_EQ(python_function("LazyCompile:~main"), "");
}

extern "C" __attribute__((noinline, used)) int joulery_test_named_function(int x) { return x * 3; }

// This program's own file: the function is where the loader says that it is.
TEST(ElfSymbols, NamesAFunctionOfThisProgram) {
  const auto symbols = ElfSymbols::open("/proc/self/exe");
  ASSERT_TRUE(symbols) << symbols.error().line();
  std::ifstream maps("/proc/self/maps");
  const auto address = reinterpret_cast<std::uint64_t>(&joulery_test_named_function);
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0, offset = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx", &begin, &end, &offset) != 3 || address < begin || address >= end) continue;
    EXPECT_EQ(symbols->at_offset(address - begin + offset), "joulery_test_named_function");
    return;
  }
  FAIL() << "not mapped";
}

TEST(ElfSymbols, WhatIsNoElfIsAnError) {
  const unsigned char text[] = "#!/bin/sh\n";
  EXPECT_FALSE(ElfSymbols::parse(text));
  EXPECT_FALSE(ElfSymbols::parse({}));
  EXPECT_FALSE(ElfSymbols::open("/nonexistent"));
}

// A header alone that promises sections far outside of the file.
TEST(ElfSymbols, AFileThatPromisesMoreThanItHolds) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64, header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shoff = ~0ULL - 8, header.e_shnum = 0xffff, header.e_phoff = ~0ULL, header.e_phnum = 0xffff;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&header);
  const auto symbols = ElfSymbols::parse({bytes, sizeof header});
  ASSERT_TRUE(symbols);
  EXPECT_EQ(symbols->size(), 0U);
  EXPECT_EQ(symbols->at_offset(0), "");
}

TEST(NameStacks, AnAddressThatNobodyKnowsStaysVisible) {
  SampledRun run;
  run.stacks.push_back({1 << 30, {}, {0x1234}, {}});
  run.names[1 << 30] = "prog";
  run.kernel_too = true;
  const NamedStacks named = name_stacks(run);
  ASSERT_EQ(named.stacks.size(), 1U);
  EXPECT_EQ(named.stacks[0], (std::vector<StackFrame>{{"prog", StackFrameKind::process}, {"[unknown]", StackFrameKind::native}}));
  ASSERT_EQ(named.notes.size(), 1U);
  EXPECT_NE(named.notes[0].find("1 of 1 addresses have no name"), std::string::npos);
}

TEST(Sampling, TheRemedyNamesTheSetting) {
  EXPECT_NE(sampling_remedy(3).find("sysctl -w kernel.perf_event_paranoid=2"), std::string::npos);
  EXPECT_NE(sampling_remedy(2).find("seccomp"), std::string::npos);
}

}  // namespace
}  // namespace joulery
