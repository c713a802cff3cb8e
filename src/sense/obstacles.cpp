#include "sense/obstacles.h"

#include <utility>

namespace joulery {
namespace {

struct Row {
  Obstacle obstacle;
  Advice advice;
};

constexpr Row rows[] = {
    {Obstacle::powercap_root_only,
     {"energy_uj can be read by root alone (mode 0400): Linux ships it so since CVE-2020-8694, as fine power readings can "
      "leak secrets to other users of the machine",
      "sudo systemctl enable --now joulery-agent  # reads them for every user, rounded, for fine readings leak\n"
      "sudo chmod a+r /sys/class/powercap/*/energy_uj  # for every user, until the next boot\n"
      "echo 'SUBSYSTEM==\"powercap\", ACTION==\"add\", RUN+=\"/bin/chmod a+r /sys%p/energy_uj\"' | sudo tee "
      "/etc/udev/rules.d/60-joulery-rapl.rules && sudo udevadm trigger --action=add --subsystem-match=powercap  # for every user, for "
      "good\n"
      "sudo setcap cap_dac_read_search,cap_perfmon+ep \"$(readlink -f \"$(command -v joulery)\")\"  # for this program alone, which may "
      "then read every file; in a container the image must carry it"}},
    {Obstacle::powercap_hidden_in_container,
     {"this container has no /sys/class/powercap",
      "docker run -v /sys/class/powercap:/sys/class/powercap:ro -v /sys/devices/virtual/powercap:/sys/devices/virtual/powercap:ro ...  # "
      "--privileged is not needed; energy_uj must be readable for the container's user\n"
      "joulery run -- CMD  # on the host, outside the container"}},
    {Obstacle::powercap_driver_missing,
     {"the kernel offers no RAPL zones under /sys/class/powercap: its driver is not loaded, or this processor has no RAPL",
      "sudo modprobe intel_rapl_msr  # Intel since 2012, AMD since Zen (Linux 5.8)"}},
    {Obstacle::no_rapl_in_vm,
     {"a virtual machine: the hypervisor hides the processor's energy counters",
      "joulery run -- CMD  # on the host measures; here the energy is estimated from the processor's model and load"}},
    {Obstacle::powercap_unreadable, {"energy_uj cannot be read as a whole number of microjoules", ""}},
    {Obstacle::powercap_mirror, {"shows a package a second time through MMIO: left out, so that no joule counts twice", ""}},
    {Obstacle::powercap_same_name, {"another zone has the same name in the same place: left out, so that no joule counts twice", ""}},
    {Obstacle::powercap_one_core, {"on AMD processors this zone is the energy of one core alone, not of all: left out", ""}},
    {Obstacle::powercap_dram_unit,
     {"this kernel takes the unit of this processor's DRAM counter from the wrong register: its joules are too many by the "
      "ratio of the units (15.3 µJ is right)",
      "sudo apt-get dist-upgrade  # a kernel that knows this processor"}},
    {Obstacle::no_dram_domain, {"this CPU has no DRAM domain: its memory's energy is not measured", ""}},

    {Obstacle::perf_paranoid,
     {"system-wide counters need CAP_PERFMON, or kernel.perf_event_paranoid of 0 or less",
      "sudo sysctl kernel.perf_event_paranoid=0  # for every user, until the next boot\n"
      "echo kernel.perf_event_paranoid=0 | sudo tee /etc/sysctl.d/60-joulery-perf.conf && sudo sysctl --system  # for every user, for "
      "good\n"
      "sudo setcap cap_perfmon+ep \"$(readlink -f \"$(command -v joulery)\")\"  # for this program alone (Linux 5.8 and later)"}},
    {Obstacle::perf_seccomp,
     {"this container's seccomp profile refuses perf_event_open", "docker run --cap-add PERFMON ...  # --privileged is not needed"}},
    {Obstacle::perf_no_pmu,
     {"the kernel has no `power` events: its driver is not loaded, or this processor has no RAPL",
      "sudo modprobe rapl  # Intel since 2012, AMD since Zen"}},
    {Obstacle::perf_needs_this_machine, {"these counters belong to a running kernel: a recorded tree has none", ""}},
    {Obstacle::perf_stands_still,
     {"a virtual machine whose hypervisor names the event and never counts it",
      "joulery run -- CMD  # on the host measures; here the energy is estimated from the processor's model and load"}},
    {Obstacle::perf_unsupported, {"the kernel refuses the event", ""}},

    {Obstacle::hwmon_none, {"this machine has no hardware monitoring chip (/sys/class/hwmon is empty)", ""}},
    {Obstacle::hwmon_no_power, {"no hardware monitoring chip here reports power or energy", ""}},
    {Obstacle::hwmon_unreadable, {"no sensor of this chip can be read", ""}},
    {Obstacle::hwmon_disabled, {"switched off", ""}},

    {Obstacle::nvml_no_gpu, {"this machine has no NVIDIA GPU", ""}},
    {Obstacle::nvml_no_library,
     {"there is an NVIDIA GPU, but libnvidia-ml.so.1 is not installed",
      "sudo apt-get install nvidia-driver libnvidia-ml1  # Debian: from non-free\n"
      "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=utility,compute ...  # in a container"}},
    {Obstacle::nvml_no_driver, {"the NVIDIA driver is not loaded", "sudo modprobe nvidia"}},
    {Obstacle::nvml_version_mismatch,
     {"libnvidia-ml.so.1 and the loaded NVIDIA driver are of different versions, as after an update without a restart",
      "sudo reboot\n"
      "sudo systemctl stop display-manager; sudo rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia; sudo modprobe nvidia  # instead"}},
    {Obstacle::nvml_no_permission,
     {"the NVIDIA device files cannot be opened",
      "sudo chmod a+rw /dev/nvidiactl /dev/nvidia[0-9]*\nsudo usermod -aG video \"$USER\"  # and log in again"}},
    {Obstacle::nvml_blocked,
     {"the operating system keeps the GPU from this process: a container or control group without the device",
      "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=utility,compute ..."}},
    {Obstacle::nvml_failed, {"the NVIDIA library does not answer", "nvidia-smi  # shows whether the driver works at all"}},
    {Obstacle::nvml_no_energy, {"this GPU reports neither energy nor power", ""}},

    {Obstacle::proc_unreadable, {"the kernel's file cannot be read", "ls -l /proc/stat /proc/meminfo  # /proc must be mounted"}},
};

Finding finding_of(std::string_view kind, std::string device, bool found, const Advice& why, std::string_view detail) {
  std::string reason(why.reason);
  if (!detail.empty()) reason += " (" + std::string(detail) + ")";
  return {.kind = std::string(kind),
          .device = std::move(device),
          .found = found,
          .readable = false,
          .reason = std::move(reason),
          .remedy = std::string(why.remedy)};
}

}  // namespace

Advice advice(Obstacle obstacle) {
  for (const Row& row : rows)
    if (row.obstacle == obstacle) return row.advice;
  return {};
}

Finding readable_finding(std::string_view kind, std::string device) {
  return {.kind = std::string(kind), .device = std::move(device), .found = true, .readable = true, .reason = {}, .remedy = {}};
}

Finding blocked_finding(std::string_view kind, std::string device, const Advice& why, std::string_view detail) {
  return finding_of(kind, std::move(device), true, why, detail);
}

Finding absent_finding(std::string_view kind, std::string device, const Advice& why, std::string_view detail) {
  return finding_of(kind, std::move(device), false, why, detail);
}

Finding blocked_finding(std::string_view kind, std::string device, Obstacle obstacle, std::string_view detail) {
  return blocked_finding(kind, std::move(device), advice(obstacle), detail);
}

Finding absent_finding(std::string_view kind, std::string device, Obstacle obstacle, std::string_view detail) {
  return absent_finding(kind, std::move(device), advice(obstacle), detail);
}

}  // namespace joulery
