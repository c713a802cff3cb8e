#include "sense/meters.h"

#include <csignal>
#include <future>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "sense/agent/agent_meters.h"
#include "sense/amd/amdsmi.h"
#include "sense/amd/rocm_smi.h"
#include "sense/aws/neuron.h"
#include "sense/google/tpu.h"
#include "sense/habana/hlml.h"
#include "sense/host/cpu.h"
#include "sense/hwmon/hwmon.h"
#include "sense/hwmon/jetson_iio.h"
#include "sense/intel/level_zero.h"
#include "sense/node/battery.h"
#include "sense/node/ipmi.h"
#include "sense/node/ipmi_lan.h"
#include "sense/nvidia/nvml.h"
#include "sense/rapl/msr.h"
#include "sense/rapl/perf.h"
#include "sense/rapl/powercap.h"
#include "sense/redfish/redfish.h"
#include "sense/room/http_json.h"
#include "sense/room/mqtt.h"
#include "sense/room/snmp.h"
#include "sense/scrape/prometheus.h"
#include "sense/second_ways.h"

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
    {"rapl.msr", local<probe_msr>},
    {"amdsmi", local<probe_amdsmi>},
    {"rocm_smi", local<probe_rocm_smi>},
    {"level_zero", local<probe_level_zero>},
    {"hlml", local<probe_hlml>},
    {"neuron", probe_neuron},
    {"tpu", probe_tpu},
    {"hwmon", local<probe_hwmon>},
    {"jetson.iio", local<probe_jetson_iio>},
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
    {agent_kind, probe_agent},
};

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
  // Where none is named there is nothing to wait for, and a thread for each would only cost time.
  const auto when = settings.names_below("meters").empty() ? std::launch::deferred : std::launch::async;
  for (const MeterKind& kind : kinds)
    if (kind.remote) begun.emplace(kind.name, std::async(when, [&kind, &machine, &settings] { return kind.probe(machine, settings); }));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return begun;
}

}  // namespace

std::span<const MeterKind> meter_kinds() { return kinds; }

Discovery discover(const Machine& machine, const Settings& settings, Look look) {
  Discovery all;
  SecondWays second_ways;
  auto remote = probe_remote_kinds(machine, settings);
  for (const MeterKind& kind : kinds) {
    Discovery found = kind.remote ? remote.at(kind.name).get() : kind.probe(machine, settings);
    if (kind.name == agent_kind) {
      second_ways.take_second_hand(found);
      supersede(all.findings, found);
    } else {
      second_ways.take(found);
    }
    append(all.devices, found.devices);
    append(all.findings, found.findings);
  }
  if (look == Look::thorough) second_ways.settle(all);
  return all;
}

}  // namespace joulery
