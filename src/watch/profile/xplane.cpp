#include "watch/profile/xplane.h"

#include <algorithm>
#include <bit>

#include "watch/profile/device_lines.h"
#include "watch/profile/profile_builder.h"
#include "watch/profile/xplane_fields.h"
#include "watch/profile/xplane_names.h"

namespace joulery {
namespace {

using namespace xplane;

constexpr std::int64_t least_wall_ns = 1'000'000'000'000'000'000;

// What a statistic tells of its event.
enum class Role : std::uint8_t {
  none,
  step,
  correlation,
  hlo_op,
  tf_op,
  eager_op,
  is_function,
  flops,
  bytes,
  allocated,
  reserved,
  peak,
  occupancy
};
struct RoleName {
  std::string_view name;
  Role role;
};
constexpr RoleName roles[] = {
    {"step_num", Role::step},
    {"correlation_id", Role::correlation},
    {"hlo_op", Role::hlo_op},
    {"tf_op", Role::tf_op},
    {"eager_op", Role::eager_op},
    {"is_func", Role::is_function},
    {"flops", Role::flops},
    {"bytes_accessed", Role::bytes},
    {"bytes_allocated", Role::allocated},
    {"bytes_reserved", Role::reserved},
    {"peak_bytes_in_use", Role::peak},
    {"theoretical_occupancy_pct", Role::occupancy},
};

// What a name alone tells of its events.
struct Meaning {
  NameId name = 0, layer = 0;
  EventKind kind = EventKind::annotation;
  bool memory = false;                 // of an allocation
};

// An event's statistics, as far as they are used.
struct Told {
  std::optional<std::int64_t> step, correlation;
  std::string_view hlo_op, tf_op, eager_op;
  bool is_function = false;
  double flops = 0, bytes = 0, occupancy = 0;
  std::int64_t allocated = 0, reserved = 0, peak = 0;
};

std::int64_t whole_ns(std::int64_t ps) { return ps >= 0 ? (ps + 500) / 1000 : -((500 - ps) / 1000); }

class XplaneReader {
 public:
  XplaneReader(TraceInput& input, const std::vector<PlaneNames>& planes)
      : stream_(input), builder_("xplane", input.limits()), planes_(&planes) {
    find_start();
  }

  Result<Profile> read() {
    if (const auto again = stream_.input().rewind(); !again) return std::unexpected(again.error());
    ProtoField field;
    for (std::size_t plane = 0;;) {
      const auto more = stream_.next(until_the_end, field);
      if (!more) return std::unexpected(more.error());
      if (!*more) break;
      const bool is_plane = field.number == space_planes && field.wire == 2;
      if (is_plane && plane >= planes_->size()) return fail(ErrorCode::io, "the trace changed while it was read", stream_.input().name());
      const auto read = is_plane ? read_plane(plane++, stream_.offset() + field.value) : stream_.skip(field);
      if (!read) return std::unexpected(read.error());
    }
    builder_.profile().clock = absolute_ && !relative_ ? ProfileClock::wall : ProfileClock::relative;
    if (absolute_ && relative_) builder_.note("some lines tell the time of day and some do not");
    return builder_.finish();
  }

  void begin_plane(std::size_t number) {
    names_ = &(*planes_)[number];
    plane_key_ = std::to_string(number);
    meanings_.clear();
    stat_roles_.clear();
    for (const auto& [id, name] : names_->stats)
      for (const RoleName& role : roles)
        if (role.name == name) stat_roles_[id] = role.role;
    device_ = device_of_plane(names_->name);
    has_streams_ = std::ranges::any_of(names_->lines, [](const std::string& line) { return line.starts_with("Stream"); });
  }
  std::int64_t line_begin(std::int64_t timestamp) const {
    return timestamp < least_wall_ns && profile_start_ ? timestamp + *profile_start_ : timestamp;
  }
  std::string_view name(NameId id) { return builder_.profile().names[id]; }

  enum class Found { event, memory, none, damaged };
  // Reads an XEvent; its begin is within the line.
  Found interpret(std::string_view bytes, ProfileEvent& event, Told& told) {
    std::int64_t id = 0, offset_ps = 0, duration_ps = 0;
    ProtoBytes fields(bytes);
    while (fields.next()) {
      const ProtoField& field = fields.field();
      if (field.number == event_metadata_id)
        id = static_cast<std::int64_t>(field.value);
      else if (field.number == event_offset_ps)
        offset_ps = static_cast<std::int64_t>(field.value);
      else if (field.number == event_duration_ps)
        duration_ps = static_cast<std::int64_t>(field.value);
      else if (field.number == event_stats && field.wire == 2) {
        Stat stat;
        if (!read_stat(fields.bytes(), stat)) return Found::damaged;
        use_stat(stat, told);
      }
    }
    if (!fields.ok()) return Found::damaged;
    constexpr std::int64_t most_ps = std::int64_t{1} << 61;
    if (offset_ps > most_ps || offset_ps < -most_ps || duration_ps > most_ps || duration_ps < 0) {
      builder_.count_left_out();
      return Found::none;
    }
    const Meaning& meaning = meaning_of(id);
    event = {.begin = whole_ns(offset_ps), .name = meaning.name, .layer = meaning.layer & 0xffffff, .kind = meaning.kind};
    event.duration = whole_ns(offset_ps + duration_ps) - event.begin;
    refine(event, told);
    return meaning.memory ? Found::memory : Found::event;
  }

 private:
  void find_start() {
    for (const PlaneNames& plane : *planes_)
      if (plane.profile_start && *plane.profile_start > 0) profile_start_ = *plane.profile_start;
  }

  Result<void> read_plane(std::size_t number, std::uint64_t end) {
    begin_plane(number);
    if (device_) builder_.profile().devices.push_back({*device_, names_->name});
    ProtoField field;
    for (;;) {
      const auto more = stream_.next(end, field);
      if (!more) return std::unexpected(more.error());
      if (!*more) return {};
      const bool line = field.number == plane_lines && field.wire == 2;
      const auto read = line ? read_line(stream_.offset() + field.value) : stream_.skip(field);
      if (!read) return read;
    }
  }

  TrackKind kind_of_line(std::string_view line) const {
    if (!device_) return names_->name == "/host:CPU" || names_->name.starts_with("/host:") ? TrackKind::thread : TrackKind::summary;
    if (is_summary_line(line) || (line == xla_ops_line && has_streams_)) return TrackKind::summary;
    return TrackKind::stream;
  }

  Result<void> read_line(std::uint64_t end) {
    const std::uint64_t place = stream_.offset();
    std::int64_t timestamp = 0;
    std::string name;
    std::optional<std::uint32_t> track;
    std::size_t first = 0;
    ProtoField field;
    const auto open_track = [&] {
      if (track) return;
      track = builder_.track(plane_key_, "line " + std::to_string(place), kind_of_line(name));
      first = builder_.profile().tracks[*track].events.size();
      line_is_steps_ = device_ && name == "Steps";
      line_is_copies_ = name.find("Memcpy") != std::string::npos || name.find("MemCpy") != std::string::npos;
    };
    for (;;) {
      const auto more = stream_.next(end, field);
      if (!more) return std::unexpected(more.error());
      if (!*more) break;
      if (field.number == line_timestamp_ns) timestamp = static_cast<std::int64_t>(field.value);
      if (field.wire != 2) continue;
      if (field.number != line_events && field.number != line_name && field.number != line_display_name) {
        if (const auto skipped = stream_.skip(field); !skipped) return skipped;
        continue;
      }
      const auto payload = stream_.payload(field);
      if (!payload) return std::unexpected(payload.error());
      if (field.number == line_events) {
        open_track();
        if (!add_event(*payload, *track)) return fail(ErrorCode::format, "an event of the trace is damaged", stream_.input().place());
      } else if (field.number == line_name || name.empty()) {
        name = payload->substr(0, 200);
      }
      stream_.take(*payload);
      if (builder_.full()) return builder_.too_big(stream_.input());
    }
    if (track) finish_line(builder_.profile().tracks[*track], first, timestamp, name);
    return {};
  }

  // A line's own nanoseconds come to its events once it is read: they may stand behind them.
  void finish_line(ProfileTrack& track, std::size_t first, std::int64_t timestamp, const std::string& name) {
    track.name = name.empty() ? "line" : name;
    track.device = device_.value_or(-1);
    track.process = track.thread = 0;
    const bool own = timestamp >= least_wall_ns;
    timestamp = line_begin(timestamp);
    (own || profile_start_ ? absolute_ : relative_) = true;
    if (timestamp > std::int64_t{1} << 62 || timestamp < 0) {
      builder_.count_left_out(static_cast<std::int64_t>(track.events.size() - first));
      track.events.resize(first);
      return;
    }
    for (std::size_t i = first; i < track.events.size(); ++i) track.events[i].begin += timestamp;
  }

  const Meaning& meaning_of(std::int64_t id) {
    const auto [found, added] = meanings_.try_emplace(id);
    if (!added) return found->second;
    Meaning& meaning = found->second;
    const auto named = names_->events.find(id);
    if (named == names_->events.end()) {
      meaning.name = builder_.profile().names.add("(unnamed)");
      return meaning;
    }
    const EventName& event = named->second;
    NameTable& names = builder_.profile().names;
    meaning.name = names.add(event.name);
    meaning.memory = event.name == "MemoryAllocation" || event.name == "MemoryDeallocation";
    if (device_) {
      meaning.kind = is_copy(event.name) || line_is_copies_ ? EventKind::copy : EventKind::kernel;
      if (!event.op_path.empty()) meaning.layer = builder_.layer(scope_of(event.op_path));
    } else if (const std::string_view type = op_type(event.name); !type.empty()) {
      meaning.kind = EventKind::op;
      meaning.name = names.add(type);
      meaning.layer = builder_.layer(scope_of(event.name));
      builder_.profile().framework = "tensorflow";
    } else if (event.name.starts_with('$')) {
      meaning.kind = EventKind::python;
    }
    if (event.name.starts_with("PjitFunction")) builder_.profile().framework = "jax";
    return meaning;
  }

  std::string_view text_of(const Stat& stat) const {
    if (stat.kind != stat_ref) return stat.text;
    const auto found = names_->stats.find(static_cast<std::int64_t>(stat.number));
    return found == names_->stats.end() ? std::string_view{} : std::string_view(found->second);
  }

  void use_stat(const Stat& stat, Told& told) const {
    const auto found = stat_roles_.find(stat.id);
    if (found == stat_roles_.end()) return;
    const auto whole = static_cast<std::int64_t>(stat.number);
    const double real = stat.kind == stat_double ? std::bit_cast<double>(stat.number) : static_cast<double>(whole);
    switch (found->second) {
      case Role::step: told.step = whole; break;
      case Role::correlation: told.correlation = whole; break;
      case Role::hlo_op: told.hlo_op = text_of(stat); break;
      case Role::tf_op: told.tf_op = text_of(stat); break;
      case Role::eager_op: told.eager_op = text_of(stat); break;
      case Role::is_function: told.is_function = whole != 0; break;
      case Role::flops: told.flops = real; break;
      case Role::bytes: told.bytes = real; break;
      case Role::occupancy: told.occupancy = real; break;
      case Role::allocated: told.allocated = whole; break;
      case Role::reserved: told.reserved = whole; break;
      case Role::peak: told.peak = whole; break;
      case Role::none: break;
    }
  }

  // False for what is no XEvent.
  bool add_event(std::string_view bytes, std::uint32_t track) {
    ProfileEvent event;
    Told told;
    switch (interpret(bytes, event, told)) {
      case Found::damaged: return false;
      case Found::memory: builder_.saw_memory(device_.value_or(-1), std::max(told.allocated, told.peak), told.reserved); break;
      case Found::event:
        builder_.add(track, event);
        add_facts(event, told);
        break;
      case Found::none: break;
    }
    return true;
  }

  void refine(ProfileEvent& event, const Told& told) {
    NameTable& names = builder_.profile().names;
    if (told.correlation) event.correlation = ProfileBuilder::link(*told.correlation);
    if (!told.tf_op.empty()) event.layer = builder_.layer(scope_of(told.tf_op)) & 0xffffff;
    if (line_is_steps_) {
      std::int64_t number = 0;
      const std::string_view name = names[event.name];
      event.kind = EventKind::step;
      event.correlation =
          std::from_chars(name.data(), name.data() + name.size(), number).ec == std::errc() ? ProfileBuilder::link(number + 1) : no_link;
    } else if (told.step && !device_) {
      event.kind = EventKind::step;
      event.correlation = ProfileBuilder::link(*told.step + 1);
    } else if (!device_ && !told.hlo_op.empty()) {
      event.kind = EventKind::op;
      event.name = names.add(told.hlo_op);
    } else if (!device_ && !told.eager_op.empty() && !told.is_function) {
      event.kind = EventKind::op;
      event.name = names.add(told.eager_op);
    }
  }

  void add_facts(const ProfileEvent& event, const Told& told) {
    if (told.flops == 0 && told.bytes == 0 && told.occupancy == 0) return;
    NameFacts& facts = builder_.profile().facts[event.name];
    ++facts.events;
    facts.flops += told.flops;
    facts.bytes += told.bytes;
    if (told.occupancy <= 0) return;
    facts.occupancy_ns += told.occupancy / 100 * static_cast<double>(event.duration);
    facts.occupied_ns += event.duration;
  }

  ProtoStream stream_;
  ProfileBuilder builder_;
  const std::vector<PlaneNames>* planes_;
  std::optional<std::int64_t> profile_start_;
  bool absolute_ = false, relative_ = false;
  // Of the plane and the line that are being read.
  const PlaneNames* names_ = nullptr;
  std::string plane_key_;
  std::optional<int> device_;
  bool has_streams_ = false, line_is_steps_ = false, line_is_copies_ = false;
  std::unordered_map<std::int64_t, Meaning> meanings_;
  std::unordered_map<std::int64_t, Role> stat_roles_;
};

}  // namespace

// A plane first (field 1) that begins with its id or name; hostnames never come alone.
bool is_xplane(std::string_view start) {
  if (start.size() < 4 || start[0] != '\x0a') return false;
  std::size_t at = 1;
  while (at < start.size() && at < 11 && (static_cast<unsigned char>(start[at]) & 0x80)) ++at;
  if (++at + 1 >= start.size()) return false;
  const char tag = start[at];
  if (tag == '\x08') {                 // an id, and then a name or more of a plane
    ++at;
    while (at < start.size() && (static_cast<unsigned char>(start[at]) & 0x80)) ++at;
    return at + 1 < start.size() && (start[at + 1] == '\x12' || start[at + 1] == '\x1a' || start[at + 1] == '\x22');
  }
  return tag == '\x12' && start.size() > at + 2 && static_cast<unsigned char>(start[at + 2]) >= 0x20;
}

Result<Profile> read_xplane(TraceInput& input) {
  const auto names = read_names(input);
  if (!names) return std::unexpected(names.error());
  return XplaneReader(input, *names).read();
}

class XplanePlacer::Impl {
 public:
  Impl(const std::vector<PlaneNames>& names, const ProfileLimits& limits)
      : nothing_(TraceInput::of_bytes("", "", limits)), reader_(nothing_, names) {}
  XplaneReader& reader() { return reader_; }

 private:
  TraceInput nothing_;
  XplaneReader reader_;
};
XplanePlacer::XplanePlacer(const std::vector<PlaneNames>& names, const ProfileLimits& limits)
    : impl_(std::make_unique<Impl>(names, limits)) {}
XplanePlacer::~XplanePlacer() = default;

void XplanePlacer::begin_plane(std::size_t number) { impl_->reader().begin_plane(number); }
std::int64_t XplanePlacer::line_begin(std::int64_t timestamp_ns) const { return impl_->reader().line_begin(timestamp_ns); }

std::optional<PlacedXEvent> XplanePlacer::place(std::string_view bytes) {
  ProfileEvent event;
  Told told;
  if (impl_->reader().interpret(bytes, event, told) != XplaneReader::Found::event) return std::nullopt;
  return PlacedXEvent{event.begin, event.duration, impl_->reader().name(event.name)};
}

}  // namespace joulery
