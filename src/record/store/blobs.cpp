#include "record/store/blobs.h"

#include <zstd.h>

#include <algorithm>

namespace joulery {
namespace {

enum class Form : std::uint8_t { plain, zstd };
enum class Held : std::uint8_t { as_covered, own };

// All rows of a pack's entry, as runs: how many, then for each how far behind the end of the one before, and how long.
void put_runs(std::span<const std::uint32_t> rows, Bytes& out) {
  Bytes runs;
  std::uint64_t count = 0, end = 0;
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t next = i + 1;
    while (next < rows.size() && rows[next] == rows[next - 1] + 1) ++next;
    put_varint(runs, rows[i] - end);
    put_varint(runs, next - i);
    end = std::uint64_t{rows[next - 1]} + 1;
    i = next;
    ++count;
  }
  put_varint(out, count);
  out.insert(out.end(), runs.begin(), runs.end());
}

bool take_runs(ByteReader& in, std::size_t limit, std::vector<std::uint32_t>& rows) {
  std::uint64_t count = in.varint(), end = 0;
  if (!in.ok() || count > limit) return false;
  for (; count > 0; --count) {
    const std::uint64_t gap = in.varint(), length = in.varint();
    if (!in.ok() || length == 0 || gap > limit || length > limit || end + gap + length > limit) return false;
    for (std::uint64_t i = 0; i < length; ++i) rows.push_back(static_cast<std::uint32_t>(end + gap + i));
    end += gap + length;
  }
  return true;
}

bool as_covered(const SeriesRows& of, const Coverage& coverage) {
  for (std::size_t i = 0; i < of.rows.size(); ++i) {
    if (of.held[i] != coverage[of.rows[i]]) return false;
  }
  return true;
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

}  // namespace

Squeezer::Squeezer() : compress_(ZSTD_createCCtx()), decompress_(ZSTD_createDCtx()) {}
Squeezer::~Squeezer() {
  ZSTD_freeCCtx(static_cast<ZSTD_CCtx*>(compress_));
  ZSTD_freeDCtx(static_cast<ZSTD_DCtx*>(decompress_));
}

void Squeezer::squeeze(std::span<const std::uint8_t> plain, int level, Bytes& out) {
  const std::size_t begin = out.size();
  out.push_back(static_cast<std::uint8_t>(Form::zstd));
  put_varint(out, plain.size());
  const std::size_t head = out.size();
  out.resize(head + ZSTD_compressBound(plain.size()));
  const std::size_t size =
      ZSTD_compressCCtx(static_cast<ZSTD_CCtx*>(compress_), out.data() + head, out.size() - head, plain.data(), plain.size(), level);
  if (!ZSTD_isError(size) && size < plain.size()) return out.resize(head + size);
  out.resize(head);
  out[begin] = static_cast<std::uint8_t>(Form::plain);
  out.insert(out.end(), plain.begin(), plain.end());
}

bool Squeezer::stretch(std::span<const std::uint8_t> packed, std::size_t most, Bytes& plain) {
  ByteReader in(packed);
  const std::uint8_t form = in.byte();
  const std::uint64_t size = in.varint();
  if (!in.ok() || form > static_cast<std::uint8_t>(Form::zstd) || size > most) return false;
  const auto rest = in.rest();
  if (form == static_cast<std::uint8_t>(Form::plain)) {
    plain.assign(rest.begin(), rest.end());
    return plain.size() == size;
  }
  // A frame of zstd blocks holds at most 128 KiB for every three bytes of it.
  if (size / 43'000 > rest.size()) return false;
  plain.resize(size);
  return ZSTD_decompressDCtx(static_cast<ZSTD_DCtx*>(decompress_), plain.data(), size, rest.data(), rest.size()) == size;
}

// Numbers first, then counts: each stream squeezes better by itself.
void put_tail(std::span<const FileSample> samples, Squeezer& squeezer, Bytes& work, Bytes& out) {
  work.clear();
  put_varint(work, samples.size());
  std::int64_t before = 0;
  for (const FileSample& sample : samples) {
    put_signed(work, minus(sample.series, before + 1));
    before = sample.series;
  }
  for (const FileSample& sample : samples) put_signed(work, sample.count);
  squeezer.squeeze(work, 1, out);
}

bool take_tail(std::span<const std::uint8_t> blob, Squeezer& squeezer, Bytes& work, std::vector<FileSample>& samples) {
  if (!squeezer.stretch(blob, most_tail_samples * 20, work)) return false;
  ByteReader in(work);
  const std::uint64_t count = in.varint();
  if (!in.ok() || count > work.size() || count > most_tail_samples) return false;  // each takes two bytes at least
  const std::size_t begin = samples.size();
  samples.resize(begin + count);
  std::int64_t before = 0;
  for (std::size_t i = begin; i < samples.size(); ++i) {
    before = plus(before, plus(in.signed_varint(), 1));
    samples[i].series = before;
  }
  for (std::size_t i = begin; i < samples.size(); ++i) samples[i].count = in.signed_varint();
  if (in.ok() && in.at_end()) return true;
  samples.resize(begin);
  return false;
}

void PackBuilder::add(std::int64_t series, const SeriesRows& rows, const Coverage* coverage, ColumnCodec& codec) {
  const std::size_t begin = entries_.size();
  put_runs(rows.rows, entries_);
  codec.encode(rows.counts, entries_);
  if (!rows.held.empty()) {
    const bool covered = coverage != nullptr && as_covered(rows, *coverage);
    entries_.push_back(static_cast<std::uint8_t>(covered ? Held::as_covered : Held::own));
    if (!covered) codec.encode(rows.held, entries_);
  }
  numbers_.push_back(series);
  sizes_.push_back(entries_.size() - begin);
}

Bytes PackBuilder::take() {
  Bytes blob;
  put_varint(blob, numbers_.size());
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    put_varint(blob, i == 0 ? 0 : static_cast<std::uint64_t>(numbers_[i] - numbers_[i - 1] - 1));
    put_varint(blob, sizes_[i]);
  }
  blob.insert(blob.end(), entries_.begin(), entries_.end());
  numbers_.clear();
  sizes_.clear();
  entries_.clear();
  return blob;
}

bool PackReader::open(std::span<const std::uint8_t> blob, std::int64_t first) {
  numbers_.clear();
  entries_.clear();
  ByteReader in(blob);
  const std::uint64_t count = in.varint();
  if (!in.ok() || count > blob.size()) return false;
  std::vector<std::uint64_t> sizes;
  std::int64_t number = first;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t gap = in.varint();
    if (!in.ok() || gap > std::uint64_t{1} << 56) return false;
    number = i == 0 ? first : plus(number, static_cast<std::int64_t>(gap) + 1);
    if (i > 0 && number <= numbers_.back()) return false;
    numbers_.push_back(number);
    sizes.push_back(in.varint());
  }
  for (const std::uint64_t size : sizes) entries_.push_back(in.take(size));
  return in.ok() && in.at_end();
}

bool PackReader::unpack(std::size_t i, std::size_t row_limit, bool roll_up, const Coverage* coverage, ColumnCodec& codec,
                        SeriesRows& rows) const {
  rows.clear();
  ByteReader in(entries_[i]);
  if (!take_runs(in, std::min(row_limit, most_block_rows), rows.rows)) return false;
  rows.counts.resize(rows.rows.size());
  if (!codec.decode(in, rows.counts)) return false;
  if (!roll_up || rows.rows.empty()) return in.at_end();
  rows.held.resize(rows.rows.size());
  const std::uint8_t held = in.byte();
  if (!in.ok() || held > static_cast<std::uint8_t>(Held::own)) return false;
  if (held == static_cast<std::uint8_t>(Held::own)) return codec.decode(in, rows.held) && in.at_end();
  if (coverage == nullptr || coverage->size() < row_limit) return false;
  for (std::size_t r = 0; r < rows.rows.size(); ++r) rows.held[r] = (*coverage)[rows.rows[r]];
  return in.at_end();
}

void put_times(const BlockTimes& times, ColumnCodec& codec, Bytes& out) {
  codec.encode(times.begin, out);
  codec.encode(times.length, out);
}

bool take_times(std::span<const std::uint8_t> blob, std::size_t rows, ColumnCodec& codec, BlockTimes& times) {
  if (rows > most_block_rows) return false;
  times.begin.resize(rows);
  times.length.resize(rows);
  ByteReader in(blob);
  return codec.decode(in, times.begin) && codec.decode(in, times.length) && in.at_end();
}

}  // namespace joulery
