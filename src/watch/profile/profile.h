// What a profiler saw, in memory: tracks of events, whatever format they came in. The readers fill it, seal() makes it
// ready, and everything that joins a trace with energy reads it.
//
// It is compact, because a trace of a gigabyte must fit in a fifth of it: an event is 32 bytes, names are interned, and an
// event's track is the column that holds it.
//
// Invariant, after seal(): the events of a track are by begin, then by falling duration, and nest: an event that begins
// within another ends within it (one that ran over its parent was cut at the parent's end, and is counted in `cut`). Steps,
// and annotations that begin inside one event and end outside of it, are in a `summary` track beside their thread's.
// No duration is negative. Every NameId is below names.size(). Steps are by begin, and one run of a step is there once.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "watch/profile/name_table.h"

namespace joulery {

// What an event is. The order is no rank.
enum class EventKind : std::uint8_t {
  op,          // an operator of the framework, on the host: aten::conv2d, MatMul
  kernel,      // a program on the device
  copy,        // memory copied or set by the device
  runtime,     // a call of the device's runtime or driver by the host: cudaLaunchKernel; waits are `sync`
  sync,        // the host waits for the device
  python,      // a function of the interpreter
  module,      // a layer, as the framework names it: nn.Module: Linear_0
  step,        // one step of the training or serving loop
  annotation,  // a range that the user or the framework named, input stalls with it
  overhead,    // of the profiler itself
};

inline constexpr int event_kinds = 10;
std::string_view name_of(EventKind kind);

// Where a track's events ran. Only `thread` and `stream` are work; a `summary` tells the same time once more.
enum class TrackKind : std::uint8_t { thread, stream, summary };

inline constexpr std::uint32_t no_link = 0;   // of ProfileEvent::correlation and ::external

struct ProfileEvent {
  std::int64_t begin = 0;         // ns of the profile's clock
  std::int64_t duration = 0;      // ns
  NameId name = 0;
  // Pairs a runtime call with the kernel that it launched. Of an op: the number of the autograd sequence, forward and
  // backward alike. Of a step: its number + 1. Each of these ids is kept modulo 2^32.
  std::uint32_t correlation = no_link;
  std::uint32_t external = no_link;  // the op that launched: that op's own id, and of its runtime calls and kernels
  NameId layer : 24 = 0;          // path of the module or name scope that it belongs to: "net/conv1"; 0: none known
  EventKind kind : 8 = EventKind::op;

  std::int64_t end() const { return begin + duration; }
};
static_assert(sizeof(ProfileEvent) == 32);

struct ProfileTrack {
  TrackKind kind = TrackKind::thread;
  std::string name;               // "thread 4242 (python)", "stream 7"
  std::int64_t process = 0;       // the operating system's id; 0 where not known
  std::int64_t thread = 0;        // the thread's id, or the stream's
  int device = -1;                // ordinal of the accelerator, -1: the host
  std::deque<ProfileEvent> events;
};

// One run of a step, host and device copies merged.
struct ProfileStep {
  std::int64_t begin = 0, end = 0;
  std::int64_t number = -1;       // of ProfilerStep#N, or the step_num; -1 where none
  NameId name = 0;
};

// What is known of all events of one name together, beside their time.
struct NameFacts {
  double flops = 0, bytes = 0;    // sums over its events, 0 where not told
  double occupancy_ns = 0;        // sum of (occupancy as a ratio × duration)
  std::int64_t occupied_ns = 0;   // sum of the durations that told an occupancy
  std::int64_t events = 0;        // that told anything
};

// Memory of one device as the framework's allocator told it.
struct ProfileMemory {
  int device = -1;                // -1: the host
  std::int64_t peak_used = 0, peak_reserved = 0;  // bytes; 0 where not told
  std::int64_t samples = 0;
};

// What the times of a profile count from.
enum class ProfileClock : std::uint8_t {
  wall,        // ns since 1970 UTC
  monotonic,   // the host's CLOCK_MONOTONIC
  relative,    // an origin that the trace does not tell
};

struct ProfileDevice {
  int ordinal = 0;
  std::string name;               // "NVIDIA A100", "" where not told
};

struct Profile {
  std::string format;             // "kineto", "chrome-json", "xplane", "nsys-sqlite", "perfetto"
  std::string framework;          // "pytorch", "tensorflow", "jax", "" where not told
  ProfileClock clock = ProfileClock::relative;
  std::int64_t base_ns = 0;       // what was added to every time that the trace tells
  NameTable names;                // names[0] is ""
  // In the order in which the trace names them, and the steps' behind them; some may be empty. A deque, for a growing vector would copy the events.
  std::deque<ProfileTrack> tracks;
  std::vector<ProfileStep> steps;
  std::vector<ProfileMemory> memory;
  std::vector<ProfileDevice> devices;
  std::unordered_map<NameId, NameFacts> facts;
  std::vector<std::string> notes;  // told to the user: "12 events with a negative duration were left out"
  std::int64_t begin = 0, end = 0;  // of all events of threads and streams and of all steps; begin == end where there is none
  std::int64_t cut = 0;  // events that ran over their parent

  std::string_view name(NameId id) const { return names[id]; }
  std::size_t event_count() const;
};

}  // namespace joulery
