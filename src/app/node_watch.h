// Watches a node while it runs: reads its meters, asks who used it, and keeps the accounts. What `joulery top` shows and the
// agent serves.
//
// Invariant: between two calls of tick() nothing is judged, so that one thread alone does the work, and others take copies.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "app/live_window.h"
#include "factors/power_model.h"
#include "ledger/attribution/node_accounts.h"
#include "ledger/attribution/static_power.h"
#include "ledger/ledger.h"
#include "meter/sampler.h"
#include "sense/meter.h"
#include "watch/cpu_account.h"
#include "watch/reservations.h"
#include "watch/resident_memory.h"
#include "watch/workloads.h"

namespace joulery {

struct NodeWatchPlan {
  Duration interval;                       // between readings of the meters, and between ticks
  Duration linger;                         // what has ended keeps an account of its own for so long
  IdlePolicy idle = IdlePolicy::separate;
  std::optional<PowerModel> model;         // for what has no sensor
  Fill fill = Fill::automatic;
  std::vector<MissingPart> missing;
  int threads = 1;                         // logical CPUs
  std::string root;                        // "" for this machine
};

class NodeWatch {
 public:
  // How long ago a device gave its last good reading.
  struct DeviceState {
    std::string kind, name;
    std::vector<std::string> components;
    std::optional<Duration> age;           // empty: never
  };

  // `devices` as discovered; `cpu` tells who used the processors, `workloads` whose a process is.
  NodeWatch(NodeWatchPlan plan, std::vector<Device> devices, std::unique_ptr<CpuAccount> cpu, Workloads workloads);
  ~NodeWatch();

  void start();
  void stop();
  // Judges what came since the last call. False where the meters have not all been read again since. One thread at a time.
  bool tick();

  // By any thread.
  NodeAccount account() const;
  void account(NodeAccount& into) const;  // reuses what `into` holds
  // Of the last tick, for who keeps a history; by the thread that ticks.
  const NodeAccounts& accounts() const { return accounts_; }
  MonoTime now() const { return until_; }
  std::vector<DeviceState> device_states() const;

  // What was learnt of static power, by component, for the next start.
  std::map<std::string, std::string> learnt() const;
  void restore(const std::map<std::string, std::string>& learnt);

 private:
  class Rounds;

  NodeTick judge(Interval when);
  void add_components(const MemoryRecording& recording, Interval when, double cpu_use, NodeTick& tick);
  void add_processes(const CpuUses& uses, NodeTick& tick);
  void add_memory(const CpuUses& uses, NodeTick& tick);
  ProcessTick& process_at(const CpuUse& use, NodeTick& tick);
  std::optional<CpuUse> process_of(std::int32_t pid) const;

  NodeWatchPlan plan_;
  std::vector<Device> devices_;
  std::unique_ptr<CpuAccount> cpu_;
  Workloads workloads_;
  std::unique_ptr<Rounds> rounds_;
  Sampler sampler_;
  std::map<std::string, StaticPower> static_power_;  // by component
  std::optional<Reservations> reservations_;         // where static power goes by them
  ResidentMemory memory_;
  bool counts_memory_;                               // some component is driven by memory
  std::unordered_map<std::int32_t, std::size_t> row_of_;       // of the tick that is made: a process' row, by pid
  MonoTime until_;
  mutable std::mutex mutex_;                         // over accounts_
  NodeAccounts accounts_;
};

}  // namespace joulery
