#include "sense/surroundings.h"

#include <string_view>

#include "sense/host/proc_files.h"
#include "sense/parse_number.h"

namespace joulery {
namespace {

struct Sign {
  std::string_view part, hypervisor;
  bool proof;  // only a virtual machine says this; a maker's or a cloud's name is on bare metal too ("m5.metal")
};

// What the firmware tables of virtual machines say; the first that fits counts.
constexpr Sign dmi_signs[] = {{"KVM", "KVM", true},
                              {"QEMU", "KVM", true},
                              {"VMware", "VMware", true},
                              {"VirtualBox", "VirtualBox", true},
                              {"innotek", "VirtualBox", true},
                              {"Xen", "Xen", true},
                              {"BHYVE", "bhyve", true},
                              {"Parallels", "Parallels", true},
                              {"OpenStack", "KVM", true},
                              {"Amazon EC2", "Amazon EC2", false},
                              {"Google", "Google Compute Engine", false},
                              {"Microsoft", "Hyper-V", false},
                              {"Alibaba Cloud", "KVM", false},
                              {"DigitalOcean", "KVM", false}};
constexpr std::string_view dmi_files[] = {"/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name",
                                          "/sys/class/dmi/id/board_vendor", "/sys/class/dmi/id/bios_vendor"};

const Sign* sign_in_dmi(const Machine& machine) {
  for (const std::string_view file : dmi_files) {
    const std::string text = machine.read_or_empty(file);
    for (const Sign& sign : dmi_signs)
      if (text.find(sign.part) != std::string::npos) return &sign;
  }
  return nullptr;
}

constexpr std::string_view container_files[] = {"/.dockerenv", "/run/.containerenv", "/run/systemd/container"};
constexpr std::string_view container_groups[] = {"docker", "kubepods", "containerd", "libpod", "/lxc", "crio-", "garden"};

bool is_container(const Machine& machine) {
  for (const std::string_view file : container_files)
    if (machine.exists(file)) return true;
  for (const std::string_view file : {"/proc/self/cgroup", "/proc/1/cgroup"}) {
    const std::string groups = machine.read_or_empty(file);
    for (const std::string_view part : container_groups)
      if (groups.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

Surroundings read_surroundings(const Machine& machine) {
  Surroundings found;
  const std::string first_processor = machine.read_or_empty("/proc/cpuinfo", 8192);  // all of it takes long on large machines
  const bool xen = machine.read_or_empty("/sys/hypervisor/type") == "xen";
  const Sign* sign = sign_in_dmi(machine);
  found.virtual_machine = parse_cpuinfo(first_processor).hypervisor_flag || xen || (sign && sign->proof);
  if (found.virtual_machine && sign) found.hypervisor = sign->hypervisor;
  if (found.hypervisor.empty() && xen) found.hypervisor = "Xen";
  found.container = is_container(machine);
  return found;
}

}  // namespace joulery
