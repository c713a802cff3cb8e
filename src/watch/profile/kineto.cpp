#include "watch/profile/kineto.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <vector>

#include "watch/profile/chrome_scanner.h"
#include "watch/profile/device_lines.h"
#include "watch/profile/profile_builder.h"

namespace joulery {
namespace {

struct Category {
  std::string_view name;
  EventKind kind;
  TrackKind track;
};

// Kineto's categories, libkineto/src/output_json.cpp and older files. What is not here is an annotation of a thread.
constexpr Category categories[] = {
    {"cpu_op", EventKind::op, TrackKind::thread},
    {"kernel", EventKind::kernel, TrackKind::stream},
    {"gpu_memcpy", EventKind::copy, TrackKind::stream},
    {"gpu_memset", EventKind::copy, TrackKind::stream},
    {"cuda_runtime", EventKind::runtime, TrackKind::thread},
    {"cuda_driver", EventKind::runtime, TrackKind::thread},
    {"privateuse1_runtime", EventKind::runtime, TrackKind::thread},
    {"xpu_runtime", EventKind::runtime, TrackKind::thread},
    {"python_function", EventKind::python, TrackKind::thread},
    {"user_annotation", EventKind::annotation, TrackKind::thread},
    {"gpu_user_annotation", EventKind::annotation, TrackKind::summary},
    {"cuda_sync", EventKind::sync, TrackKind::summary},
    {"cuda_profiler_range", EventKind::kernel, TrackKind::summary},
    {"overhead", EventKind::overhead, TrackKind::summary},
    {"Trace", EventKind::annotation, TrackKind::summary},
    {"Operator", EventKind::op, TrackKind::thread},            // before 2022
    {"Kernel", EventKind::kernel, TrackKind::stream},
    {"Memcpy", EventKind::copy, TrackKind::stream},
    {"Memset", EventKind::copy, TrackKind::stream},
    {"Runtime", EventKind::runtime, TrackKind::thread},
    {"Python", EventKind::python, TrackKind::thread},
};
constexpr Category unknown{"", EventKind::annotation, TrackKind::thread};
// Without a category: an operator, as far as anybody can tell.
constexpr Category uncategorised{"", EventKind::op, TrackKind::thread};

constexpr std::int64_t least_wall_ns = 1'000'000'000'000'000'000;   // 2001: what counts from less is no wall clock
constexpr std::string_view module_prefix = "nn.Module: ";
// Calls of CUDA's and HIP's runtime in which the host waits.
constexpr std::string_view waits[] = {"Synchronize", "StreamWait", "EventQuery"};

std::string_view inside(std::string_view quoted) {
  return quoted.size() >= 2 && quoted.front() == '"' ? quoted.substr(1, quoted.size() - 2) : quoted;
}

double number(std::string_view token) {
  double value = 0;
  token = inside(token);
  std::from_chars(token.data(), token.data() + token.size(), value);
  return value;
}

class KinetoReader {
 public:
  KinetoReader(TraceInput* input, const ProfileLimits& limits) : input_(input), builder_("chrome-json", limits) {}

  struct Placed {
    std::uint32_t track;
    ProfileEvent event;
  };
  // What an event of the file is, and where it belongs; nothing for what takes no time.
  std::optional<Placed> place(const ChromeEvent& event) {
    const std::string_view ph = inside(event.ph);
    if (ph.size() != 1) return std::nullopt;
    switch (ph[0]) {
      case 'X': return place_complete(event);
      case 'B': add_start(event); return std::nullopt;
      case 'E': return place_end(event);
      default: return std::nullopt;
    }
  }
  std::string_view name(NameId id) { return builder_.profile().names[id]; }

  Result<Profile> read() {
    ChromeScanner scanner(*input_);
    for (;;) {
      const auto item = scanner.next();
      if (!item) return std::unexpected(item.error());
      if (*item == ChromeScanner::Item::end) break;
      if (*item == ChromeScanner::Item::event) add(scanner.event());
      if (*item == ChromeScanner::Item::events_end) saw_events_ = true;
      if (*item == ChromeScanner::Item::value) add_value(scanner.key(), scanner.value());
      if (builder_.full() || starts_bytes_ > input_->limits().memory / 4) return builder_.too_big(*input_);
    }
    if (!saw_events_)
      return fail(ErrorCode::format, "the JSON has no traceEvents", input_->name(), "is it a profile? an execution trace holds no times");
    return finish();
  }

 private:
  struct Start {
    std::int64_t ts;
    NameId name;
    const Category* category;
  };

  void add(const ChromeEvent& event) {
    const std::string_view ph = inside(event.ph);
    if (ph == "M") return add_metadata(event);
    if (ph == "i" || ph == "I") return add_instant(event);
    const auto placed = place(event);      // flows and counters have no place: the links are in the arguments
    if (!placed) return;
    builder_.add(placed->track, placed->event);
    add_facts(placed->event, event);
  }

  NameId name_of_token(std::string_view token) {
    const std::string_view text = inside(token);
    if (text.find('\\') == std::string_view::npos) return builder_.profile().names.add(text);
    return builder_.profile().names.add(unescape_json(text));
  }

  const Category& category_of(std::string_view token) {
    if (token.empty()) return uncategorised;
    if (token == last_category_token_) return *last_category_;
    const std::string_view text = inside(token);
    const auto found = std::ranges::find(categories, text, &Category::name);
    last_category_ = found == std::end(categories) ? &unknown : &*found;
    last_category_token_ = found == std::end(categories) ? std::string(token) : "\"" + std::string(text) + "\"";
    if (found != std::end(categories)) kineto_ = true;
    return *last_category_;
  }

  std::uint32_t track_of(const ChromeEvent& event, const Category& category) {
    const std::string_view tid = inside(event.tid);
    if (category.track != TrackKind::stream) return builder_.track(inside(event.pid), tid, category.track);
    const std::string_view device = event.device.empty() ? inside(event.pid) : event.device;
    const std::uint32_t track = builder_.track(device, tid, TrackKind::stream);
    ProfileTrack& made = builder_.profile().tracks[track];
    if (made.device < 0) {
      std::int64_t ordinal = 0;
      made.device = integer_token(device, ordinal) && ordinal >= 0 && ordinal < 65536 ? static_cast<int>(ordinal) : 0;
      made.process = 0;
    }
    return track;
  }

  // PyTorch's own bookkeeping.
  static bool is_bookkeeping(std::string_view pid) {
    return !pid.empty() && pid.front() == '"' && (pid == "\"Spans\"" || pid == "\"Traces\"");
  }

  std::optional<Placed> place_complete(const ChromeEvent& raw) {
    if (is_bookkeeping(raw.pid)) return std::nullopt;
    std::int64_t begin = 0, duration = 0;
    if (!microseconds_token(raw.ts, begin) || (!raw.dur.empty() && !microseconds_token(raw.dur, duration))) {
      builder_.count_left_out();
      return std::nullopt;
    }
    return place_event(raw, category_of(raw.cat), begin, duration, name_of_token(raw.name));
  }

  Placed place_event(const ChromeEvent& raw, const Category& category, std::int64_t begin, std::int64_t duration, NameId name) {
    ProfileEvent event{.begin = begin, .duration = duration, .name = name, .kind = category.kind};
    refine(event, raw);
    std::int64_t id = 0;
    if (event.kind != EventKind::step) {
      if (integer_token(event.kind == EventKind::op ? raw.sequence : raw.correlation, id) && id >= 0)
        event.correlation = ProfileBuilder::link(id);
      if (integer_token(raw.external, id) && id > 0) event.external = ProfileBuilder::link(id);
    }
    if (const std::string_view path = inside(raw.module_path); !path.empty())
      event.layer = builder_.layer(path) & 0xffffff;
    else if (!raw.op_path.empty())
      event.layer = builder_.layer(scope_of(inside(raw.op_path))) & 0xffffff;
    return {track_of(raw, category), event};
  }

  // What a name says of an event beyond its category.
  void refine(ProfileEvent& event, const ChromeEvent& raw) {
    const std::string_view name = builder_.profile().names[event.name];
    std::int64_t step = -1;
    switch (event.kind) {
      case EventKind::python:
        if (name.starts_with(module_prefix)) event.kind = EventKind::module;
        break;
      case EventKind::runtime:
        if (std::ranges::any_of(waits, [&](std::string_view wait) { return name.find(wait) != std::string_view::npos; }))
          event.kind = EventKind::sync;
        break;
      case EventKind::annotation:
      case EventKind::op:
        if (raw.step_number.empty() || !integer_token(raw.step_number, step)) step = name.size() < 64 ? step_number(name) : -1;
        if (step >= 0 && !(event.kind == EventKind::op && !raw.cat.empty())) {
          event.kind = EventKind::step;
          event.correlation = ProfileBuilder::link(step + 1);
        }
        break;
      default: break;
    }
  }

  void add_facts(const ProfileEvent& event, const ChromeEvent& raw) {
    if (raw.occupancy.empty() && raw.bytes.empty() && raw.flops.empty()) return;
    NameFacts& facts = builder_.profile().facts[event.name];
    ++facts.events;
    facts.bytes += number(raw.bytes);
    facts.flops += number(raw.flops);
    if (raw.occupancy.empty() || event.duration < 0) return;
    facts.occupancy_ns += number(raw.occupancy) / 100 * static_cast<double>(event.duration);
    facts.occupied_ns += event.duration;
  }

  void add_start(const ChromeEvent& raw) {
    std::int64_t ts = 0;
    if (!microseconds_token(raw.ts, ts)) return builder_.count_left_out();
    starts_[thread_key(raw)].push_back({ts, name_of_token(raw.name), &category_of(raw.cat)});
    starts_bytes_ += sizeof(Start);
  }
  std::optional<Placed> place_end(const ChromeEvent& raw) {
    auto found = starts_.find(thread_key(raw));
    std::int64_t ts = 0;
    if (found == starts_.end() || found->second.empty() || !microseconds_token(raw.ts, ts)) {
      builder_.count_left_out();
      return std::nullopt;
    }
    const Start start = found->second.back();
    found->second.pop_back();
    starts_bytes_ -= sizeof(Start);
    return place_event(raw, *start.category, start.ts, ts - start.ts, start.name);
  }
  static std::string thread_key(const ChromeEvent& raw) { return std::string(raw.pid) + '\0' + std::string(raw.tid); }

  void add_instant(const ChromeEvent& raw) {
    if (raw.name != "\"[memory]\"") return;
    std::int64_t used = 0, reserved = 0, device = -1, kind = 0;
    integer_token(raw.memory_used, used);
    integer_token(raw.memory_reserved, reserved);
    integer_token(raw.memory_device_kind, kind);
    if (kind != 0) integer_token(raw.memory_device, device);
    builder_.saw_memory(device < 0 || device > 65535 ? -1 : static_cast<int>(device), used, reserved);
  }

  void add_metadata(const ChromeEvent& raw) {
    const std::string_view what = inside(raw.name);
    if (raw.arg_name.empty() || process_names_.size() + thread_names_.size() > 100'000) return;
    const std::string text = unescape_json(inside(raw.arg_name));
    if (what == "process_name") process_names_[std::string(inside(raw.pid))] = text;
    if (what == "thread_name") thread_names_[std::string(inside(raw.pid)) + '/' + std::string(inside(raw.tid))] = text;
  }

  void add_value(std::string_view key, std::string_view value) {
    if (key == "baseTimeNanoseconds") has_base_ = integer_token(value, base_);
    if (key == "schemaVersion" || key == "deviceProperties") kineto_ = true;
    if (key == "deviceProperties") add_devices(value);
  }

  // [{"id": 0, "name": "NVIDIA A100", ...}, ...]
  void add_devices(std::string_view value) {
    std::string copy(value);
    copy.append(TraceInput::padding, '\0');
    JsonCursor json{copy.data(), copy.data() + value.size()};
    if (!json.literal('[')) return;
    while (json.peek() == '{' && builder_.profile().devices.size() < 4096) {
      std::string_view object;
      if (!scan_value(json, object)) return;
      std::string_view id, name;
      std::int64_t ordinal = 0;
      if (top_members(object, id, name) && integer_token(id, ordinal) && ordinal >= 0 && ordinal < 65536)
        builder_.profile().devices.push_back({static_cast<int>(ordinal), unescape_json(inside(name))});
      if (json.peek() != ',') return;
      ++json.at;
    }
  }
  static bool top_members(std::string_view object, std::string_view& id, std::string_view& name) {
    JsonCursor json{object.data() + 1, object.data() + object.size()};
    while (json.peek() == '"') {
      std::string_view key, value;
      if (!scan_string(json, key) || !json.literal(':') || !scan_value(json, value)) return false;
      if (key == "id") id = value;
      if (key == "name") name = value;
      if (json.peek() != ',') break;
      ++json.at;
    }
    return !id.empty();
  }

  Result<Profile> finish() {
    Profile& profile = builder_.profile();
    if (kineto_) profile.format = "kineto";
    if (kineto_) profile.framework = "pytorch";
    std::int64_t open = 0;
    for (const auto& [thread, starts] : starts_) open += std::ssize(starts);
    if (open > 0) builder_.note(std::to_string(open) + " events never ended and were left out");
    name_tracks();
    set_clock();
    return builder_.finish();
  }

  void name_tracks() {
    for (ProfileTrack& track : builder_.profile().tracks) {
      const std::string pid = std::to_string(track.kind == TrackKind::stream ? track.device : track.process);
      const auto thread = thread_names_.find(pid + '/' + std::to_string(track.thread));
      if (thread != thread_names_.end() && !thread->second.empty()) track.name = thread->second;
      const auto process = process_names_.find(pid);
      if (process != process_names_.end() && track.device < 0 && !kineto_) use_device_process(process->second, track);
    }
  }

  // TensorFlow's and JAX's processes are planes: "/device:GPU:0", "/host:CPU".
  void use_device_process(std::string_view process, ProfileTrack& track) {
    if (process.find("/host:CPU") != std::string_view::npos) builder_.profile().framework = "tensorflow or jax";
    const std::optional<int> device = device_of_plane(process);
    if (!device) return;
    track.device = *device;
    track.kind = is_summary_line(track.name) ? TrackKind::summary : TrackKind::stream;
    for (ProfileEvent& event : track.events)
      if (event.kind == EventKind::op || event.kind == EventKind::annotation) event.kind = EventKind::kernel;
  }

  void set_clock() {
    Profile& profile = builder_.profile();
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const ProfileTrack& track : profile.tracks)
      for (const ProfileEvent& event : track.events) least = std::min(least, event.begin);
    const bool moves = has_base_ && base_ > 0 && base_ < std::int64_t{1} << 61;
    if (moves)
      for (ProfileTrack& track : profile.tracks)
        for (ProfileEvent& event : track.events) event.begin += base_;
    if (moves) profile.base_ns = base_;
    const bool any = least != std::numeric_limits<std::int64_t>::max();
    if (any && (moves || least >= least_wall_ns)) profile.clock = ProfileClock::wall;
  }

  TraceInput* input_;
  ProfileBuilder builder_;
  bool saw_events_ = false, kineto_ = false, has_base_ = false;
  std::int64_t base_ = 0;
  std::string last_category_token_;
  const Category* last_category_ = &unknown;
  std::map<std::string, std::vector<Start>> starts_;
  std::size_t starts_bytes_ = 0;
  std::map<std::string, std::string> process_names_, thread_names_;
};

}  // namespace

bool is_json_trace(std::string_view start) {
  const std::size_t first = start.find_first_not_of(" \n\r\t");
  return first != std::string_view::npos && (start[first] == '{' || start[first] == '[');
}

Result<Profile> read_kineto(TraceInput& input) { return KinetoReader(&input, input.limits()).read(); }

class KinetoPlacer::Impl : public KinetoReader {
 public:
  explicit Impl(const ProfileLimits& limits) : KinetoReader(nullptr, limits) {}
};
KinetoPlacer::KinetoPlacer(const ProfileLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}
KinetoPlacer::~KinetoPlacer() = default;

std::optional<PlacedEvent> KinetoPlacer::place(const ChromeEvent& event) {
  const auto placed = impl_->place(event);
  if (!placed) return std::nullopt;
  return PlacedEvent{placed->track, placed->event.begin, placed->event.duration, impl_->name(placed->event.name)};
}

}  // namespace joulery
