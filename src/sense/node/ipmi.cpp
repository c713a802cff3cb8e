#include "sense/node/ipmi.h"

#include <array>
#include <string>
#include <utility>

#include "sense/node/ipmi_device.h"
#include "sense/node/ipmi_source.h"
#include "sense/obstacles.h"
#include "sense/surroundings.h"

namespace joulery {
namespace {

constexpr std::string_view kind = "ipmi";
constexpr std::string_view device_name = "bmc";
constexpr Duration answer_limit = milliseconds(5000);    // a controller under load takes seconds, and so does its list of sensors
constexpr Duration least_interval = milliseconds(1000);  // controllers refresh about once a second, and a question costs milliseconds

constexpr Advice no_controller{"this machine has no management controller (BMC): its firmware describes none", ""};
constexpr Advice in_virtual_machine{"a virtual machine: the management controller belongs to its host", ""};
constexpr Advice no_driver{"there is a management controller (BMC), but its driver is not loaded: no /dev/ipmi0",
                           "sudo modprobe -a ipmi_si ipmi_devintf"};
constexpr Advice unknown_controller{"no /dev/ipmi0: this machine has no management controller (BMC), or its driver is not loaded",
                                    "sudo modprobe -a ipmi_si ipmi_devintf  # on a server"};
constexpr Advice no_permission{"the management controller's device can be opened by root alone",
                               "sudo chmod a+rw /dev/ipmi0  # lets every user control the BMC, until the next boot\n"
                               "sudo joulery run -- CMD"};
constexpr Advice recorded_tree{"a management controller answers on a running machine alone: a recorded tree has none", ""};
constexpr Advice no_answer{"the management controller does not answer", "sudo ipmitool mc info  # shows whether it works at all"};
constexpr Advice no_power{"no power can be read of the management controller", ""};

constexpr std::array<std::string_view, 3> device_paths = {"/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0"};

std::string find_device(const Machine& machine) {
  for (const std::string_view path : device_paths)
    if (machine.exists(path)) return machine.path(path);
  return {};
}

// The firmware's table (SMBIOS) names a controller in an entry of type 38.
const Advice& why_absent(const Machine& machine) {
  if (machine.exists("/sys/firmware/dmi/entries/38-0") || machine.exists("/sys/class/ipmi/ipmi0")) return no_driver;
  if (read_surroundings(machine).virtual_machine) return in_virtual_machine;
  return machine.exists("/sys/firmware/dmi/entries") ? no_controller : unknown_controller;
}

Discovery only(Finding finding) {
  Discovery discovery;
  discovery.findings.push_back(std::move(finding));
  return discovery;
}

}  // namespace

Discovery probe_ipmi(const Machine& machine) {
  if (!machine.is_this_machine()) return only(absent_finding(kind, "", recorded_tree));
  const std::string path = find_device(machine);
  if (path.empty()) return only(absent_finding(kind, "", why_absent(machine)));
  auto device = open_ipmi_device(path);
  const std::string name(device_name);
  if (!device && device.error().reason == MissingReason::permission) return only(blocked_finding(kind, name, no_permission, path));
  if (!device) return only(blocked_finding(kind, name, no_answer, device.error().what));
  auto meter =
      std::make_unique<RemoteMeter>(std::make_unique<IpmiSource>(*std::move(device), WholeNode{}), RemotePace{.timeout = answer_limit});
  if (const auto answer = meter->probe(answer_limit); !answer) {
    const MissingReason reason = answer.error().reason;
    const bool answers = reason == MissingReason::not_supported || reason == MissingReason::permission || reason == MissingReason::rubbish;
    return only(blocked_finding(kind, name, answers ? no_power : no_answer, answer.error().what));
  }
  Discovery discovery = only(readable_finding(kind, name));
  discovery.devices.push_back({std::string(kind), name, true, std::move(meter), least_interval});
  return discovery;
}

}  // namespace joulery
