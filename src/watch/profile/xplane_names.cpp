#include "watch/profile/xplane_names.h"

#include "watch/profile/xplane_fields.h"

namespace joulery::xplane {
namespace {

// Memory that a name takes beside its text, about.
constexpr std::size_t entry_bytes = 160;

// The one entry of a map field: key and message.
bool read_entry(std::string_view bytes, std::int64_t& key, std::string_view& value) {
  ProtoBytes fields(bytes);
  while (fields.next()) {
    if (fields.field().number == map_key && fields.field().wire == 0) key = static_cast<std::int64_t>(fields.field().value);
    if (fields.field().number == map_value && fields.field().wire == 2) value = fields.bytes();
  }
  return fields.ok();
}

class NameReader {
 public:
  explicit NameReader(TraceInput& input) : stream_(input) {}

  Result<std::vector<PlaneNames>> read() {
    ProtoField field;
    for (;;) {
      const auto more = stream_.next(until_the_end, field);
      if (!more) return std::unexpected(more.error());
      if (!*more) return std::move(planes_);
      const bool plane = field.number == space_planes && field.wire == 2;
      const auto read = plane ? read_plane(stream_.offset() + field.value) : stream_.skip(field);
      if (!read) return std::unexpected(read.error());
    }
  }

 private:
  Result<void> read_plane(std::uint64_t end) {
    PlaneNames plane;
    std::vector<std::pair<std::int64_t, std::string>> pending;   // statistics of event names, whose own names may follow
    ProtoField field;
    used_ += entry_bytes;
    for (;;) {
      const auto more = stream_.next(end, field);
      if (!more) return std::unexpected(more.error());
      if (!*more) break;
      if (field.wire == 2 && field.number == plane_lines) {
        if (const auto read = read_line(plane, stream_.offset() + field.value); !read) return read;
        continue;
      }
      if (field.wire != 2 || (field.number != plane_name && field.number != plane_event_metadata && field.number != plane_stat_metadata &&
                              field.number != plane_stats)) {
        if (const auto skipped = stream_.skip(field); !skipped) return skipped;
        continue;
      }
      const auto payload = stream_.payload(field);
      if (!payload) return std::unexpected(payload.error());
      if (!add(field.number, *payload, plane, pending))
        return fail(ErrorCode::format, "a name of the trace is damaged", stream_.input().place());
      stream_.take(*payload);
      if (used_ > stream_.input().limits().memory)
        return fail(ErrorCode::unsupported, "the trace's names need more memory than is allowed", stream_.input().place());
    }
    resolve(plane, pending);
    planes_.push_back(std::move(plane));
    return {};
  }

  // A line's name alone: it says what the line's time is.
  Result<void> read_line(PlaneNames& plane, std::uint64_t end) {
    std::string name;
    ProtoField field;
    for (;;) {
      const auto more = stream_.next(end, field);
      if (!more) return std::unexpected(more.error());
      if (!*more) break;
      if (field.wire == 2 && field.number == line_name) {
        const auto payload = stream_.payload(field);
        if (!payload) return std::unexpected(payload.error());
        name = payload->substr(0, 200);
        stream_.take(*payload);
        if (const auto skipped = stream_.skip({line_name, 2, end - stream_.offset()}); !skipped) return skipped;
      } else if (const auto skipped = stream_.skip(field); !skipped) {
        return skipped;
      }
    }
    plane.lines.push_back(std::move(name));
    used_ += entry_bytes;
    return {};
  }

  bool add(std::uint32_t number, std::string_view payload, PlaneNames& plane, std::vector<std::pair<std::int64_t, std::string>>& pending) {
    used_ += payload.size() + entry_bytes;
    if (number == plane_name) {
      plane.name = payload;
      return true;
    }
    if (number == plane_stats) {
      pending.emplace_back(plane_pseudo_key, payload);
      return true;
    }
    std::int64_t key = 0;
    std::string_view value;
    if (!read_entry(payload, key, value)) return false;
    ProtoBytes fields(value);
    EventName event;
    std::string stat;
    while (fields.next()) {
      const ProtoField& field = fields.field();
      if (field.wire != 2) continue;
      if (field.number == metadata_name) (number == plane_stat_metadata ? stat : event.name) = fields.bytes();
      if (number == plane_event_metadata && field.number == metadata_display_name) event.display = fields.bytes();
      if (number == plane_event_metadata && field.number == metadata_stats) pending.emplace_back(key, fields.bytes());
    }
    if (number == plane_stat_metadata)
      plane.stats[key] = std::move(stat);
    else
      plane.events[key] = std::move(event);
    return fields.ok();
  }

  static void resolve(PlaneNames& plane, const std::vector<std::pair<std::int64_t, std::string>>& pending) {
    for (const auto& [key, bytes] : pending) {
      Stat stat;
      if (!read_stat(bytes, stat)) continue;
      const auto name = plane.stats.find(stat.id);
      if (name == plane.stats.end()) continue;
      if (key == plane_pseudo_key) {
        if (name->second == "profile_start_time") plane.profile_start = static_cast<std::int64_t>(stat.number);
        if (name->second == "profile_stop_time") plane.profile_stop = static_cast<std::int64_t>(stat.number);
      } else if (name->second == "tf_op") {
        const auto ref = stat.kind == stat_ref ? plane.stats.find(static_cast<std::int64_t>(stat.number)) : plane.stats.end();
        plane.events[key].op_path = ref != plane.stats.end() ? ref->second : std::string(stat.text);
      }
    }
  }

  // Stands for the plane itself among the keys of events; no writer uses it.
  static constexpr std::int64_t plane_pseudo_key = std::int64_t{-1} << 62;

  ProtoStream stream_;
  std::vector<PlaneNames> planes_;
  std::size_t used_ = 0;
};

}  // namespace

bool read_stat(std::string_view bytes, Stat& stat) {
  ProtoBytes fields(bytes);
  while (fields.next()) {
    const ProtoField& field = fields.field();
    if (field.number == stat_metadata_id) {
      stat.id = static_cast<std::int64_t>(field.value);
    } else if (field.number >= stat_double && field.number <= stat_ref) {
      stat.kind = field.number;
      stat.number = field.wire == 2 ? 0 : field.value;
      stat.text = fields.bytes();
    }
  }
  return fields.ok();
}

Result<std::vector<PlaneNames>> read_names(TraceInput& input) { return NameReader(input).read(); }

}  // namespace joulery::xplane
