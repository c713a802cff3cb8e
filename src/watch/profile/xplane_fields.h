// The field numbers of XLA's xplane.proto (package tensorflow.profiler, proto3), for its reader and its writer.
#pragma once

#include <cstdint>

namespace joulery::xplane {

inline constexpr std::uint32_t space_planes = 1, space_hostnames = 4;
inline constexpr std::uint32_t plane_id = 1, plane_name = 2, plane_lines = 3, plane_event_metadata = 4, plane_stat_metadata = 5,
                               plane_stats = 6;
inline constexpr std::uint32_t line_id = 1, line_name = 2, line_timestamp_ns = 3, line_events = 4, line_duration_ps = 9,
                               line_display_id = 10, line_display_name = 11;
inline constexpr std::uint32_t event_metadata_id = 1, event_offset_ps = 2, event_duration_ps = 3, event_stats = 4, event_occurrences = 5;
inline constexpr std::uint32_t stat_metadata_id = 1, stat_double = 2, stat_uint64 = 3, stat_int64 = 4, stat_str = 5, stat_bytes = 6,
                               stat_ref = 7;
inline constexpr std::uint32_t metadata_id = 1, metadata_name = 2, metadata_display_name = 4, metadata_stats = 5;
inline constexpr std::uint32_t map_key = 1, map_value = 2;

}  // namespace joulery::xplane
