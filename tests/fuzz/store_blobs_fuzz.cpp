// The blobs of the agent's store: whatever the bytes, reading them neither crashes nor allocates without bound; what can be
// read is read the same after it was written again.
#include <cstdlib>

#include "record/store/blobs.h"
#include "record/store/series.h"

namespace {

using namespace joulery;

void check_tail(std::span<const std::uint8_t> bytes) {
  Squeezer squeezer;
  Bytes work, again;
  std::vector<FileSample> samples, second;
  if (!take_tail(bytes, squeezer, work, samples)) return;
  put_tail(samples, squeezer, work, again);
  if (!take_tail(again, squeezer, work, second) || second.size() != samples.size()) std::abort();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].series != second[i].series || samples[i].count != second[i].count) std::abort();
  }
}

void check_pack(std::span<const std::uint8_t> bytes, std::size_t rows, bool roll_up) {
  PackReader pack;
  if (!pack.open(bytes, 0)) return;
  ColumnCodec codec;
  SeriesRows of, second;
  const Coverage coverage(rows, 1000);
  for (std::size_t i = 0; i < pack.size(); ++i) {
    if (!pack.unpack(i, rows, roll_up, &coverage, codec, of)) continue;
    PackBuilder builder;
    builder.add(pack.number(i), of, &coverage, codec);
    const Bytes blob = builder.take();
    PackReader again;
    if (!again.open(blob, pack.number(i)) || !again.unpack(0, rows, roll_up && !of.rows.empty(), &coverage, codec, second)) std::abort();
    if (second.rows != of.rows || second.counts != of.counts || second.held != of.held) std::abort();
  }
}

void check_keys(std::span<const std::uint8_t> bytes) {
  ByteReader in(bytes);
  while (!in.at_end()) {
    const auto key = take_key(in);
    if (!key) return;
    Bytes again;
    put_key(owned(*key), again);
    (void)glob_matches(key->name, key->label("name"));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::span bytes(data + 3, size - 3);
  const std::size_t rows = data[1] | std::size_t{data[2]} << 8;
  if (data[0] % 4 == 0) check_tail(bytes);
  if (data[0] % 4 == 1) check_pack(bytes, rows, false);
  if (data[0] % 4 == 2) check_pack(bytes, rows, true);
  if (data[0] % 4 == 3) check_keys(bytes);
  ColumnCodec codec;
  BlockTimes times;
  (void)take_times(bytes, rows, codec, times);
  return 0;
}
