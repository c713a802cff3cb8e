#include "sense/meters.h"

#include <csignal>
#include <future>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "sense/host/cpu.h"
#include "sense/hwmon/hwmon.h"
#include "sense/node/battery.h"
#include "sense/node/ipmi.h"
#include "sense/node/ipmi_lan.h"
#include "sense/nvidia/nvml.h"
#include "sense/rapl/perf.h"
#include "sense/rapl/powercap.h"
#include "sense/redfish/redfish.h"
#include "sense/room/http_json.h"
#include "sense/room/mqtt.h"
#include "sense/room/snmp.h"
#include "sense/scrape/prometheus.h"

namespace joulery {
namespace {

// A kind that finds all by itself.
template <Discovery (*probe)(const Machine&)>
Discovery local(const Machine& machine, const Settings&) {
  return probe(machine);
}

constexpr MeterKind kinds[] = {
    {"rapl.powercap", local<probe_powercap>},
    {"rapl.perf", local<probe_perf>},
    {"hwmon", local<probe_hwmon>},
    {"nvml", local<probe_nvml>},
    {"ipmi", local<probe_ipmi>},
    {"ipmi-lan", probe_ipmi_lan, true},
    {"redfish", probe_redfish, true},
    {"battery", local<probe_battery>},
    {"snmp", probe_snmp, true},
    {"mqtt", probe_mqtt, true},
    {"http-json", probe_http_json, true},
    {"prometheus", probe_prometheus, true},
    {"cpu", local<probe_cpu>},
    {"memory", local<probe_memory>},
};

bool burns(const Channel& channel) { return channel.measurand == Measurand::energy || channel.measurand == Measurand::power; }

// Components that fast devices really gave a value for when asked once, and the kind that did.
class Measured {
 public:
  void take(Device& device) {
    if (device.slow) return;
    const std::span<const Channel> channels = device.meter->channels();
    Sink sink(channels.size());
    sink.start();
    device.meter->read(sink);
    sink.finish();
    for (std::size_t i = 0; i < channels.size(); ++i)
      if (burns(channels[i]) && sink.readings()[i].ok()) kinds_.emplace(channels[i].component, device.kind);
  }

  // The kind that measures all that this device could; "" where the device tells anything new.
  std::string covering(const Device& device) const {
    std::string kind;
    for (const Channel& channel : device.meter->channels()) {
      const auto known = kinds_.find(channel.component);
      if (!burns(channel) || known == kinds_.end()) return {};
      kind = known->second;
    }
    return kind;
  }

 private:
  std::map<Component, std::string> kinds_;
};

// A second way to the same counters costs time at each round and tells nothing: it is left out, and its findings say so.
void leave_out_covered(Discovery& found, const Measured& measured) {
  std::erase_if(found.devices, [&](const Device& device) {
    const std::string by = measured.covering(device);
    if (by.empty()) return false;
    for (Finding& finding : found.findings)
      if (finding.kind == device.kind && finding.readable) finding.reason = "not used: " + by + " measures the same";
    return true;
  });
}

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// Remote kinds look for their devices in threads of their own, so that silent ones are waited for once and not one by one.
// The threads take no signals: those are the caller's business.
std::map<std::string_view, std::future<Discovery>> probe_remote_kinds(const Machine& machine, const Settings& settings) {
  std::map<std::string_view, std::future<Discovery>> begun;
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  for (const MeterKind& kind : kinds)
    if (kind.remote)
      begun.emplace(kind.name, std::async(std::launch::async, [&kind, &machine, &settings] { return kind.probe(machine, settings); }));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return begun;
}

}  // namespace

std::span<const MeterKind> meter_kinds() { return kinds; }

Discovery discover(const Machine& machine, const Settings& settings) {
  Discovery all;
  Measured measured;
  auto remote = probe_remote_kinds(machine, settings);
  for (const MeterKind& kind : kinds) {
    Discovery found = kind.remote ? remote.at(kind.name).get() : kind.probe(machine, settings);
    leave_out_covered(found, measured);
    for (Device& device : found.devices) measured.take(device);
    append(all.devices, found.devices);
    append(all.findings, found.findings);
  }
  return all;
}

}  // namespace joulery
