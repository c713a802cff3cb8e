// Which processor and how much memory a machine has, and whether it is the whole machine or a share of one.
// sense/ reads it, factors/ estimates power from it; neither sees the other.
//
// Invariant: 0 and "" mean "not known"; memory is counted in GiB (2^30 bytes), as memory is sold.
#pragma once

#include <optional>
#include <string>

namespace joulery {

struct CpuIdentity {
  std::string model_name, vendor;          // "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", "GenuineIntel"
  int family = 0, model = 0, stepping = 0;
  int sockets = 0, cores = 0, threads = 0; // of the whole machine: cores are physical
  double memory_gb = 0;                    // MemTotal
  bool virtual_machine = false;
  std::string hypervisor;                  // "KVM", "VMware", ...: "" where unknown or none
  std::optional<double> memory_limit_gb;   // what this process's control group may use, where less than all of it
};

}  // namespace joulery
