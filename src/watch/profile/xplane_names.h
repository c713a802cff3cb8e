// The names of an XPlane: what its events and statistics are called, read ahead of the lines that use them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "watch/profile/proto_reader.h"

namespace joulery::xplane {

// One statistic of an event, a plane or a name.
struct Stat {
  std::int64_t id = 0;
  std::uint32_t kind = 0;              // which member of the oneof: stat_double, ..., stat_ref; 0: none
  std::uint64_t number = 0;            // bits of a double, an integer, or the name's id of a reference
  std::string_view text;
};
// False for what is no XStat.
bool read_stat(std::string_view bytes, Stat& stat);

struct EventName {
  std::string name, display;
  std::string op_path;                 // of the statistic tf_op
};

struct PlaneNames {
  std::string name;
  std::unordered_map<std::int64_t, EventName> events;
  std::unordered_map<std::int64_t, std::string> stats;
  std::vector<std::string> lines;
  std::optional<std::int64_t> profile_start, profile_stop;   // of the plane "Task Environment", wall-clock ns
};

// All planes, in the file's order. The input is at its end afterwards. Errors: format; unsupported beyond the limits.
Result<std::vector<PlaneNames>> read_names(TraceInput& input);

}  // namespace joulery::xplane
