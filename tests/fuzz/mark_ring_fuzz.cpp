// A ring of marks with anything in it, read as `joulery run` reads it: no crash, no undefined behaviour, and nothing
// given out that a mark cannot be. The input is laid over a valid ring: [flags][400 bytes of header][names and records...].
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "watch/mark_reader.h"
#include "watch/mark_ring.h"
#include "watch/ring_directory.h"

namespace {

using namespace joulery;

RingHeader valid_header() {
  RingHeader header{};
  header.magic = ring_magic;
  header.layout = ring_layout;
  header.names = ring_names;
  header.records = ring_records;
  return header;
}

void put(int file, const void* bytes, std::size_t count, std::size_t at) {
  if (pwrite(file, bytes, count, static_cast<off_t>(at)) != static_cast<ssize_t>(count)) std::abort();
}

// flags: 1 the header is the input's, 2 half of the rest are names, 4 the file is cut short, 8 ticks of the processor,
// 16 the records are of a thread's own lane.
void write_ring(const std::string& path, const std::uint8_t* data, std::size_t size) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const std::uint8_t flags = size > 0 ? data[0] : 0;
  if (ftruncate(file, static_cast<off_t>(ring_bytes)) != 0) std::abort();
  RingHeader header = valid_header();
  const std::size_t head = std::min<std::size_t>(size > 0 ? size - 1 : 0, 400);
  if ((flags & 1) != 0) std::memcpy(&header, data + 1, head);
  const std::uint8_t* rest = data + 1 + head;
  const std::size_t left = size > 1 + head ? size - 1 - head : 0, names = (flags & 2) != 0 ? left / 2 : 0;
  if ((flags & 8) != 0) header.clock = RingClock::tsc;
  const std::size_t lane = (flags & 16) != 0 ? 1 : 0;
  if ((flags & 1) == 0) header.lanes[lane].head = (left - names) / sizeof(RingRecord);
  put(file, &header, sizeof header, 0);
  if (names > 0) put(file, rest, std::min(names, ring_names * sizeof(RingName)), ring_names_at);
  if (left > names)
    put(file, rest + names, std::min(left - names, lane_records(lane) * sizeof(RingRecord)),
        ring_records_at + lane_begin(lane) * sizeof(RingRecord));
  if ((flags & 4) != 0 && ftruncate(file, static_cast<off_t>(size * 64)) != 0) std::abort();
  close(file);
}

void check(const Mark& mark) {
  if (mark.name.empty() || mark.time.ns < 0 || !std::isfinite(mark.value) || mark.kind > MarkKind::work) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const RingDirectory directory = RingDirectory::make().value();
  const std::string path = directory.path() + "/1.f.ring";
  write_ring(path, data, size);
  MarkReader reader(directory.path());
  const int writer = open(path.c_str(), O_RDWR | O_CLOEXEC);  // as long as it is open the writer counts as living
  for (const Mark& mark : reader.drain()) check(mark);
  close(writer);
  for (const Mark& mark : reader.drain()) check(mark);
  for (const Mark& mark : reader.finish()) check(mark);
  if (reader.lost() < 0) std::abort();
  unlink(path.c_str());
  return 0;
}
