#include "sense/host/machine_kind_reader.h"

#include <gtest/gtest.h>

#include "tests/unit/sense/tree.h"

namespace joulery {
namespace {

using testing::Tree;

void pci(Tree& tree, const std::string& address, const char* of_class, const char* vendor, const char* device) {
  const std::string folder = "/sys/bus/pci/devices/" + address;
  tree.file(folder + "/class", std::string(of_class) + "\n").file(folder + "/vendor", std::string(vendor) + "\n");
  tree.file(folder + "/device", std::string(device) + "\n");
}

TEST(MachineKind, BoardAndAcceleratorsInOrder) {
  Tree tree;
  tree.file("/sys/class/dmi/id/sys_vendor", "Dell Inc.\n").file("/sys/class/dmi/id/product_name", "PowerEdge R750\n");
  pci(tree, "0000:65:00.0", "0x030200", "0x10de", "0x2330");
  pci(tree, "0000:17:00.0", "0x030200", "0x10de", "0x20b0");
  pci(tree, "0000:03:00.0", "0x030000", "0x1a03", "0x2000");
  pci(tree, "0000:33:00.0", "0x120000", "0x1da3", "0x1020");
  pci(tree, "0000:00:1f.0", "0x060100", "0x8086", "0xa1c1");
  const MachineKind kind = read_machine_kind(tree.machine());
  EXPECT_EQ(kind.board, "Dell Inc. PowerEdge R750");
  EXPECT_EQ(kind.accelerators, (std::vector<std::string>{"10de:20b0", "10de:2330", "1a03:2000", "1da3:1020"}));
}

TEST(MachineKind, ABoardWithoutASystemNameAndAMachineThatTellsNothing) {
  Tree tree;
  tree.file("/sys/class/dmi/id/product_name", "To Be Filled By O.E.M.\n")
      .file("/sys/class/dmi/id/board_vendor", "ASR\xff\n")
      .file("/sys/class/dmi/id/board_name", "X570\n");
  EXPECT_EQ(read_machine_kind(tree.machine()).board, "ASR? X570");
  Tree empty;
  EXPECT_EQ(read_machine_kind(empty.machine()), MachineKind{});
}

}  // namespace
}  // namespace joulery
