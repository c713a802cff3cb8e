#include "sense/host/host_identity_reader.h"

namespace joulery {

HostIdentity read_host_identity(const Machine& machine) {
  return {machine.read_or_empty("/proc/sys/kernel/hostname", 256), machine.read_or_empty("/proc/sys/kernel/random/boot_id", 64)};
}

}  // namespace joulery
