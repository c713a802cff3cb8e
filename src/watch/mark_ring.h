// The layout of a mark ring: the file that a marked program writes and `joulery run` reads.
// One file per process, in the directory that the environment variable JOULERY_RING names.
//
//   offset       bytes              what
//   0            4096               RingHeader
//   4096         1024 * 128         RingName, the slot's index + 1 is the name's id
//   135168       32768 * 32         RingRecord, record `s` lies in slot s % 32768
//
// All numbers are in the machine's own byte order: writer and reader share one kernel.
//
// Invariant: a record is whole when its `commit` equals its sequence number + 1, which is stored last
// (release). A slot is written again only after the reader has moved `tail` past it. Writers claim
// `head` by compare-and-swap, so a full ring drops the new mark and never one that was not read yet.
#pragma once

#include <cstddef>
#include <cstdint>

namespace joulery {

inline constexpr const char* ring_environment_variable = "JOULERY_RING";
inline constexpr const char* ring_suffix = ".ring";      // PID.NONCE.ring
inline constexpr const char* failed_suffix = ".failed";  // PID.NONCE.failed: a process that found no room for its ring

inline constexpr std::uint64_t ring_magic = 0x31474e52594c554aULL;  // "JULYRNG1"
inline constexpr std::uint32_t ring_layout = 1;
inline constexpr std::size_t ring_names = 1024;
inline constexpr std::size_t ring_records = 32768;
inline constexpr std::size_t ring_name_bytes = 119;

struct RingHeader {
  std::uint64_t magic;        // 0: ring_magic, stored last: before that there is no ring yet
  std::uint32_t layout;       // 8: ring_layout
  std::int32_t pid;           // 12: as the process itself sees it
  std::uint32_t names;        // 16: ring_names
  std::uint32_t records;      // 20: ring_records
  unsigned char pad0[40];
  std::uint64_t head;         // 64: next sequence number to claim; writers
  unsigned char pad1[56];
  std::uint64_t tail;         // 128: next sequence number to read; the reader alone
  unsigned char pad2[56];
  std::uint64_t lost;         // 192: marks dropped; writers
  unsigned char pad3[3896];
};

struct RingName {
  std::uint64_t length;           // 0: bytes of text, stored last: 0 while there is none
  char text[ring_name_bytes + 1]; // 8: UTF-8, not terminated
};

struct RingRecord {
  std::uint64_t commit;  // 0: sequence number + 1 once the rest is written
  std::int64_t time_ns;  // 8: CLOCK_MONOTONIC
  double value;          // 16
  std::uint32_t tid;     // 24: as the process itself sees it
  std::uint16_t name;    // 28: id: slot index + 1
  std::uint16_t kind;    // 30: a JOULERY_* kind
};

static_assert(sizeof(RingHeader) == 4096 && offsetof(RingHeader, head) == 64 && offsetof(RingHeader, tail) == 128);
static_assert(offsetof(RingHeader, lost) == 192 && sizeof(RingName) == 128 && sizeof(RingRecord) == 32);

inline constexpr std::size_t ring_names_at = sizeof(RingHeader);
inline constexpr std::size_t ring_records_at = ring_names_at + ring_names * sizeof(RingName);
inline constexpr std::size_t ring_bytes = ring_records_at + ring_records * sizeof(RingRecord);

}  // namespace joulery
