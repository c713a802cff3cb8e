// The layout of a mark ring: the file that a marked program writes and `joulery run` reads.
// One file per process, in the directory that the environment variable JOULERY_RING names.
//
//   offset       bytes              what
//   0            4096               RingHeader
//   4096         1024 * 128         RingName, the slot's index + 1 is the name's id
//   135168       57344 * 32         RingRecord, lane after lane; in a lane of n, record `s` lies in slot s % n
//
// All numbers are in the machine's own byte order: writer and reader share one kernel.
//
// A ring has a shared lane, where every thread may write, and a few that belong to one thread each for as long as it
// lives: there a mark needs no locked instruction. A thread that finds none free, or its own full, uses the shared one.
//
// Invariant: a record is whole when its `commit` equals its sequence number + 1, which is stored last
// (release). A slot is written again only after the reader has moved its lane's `tail` past it. Writers claim
// `head` by compare-and-swap, so a full ring drops the new mark and never one that was not read yet.
#pragma once

#include <cstddef>
#include <cstdint>

namespace joulery {

inline constexpr const char* ring_environment_variable = "JOULERY_RING";
inline constexpr const char* ring_suffix = ".ring";      // PID.NONCE.ring
inline constexpr const char* failed_suffix = ".failed";  // PID.NONCE.failed: a process that found no room for its ring

inline constexpr std::uint64_t ring_magic = 0x31474e52594c554aULL;  // "JULYRNG1"
inline constexpr std::uint32_t ring_layout = 2;
inline constexpr std::size_t ring_names = 1024;
inline constexpr std::size_t ring_lanes = 4;  // lane 0 is shared
inline constexpr std::size_t shared_lane_records = 32768, own_lane_records = 8192;
inline constexpr std::size_t ring_records = shared_lane_records + (ring_lanes - 1) * own_lane_records;
inline constexpr std::size_t ring_name_bytes = 119;

// What RingRecord::time counts.
enum class RingClock : std::uint32_t {
  monotonic_ns = 0,  // CLOCK_MONOTONIC
  tsc = 1,           // the processor's time-stamp counter, where the kernel keeps its own time by it: half the price
};

struct RingLane {
  std::uint64_t head;   // 0: next sequence number to claim; writers
  unsigned char pad0[56];
  std::uint64_t tail;   // 64: next sequence number to read; the reader alone
  unsigned char pad1[56];
  std::uint32_t owned;  // 128: 1 while a thread has it; of lane 0 always 0
  unsigned char pad2[60];
};

struct RingHeader {
  std::uint64_t magic;        // 0: ring_magic, stored last: before that there is no ring yet
  std::uint32_t layout;       // 8: ring_layout
  std::int32_t pid;           // 12: as the process itself sees it
  std::uint32_t names;        // 16: ring_names
  std::uint32_t records;      // 20: ring_records
  RingClock clock;            // 24: of all records
  unsigned char pad0[36];
  std::uint64_t lost;         // 64: marks dropped; writers
  unsigned char pad1[120];
  RingLane lanes[ring_lanes];  // 192
  unsigned char pad2[3136];
};

struct RingName {
  std::uint64_t length;           // 0: bytes of text, stored last: 0 while there is none
  char text[ring_name_bytes + 1]; // 8: UTF-8, not terminated
};

struct RingRecord {
  std::uint64_t commit;  // 0: sequence number + 1 once the rest is written
  std::uint64_t time;    // 8: in ticks of the header's clock
  double value;          // 16
  std::uint32_t tid;     // 24: as the process itself sees it
  std::uint16_t name;    // 28: id: slot index + 1
  std::uint16_t kind;    // 30: a JOULERY_* kind
};

static_assert(sizeof(RingLane) == 192 && offsetof(RingLane, tail) == 64 && offsetof(RingLane, owned) == 128);
static_assert(sizeof(RingHeader) == 4096 && offsetof(RingHeader, lost) == 64 && offsetof(RingHeader, lanes) == 192);
static_assert(sizeof(RingName) == 128 && sizeof(RingRecord) == 32);

constexpr std::size_t lane_records(std::size_t lane) { return lane == 0 ? shared_lane_records : own_lane_records; }
// The first record of a lane in the row of all records.
constexpr std::size_t lane_begin(std::size_t lane) { return lane == 0 ? 0 : shared_lane_records + (lane - 1) * own_lane_records; }

inline constexpr std::size_t ring_names_at = sizeof(RingHeader);
inline constexpr std::size_t ring_records_at = ring_names_at + ring_names * sizeof(RingName);
inline constexpr std::size_t ring_bytes = ring_records_at + ring_records * sizeof(RingRecord);

}  // namespace joulery
