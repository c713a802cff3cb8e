#include "watch/profile/perfetto_trace.h"

#include <cstdlib>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "watch/profile/profile_builder.h"
#include "watch/profile/proto_reader.h"

namespace joulery {
namespace {

// Field numbers of perfetto/trace/*.proto.
constexpr std::uint32_t trace_packet = 1;
constexpr std::uint32_t packet_clock_snapshot = 6, packet_timestamp = 8, packet_sequence = 10, packet_track_event = 11,
                        packet_interned = 12, packet_flags = 13, packet_clock_id = 58, packet_defaults = 59, packet_track_descriptor = 60;
constexpr std::uint32_t event_type = 9, event_track = 11, event_name_id = 10, event_name = 23;
constexpr std::uint64_t slice_begin = 1, slice_end = 2, cleared = 1;   // of TrackEvent.type, and of the sequence flags
constexpr std::uint32_t track_uuid = 1, track_name = 2, track_process = 3, track_thread = 4, track_parent = 5;
constexpr std::uint32_t interned_event_names = 2;
constexpr std::uint64_t clock_realtime = 1, clock_monotonic = 3, clock_boot = 6;

struct Sequence {
  std::unordered_map<std::uint64_t, NameId> names;
  std::uint64_t clock = clock_boot, track = 0;
};
struct Open {
  std::int64_t begin;
  NameId name;
};
struct TrackInfo {
  std::string name;
  std::int64_t pid = 0, tid = 0;
  std::uint64_t parent = 0;
  bool of_thread = false;
  std::vector<Open> open;
};

struct Packet {
  std::int64_t timestamp = 0;
  std::uint64_t sequence = 0, flags = 0, clock = 0;
  std::string_view event, interned, defaults, descriptor, snapshot;
};

class PerfettoReader {
 public:
  explicit PerfettoReader(TraceInput& input) : stream_(input), builder_("perfetto", input.limits()) {}

  Result<Profile> read() {
    ProtoField field;
    for (;;) {
      const auto more = stream_.next(until_the_end, field);
      if (!more) return std::unexpected(more.error());
      if (!*more) break;
      if (field.number != trace_packet || field.wire != 2) {
        if (const auto skipped = stream_.skip(field); !skipped) return std::unexpected(skipped.error());
        continue;
      }
      const auto payload = stream_.payload(field);
      if (!payload) return std::unexpected(payload.error());
      if (!add_packet(*payload)) return fail(ErrorCode::format, "a packet of the trace is damaged", stream_.input().place());
      stream_.take(*payload);
      if (builder_.full() || held_ > stream_.input().limits().memory / 4) return builder_.too_big(stream_.input());
    }
    if (builder_.profile().event_count() == 0)
      return fail(ErrorCode::unsupported, "the trace holds no slices of programs", stream_.input().name(),
                  "record track events: the kernel's own are not read");
    finish();
    return builder_.finish();
  }

 private:
  bool add_packet(std::string_view bytes) {
    Packet packet;
    ProtoBytes fields(bytes);
    while (fields.next()) {
      const ProtoField& field = fields.field();
      switch (field.number) {
        case packet_timestamp: packet.timestamp = static_cast<std::int64_t>(field.value); break;
        case packet_sequence: packet.sequence = field.value; break;
        case packet_flags: packet.flags = field.value; break;
        case packet_clock_id: packet.clock = field.value; break;
        case packet_track_event: packet.event = fields.bytes(); break;
        case packet_interned: packet.interned = fields.bytes(); break;
        case packet_defaults: packet.defaults = fields.bytes(); break;
        case packet_track_descriptor: packet.descriptor = fields.bytes(); break;
        case packet_clock_snapshot: packet.snapshot = fields.bytes(); break;
        default: break;
      }
    }
    if (!fields.ok()) return false;
    held_ += sequences_.contains(packet.sequence) ? 0 : 256;
    Sequence& sequence = sequences_[packet.sequence];
    if (packet.flags & cleared) sequence = {};
    return add_defaults(packet.defaults, sequence) && add_names(packet.interned, sequence) && add_descriptor(packet.descriptor) &&
           add_snapshot(packet.snapshot) && (packet.event.empty() || add_event(packet, sequence));
  }

  static bool add_defaults(std::string_view bytes, Sequence& sequence) {
    constexpr std::uint32_t defaults_clock = 58, defaults_track_event = 11, track_event_track = 11;
    ProtoBytes fields(bytes);
    while (fields.next()) {
      if (fields.field().number == defaults_clock) sequence.clock = fields.field().value;
      if (fields.field().number != defaults_track_event) continue;
      ProtoBytes inner(fields.bytes());
      while (inner.next())
        if (inner.field().number == track_event_track) sequence.track = inner.field().value;
    }
    return fields.ok();
  }

  bool add_names(std::string_view bytes, Sequence& sequence) {
    ProtoBytes fields(bytes);
    while (fields.next()) {
      if (fields.field().number != interned_event_names) continue;
      std::uint64_t id = 0;
      std::string_view name;
      ProtoBytes entry(fields.bytes());
      while (entry.next()) {
        if (entry.field().number == 1) id = entry.field().value;
        if (entry.field().number == 2) name = entry.bytes();
      }
      if (!entry.ok()) return false;
      held_ += 64;
      sequence.names[id] = builder_.profile().names.add(name);
    }
    return fields.ok();
  }

  bool add_descriptor(std::string_view bytes) {
    if (bytes.empty()) return true;
    std::uint64_t uuid = 0;
    TrackInfo info;
    ProtoBytes fields(bytes);
    while (fields.next()) {
      const ProtoField& field = fields.field();
      if (field.number == track_uuid) uuid = field.value;
      if (field.number == track_parent) info.parent = field.value;
      if (field.number == track_name) info.name = fields.bytes().substr(0, 200);
      if (field.number != track_process && field.number != track_thread) continue;
      info.of_thread = info.of_thread || field.number == track_thread;
      ProtoBytes inner(fields.bytes());
      while (inner.next()) {
        if (inner.field().number == 1) info.pid = static_cast<std::int64_t>(inner.field().value);
        if (field.number == track_thread && inner.field().number == 2) info.tid = static_cast<std::int64_t>(inner.field().value);
        if (info.name.empty() && inner.field().wire == 2 && inner.field().number == (field.number == track_thread ? 5u : 6u))
          info.name = inner.bytes().substr(0, 200);
      }
    }
    held_ += 512;
    TrackInfo& track = tracks_[uuid];
    info.open = std::move(track.open);
    track = std::move(info);
    return fields.ok();
  }

  // The same moment on several clocks.
  bool add_snapshot(std::string_view bytes) {
    ProtoBytes fields(bytes);
    std::map<std::uint64_t, std::int64_t> now;
    while (fields.next()) {
      if (fields.field().number != 1 || fields.field().wire != 2) continue;
      std::uint64_t id = 0;
      std::int64_t time = 0;
      ProtoBytes clock(fields.bytes());
      while (clock.next()) {
        if (clock.field().number == 1) id = clock.field().value;
        if (clock.field().number == 2) time = static_cast<std::int64_t>(clock.field().value);
      }
      if (now.size() < 64) now[id] = time;
    }
    if (clocks_.empty()) clocks_ = std::move(now);
    return fields.ok();
  }

  bool add_event(const Packet& packet, const Sequence& sequence) {
    std::uint64_t type = 0, track = sequence.track, name_id = 0;
    std::string_view name;
    ProtoBytes fields(packet.event);
    while (fields.next()) {
      const ProtoField& field = fields.field();
      if (field.number == event_type) type = field.value;
      if (field.number == event_track) track = field.value;
      if (field.number == event_name_id) name_id = field.value;
      if (field.number == event_name) name = fields.bytes();
    }
    if (!fields.ok()) return false;
    if (type != slice_begin && type != slice_end) return true;
    const std::uint64_t clock = packet.clock != 0 ? packet.clock : sequence.clock;
    if (clock_ == 0) clock_ = clock;
    if (clock != clock_ || (clock >= 64 && clock < 128)) {   // clocks of a sequence's own are increments
      builder_.count_left_out();
      return true;
    }
    held_ += tracks_.contains(track) ? 0 : 512;
    TrackInfo& info = tracks_[track];
    if (type == slice_begin) {
      const auto interned = sequence.names.find(name_id);
      const NameId id = !name.empty()                      ? builder_.profile().names.add(name)
                        : interned != sequence.names.end() ? interned->second
                                                           : builder_.profile().names.add("(unnamed)");
      held_ += sizeof(Open);
      info.open.push_back({packet.timestamp, id});
      return true;
    }
    if (info.open.empty()) {
      builder_.count_left_out();
      return true;
    }
    const Open open = info.open.back();
    info.open.pop_back();
    held_ -= sizeof(Open);
    add_slice(track, open, packet.timestamp);
    return true;
  }

  void add_slice(std::uint64_t track, const Open& open, std::int64_t end) {
    ProfileEvent event{.begin = open.begin, .name = open.name, .kind = EventKind::op};
    if (__builtin_sub_overflow(end, open.begin, &event.duration)) return builder_.count_left_out();
    const std::int64_t step = step_number(builder_.profile().names[event.name]);
    if (step >= 0) {
      event.kind = EventKind::step;
      event.correlation = ProfileBuilder::link(step + 1);
    }
    builder_.add(builder_.track("", std::to_string(track), TrackKind::thread), event);
  }

  void finish() {
    Profile& profile = builder_.profile();
    for (ProfileTrack& track : profile.tracks) {
      const auto found = tracks_.find(static_cast<std::uint64_t>(std::strtoull(track.name.substr(sizeof "thread").c_str(), nullptr, 10)));
      if (found == tracks_.end()) continue;
      const TrackInfo& info = found->second;
      const auto parent = tracks_.find(info.parent);
      track.process = info.pid != 0 || parent == tracks_.end() ? info.pid : parent->second.pid;
      track.thread = info.tid;
      if (!info.name.empty()) track.name = info.name;
    }
    std::size_t open = 0;
    for (const auto& [uuid, info] : tracks_) open += info.open.size();
    if (open > 0) builder_.note(std::to_string(open) + " slices never ended and were left out");
    set_clock(profile);
  }

  void set_clock(Profile& profile) const {
    if (clock_ == clock_realtime) profile.clock = ProfileClock::wall;
    const auto own = clocks_.find(clock_), wall = clocks_.find(clock_realtime);
    std::int64_t base = 0;
    if (own == clocks_.end() || wall == clocks_.end() || __builtin_sub_overflow(wall->second, own->second, &base)) {
      if (clock_ == clock_monotonic) profile.clock = ProfileClock::monotonic;
      return;
    }
    constexpr std::int64_t largest = std::int64_t{1} << 61;
    if (base > largest || base < -largest) return;
    for (ProfileTrack& track : profile.tracks)
      for (ProfileEvent& event : track.events) event.begin += base;
    profile.base_ns = base;
    profile.clock = ProfileClock::wall;
  }

  ProtoStream stream_;
  ProfileBuilder builder_;
  std::unordered_map<std::uint64_t, Sequence> sequences_;
  std::unordered_map<std::uint64_t, TrackInfo> tracks_;
  std::map<std::uint64_t, std::int64_t> clocks_;
  std::uint64_t clock_ = 0;
  std::size_t held_ = 0;               // memory of what is not in the profile, about
};

}  // namespace

bool is_perfetto(std::string_view start) {
  if (start.size() < 4 || start[0] != '\x0a') return false;
  // The first packet may be longer than what is here: look at its first field by hand.
  std::size_t at = 1;
  while (at < start.size() && at < 11 && (static_cast<unsigned char>(start[at]) & 0x80)) ++at;
  ++at;
  if (at + 2 > start.size()) return false;
  ProtoBytes packet(start.substr(at));
  packet.next();
  switch (packet.field().number) {     // what packets begin with; an XPlane begins with 1 or 2
    case packet_clock_snapshot:
    case packet_timestamp:
    case packet_sequence:
    case packet_track_event:
    case packet_interned:
    case packet_flags:
    case packet_clock_id:
    case packet_defaults:
    case packet_track_descriptor:
    case 3:
    case 33:
    case 35:
    case 36:
    case 40:
    case 42:
    case 45:
    case 79:
    case 87: return true;
    default: return false;
  }
}

Result<Profile> read_perfetto(TraceInput& input) { return PerfettoReader(input).read(); }

}  // namespace joulery
