// Which cell of a side's activity an event belongs to: one rule for counting and for giving energy back to events.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "watch/profile/profile.h"

namespace joulery {

struct CellKey {
  NameId name = 0, op = 0, layer = 0;
  EventKind kind = EventKind::op;
  friend bool operator==(const CellKey&, const CellKey&) = default;
};
struct CellHash {
  std::size_t operator()(const CellKey& key) const {
    std::uint64_t mixed = (std::uint64_t{key.name} << 32 | key.op) * 0x9e3779b97f4a7c15u;
    mixed ^= (std::uint64_t{key.layer} << 8 | static_cast<std::uint64_t>(key.kind)) * 0xc2b2ae3d27d4eb4fu;
    return mixed ^ (mixed >> 29);
  }
};
using CellNumbers = std::unordered_map<CellKey, std::uint32_t, CellHash>;

// Of the operator that launched a kernel: its name, by External id. Only of those that launched any.
using OpNames = std::unordered_map<std::uint32_t, NameId>;
OpNames launching_ops(const Profile& profile);

constexpr bool on_device(EventKind kind) { return kind == EventKind::kernel || kind == EventKind::copy; }

// `op`: the innermost operator around the event, on the host.
inline CellKey cell_key(const ProfileEvent& event, const ProfileEvent* op, const OpNames& ops) {
  if (on_device(event.kind)) {
    const auto found = event.external == no_link ? ops.end() : ops.find(event.external);
    return {event.name, found == ops.end() ? 0 : found->second, event.layer, event.kind};
  }
  if (op) return {op->name, op->name, event.layer != 0 ? event.layer : op->layer, EventKind::op};
  // Outside of operators: waits and runtime calls by name, the interpreter's and the framework's own code together.
  if (event.kind == EventKind::sync || event.kind == EventKind::runtime) return {event.name, 0, event.layer, event.kind};
  return {0, 0, event.layer, EventKind::python};
}

}  // namespace joulery
