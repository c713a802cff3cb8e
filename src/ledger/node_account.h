// What a node has burnt since an agent began to watch it, by component and by consumer: what the agent serves, stores and
// sends. A value; ledger/attribution makes it tick by tick.
//
// Tags are the user's own: "team=vision" is a consumer of kind tag. Who has no tag is in none of them, so they sum to less.
//
// Invariant: for every other kind of consumer the energies of its consumers, of idle and of unattributed sum, component by
// component, to the energy of that component, to the microjoule.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/quality.h"
#include "core/time.h"

namespace joulery {

enum class ConsumerKind : std::uint8_t { process, cgroup, container, pod, unit, job, step, user, tag, idle, unattributed };

constexpr std::string_view name_of(ConsumerKind kind) {
  constexpr std::string_view names[] = {"process", "cgroup", "container", "pod",  "unit",        "job",
                                        "step",    "user",   "tag",       "idle", "unattributed"};
  return names[static_cast<unsigned>(kind)];
}

// One component, over all the time watched and over the last tick.
struct ComponentAccount {
  std::string component;           // "node/cpu/package-0"
  std::string meter;               // "rapl.powercap"; "" where missing
  Quality quality = Quality::missing;  // of the last tick
  std::map<Quality, Energy> energy;    // so far, by how it was known
  std::optional<Power> power;      // over the last tick; empty where it is not known
  std::string reason;              // why it is missing, estimated or derived
  std::optional<Power> idle;       // its static power; empty while that is not known: then nothing was booked as idle either
};

// Names and values, by name. Flat, for a node has thousands of consumers.
using Labels = std::vector<std::pair<std::string, std::string>>;

inline const std::string* find_label(const Labels& labels, std::string_view name) {
  for (const auto& label : labels)
    if (label.first == name) return &label.second;
  return nullptr;
}

// One consumer; `energy` runs beside NodeAccount::components.
struct ConsumerAccount {
  ConsumerKind kind = ConsumerKind::process;
  std::string name;                // "python[4711]", "/system.slice/…", a container's id; "(none)": belongs to none of the kind;
                                   // "(ended)": all that have ended; "" of idle and unattributed
  std::vector<Energy> energy;      // so far
  std::optional<Power> power;      // over the last tick, all components
  Duration cpu;                    // so far
  Labels labels;                   // of a process: pid, user, container …; of others what identifies them further
  std::uint64_t version = 0;       // of kind, name and labels: where two have the same, those are the same; 0: not known
};

// For how long a meter's readings were missing, by meter and reason.
using MissingTimes = std::map<std::pair<std::string, std::string>, Duration>;

struct NodeAccount {
  MonoTime begin, now;             // watched from, up to
  Duration tick;                   // the last one
  std::vector<ComponentAccount> components;  // counted once each: their sum is the node
  std::vector<ComponentAccount> overlaps;    // shown apart, never added
  std::vector<ConsumerAccount> consumers;    // in no order that means anything
  MissingTimes missing;
  std::int64_t violations = 0;     // ticks whose parts did not sum to the whole: 0, or a fault of ours
  std::string method;              // how CPU time is known: "ebpf", "proc"
  Duration own_cpu;                // the agent's own
  std::int64_t own_memory = 0;     // resident bytes
};

}  // namespace joulery
