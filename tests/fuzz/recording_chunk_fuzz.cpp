// Any bytes as a packed chunk: refused or unpacked, never a crash, never more memory than the declared rows. What the
// packer makes of the same bytes taken as values must come back.
#include <cstdlib>
#include <cstring>

#include "record/chunk.h"

namespace {

using namespace joulery;

// Bytes 0 and 1: how many rows; byte 2: how many channels; the rest is the blob.
void unpack(std::span<const std::uint8_t> data) {
  const std::size_t rows = data[0] + 256u * (data[1] & 31u), channels = data[2] % 5u;
  ChunkCodec codec;
  std::vector<MonoTime> before(rows), after(rows);
  std::vector<std::vector<std::int64_t>> raw(channels, std::vector<std::int64_t>(rows));
  std::vector<std::vector<MissingReason>> reason(channels, std::vector<MissingReason>(rows));
  RoundTarget target{before.data(), after.data(), {}, {}};
  for (std::size_t c = 0; c < channels; ++c) {
    target.raw.push_back(c == 3 ? nullptr : raw[c].data());
    target.reason.push_back(c == 2 ? nullptr : reason[c].data());
  }
  (void)codec.unpack(data.subspan(3), rows, target);
  MarkColumns marks;
  (void)codec.unpack(data.subspan(3), rows, marks);
}

void round_trip(std::span<const std::uint8_t> data) {
  std::vector<std::int64_t> values(data.size() / 8), decoded(values.size());
  if (!values.empty()) std::memcpy(values.data(), data.data(), values.size() * 8);
  ColumnCodec codec;
  Bytes bytes;
  codec.encode(values, bytes);
  ByteReader in(bytes);
  if (!codec.decode(in, decoded) || !in.at_end() || decoded != values) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  unpack({data, size});
  round_trip({data, size});
  return 0;
}
