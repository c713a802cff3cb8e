#include "record/chunk.h"

#include <algorithm>

namespace joulery {
namespace {

// Whole microseconds; the codec's arithmetic is modulo 2^64, so every time survives.
std::int64_t micros_down(MonoTime t) { return t.ns / 1000 - (t.ns % 1000 < 0 ? 1 : 0); }
std::int64_t micros_up(MonoTime t) { return t.ns / 1000 + (t.ns % 1000 > 0 ? 1 : 0); }

std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
MonoTime at_micros(std::int64_t us) { return {static_cast<std::int64_t>(static_cast<std::uint64_t>(us) * 1000)}; }

template <class T>
void drop(std::vector<T>& from, std::size_t count) {
  from.erase(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(std::min(count, from.size())));
}
template <class T>
std::span<const T> part(const std::vector<T>& of, std::size_t from, std::size_t count) {
  return std::span(of).subspan(from, count);
}

// Status of a channel: 0 where nothing is missing, else 1 and runs of (length, reason) that cover all rows.
void pack_status(std::span<const MissingReason> reasons, Bytes& out) {
  if (std::all_of(reasons.begin(), reasons.end(), [](MissingReason r) { return r == MissingReason::none; })) {
    out.push_back(0);
    return;
  }
  out.push_back(1);
  for (std::size_t begin = 0; begin < reasons.size();) {
    std::size_t end = begin;
    while (end < reasons.size() && reasons[end] == reasons[begin]) ++end;
    put_varint(out, end - begin);
    out.push_back(static_cast<std::uint8_t>(reasons[begin]));
    begin = end;
  }
}

bool unpack_status(ByteReader& in, std::size_t rows, MissingReason* reason) {
  for (std::size_t row = 0; row < rows;) {
    const std::uint64_t length = in.varint();
    const std::uint8_t code = in.byte();
    if (!in.ok() || length == 0 || length > rows - row) return false;
    if (code > static_cast<std::uint8_t>(MissingReason::device_lost)) return false;
    std::fill_n(reason + row, length, static_cast<MissingReason>(code));
    row += length;
  }
  return true;
}

}  // namespace

void RoundColumns::push(MonoTime due, std::span<const Reading> readings) {
  const MonoTime before = readings.empty() ? due : readings.front().before;
  const MonoTime after = readings.empty() ? due : readings.back().after;
  const std::size_t row = rows();
  deadline.push_back(micros_down(due));
  begin.push_back(micros_down(before));
  end.push_back(micros_up(after));
  for (std::size_t c = 0; c < channels.size(); ++c) {
    auto& [raw, reasons] = channels[c];
    const MissingReason reason = c < readings.size() ? readings[c].reason : MissingReason::gone;
    if (reason == MissingReason::none)
      raw.push_back(readings[c].raw);
    else
      raw.push_back(row == 0 ? 0 : raw.back());
    if (reason != MissingReason::none && reasons.empty()) reasons.assign(row, MissingReason::none);
    if (reason != MissingReason::none || !reasons.empty()) reasons.push_back(reason);
  }
}

void RoundColumns::drop_front(std::size_t count) {
  drop(deadline, count);
  drop(begin, count);
  drop(end, count);
  for (auto& channel : channels) {
    drop(channel.raw, count);
    drop(channel.reason, count);
  }
}

ChannelSummary summarise(const RoundColumns::Channel& channel, std::size_t from, std::size_t count) {
  ChannelSummary summary;
  bool any = false;
  for (std::size_t i = from; i < from + count; ++i) {
    if (!channel.reason.empty() && channel.reason[i] != MissingReason::none) {
      ++summary.missing;
      continue;
    }
    const std::int64_t raw = channel.raw[i];
    if (!any) summary.first = summary.last = summary.min = summary.max = raw;
    any = true;
    summary.monotone = summary.monotone && raw >= summary.last;
    summary.min = std::min(summary.min, raw);
    summary.max = std::max(summary.max, raw);
    summary.last = raw;
  }
  return summary;
}

void MarkColumns::drop_front(std::size_t count) {
  for (auto* column : {&time, &pid, &tid, &kind, &name, &value}) drop(*column, count);
}

void ChunkCodec::pack_difference(std::span<const std::int64_t> later, std::span<const std::int64_t> earlier, Bytes& out, Packing packing) {
  work_.resize(later.size());
  for (std::size_t i = 0; i < later.size(); ++i) work_[i] = minus(later[i], earlier[i]);
  columns_.encode(work_, out, packing);
}

// Times as a sampler makes them: deadlines on a grid (which packs to nothing), how late each round began, how long it took.
Bytes ChunkCodec::pack(const RoundColumns& rounds, std::size_t from, std::size_t count, Packing packing) {
  Bytes out;
  const auto deadline = part(rounds.deadline, from, count), begin = part(rounds.begin, from, count);
  columns_.encode(deadline, out, packing);
  pack_difference(begin, deadline, out, packing);
  pack_difference(part(rounds.end, from, count), begin, out, packing);
  for (const auto& channel : rounds.channels) {
    if (channel.reason.empty())
      out.push_back(0);
    else
      pack_status(part(channel.reason, from, count), out);
    columns_.encode(part(channel.raw, from, count), out, packing);
  }
  return out;
}

bool ChunkCodec::unpack_times(ByteReader& in, std::size_t rows, const RoundTarget& target) {
  deadline_.resize(rows);
  begin_.resize(rows);
  if (!columns_.decode(in, deadline_) || !columns_.decode(in, begin_)) return false;
  for (std::size_t i = 0; i < rows; ++i) begin_[i] = plus(deadline_[i], begin_[i]);
  if (!columns_.decode(in, deadline_)) return false;  // now the widths
  for (std::size_t i = 0; target.before != nullptr && i < rows; ++i) target.before[i] = at_micros(begin_[i]);
  for (std::size_t i = 0; target.after != nullptr && i < rows; ++i) target.after[i] = at_micros(plus(begin_[i], deadline_[i]));
  return true;
}

bool ChunkCodec::unpack_channel(ByteReader& in, std::size_t rows, std::int64_t* raw, MissingReason* reason) {
  const std::uint8_t has_status = in.byte();
  if (!in.ok() || has_status > 1 || (has_status == 1 && reason == nullptr)) return false;
  if (has_status == 1 && !unpack_status(in, rows, reason)) return false;
  if (raw == nullptr) return columns_.skip(in, rows);
  if (!columns_.decode(in, {raw, rows})) return false;
  for (std::size_t i = 0; has_status == 1 && i < rows; ++i) {
    if (reason[i] != MissingReason::none) raw[i] = 0;
  }
  return true;
}

bool ChunkCodec::unpack(std::span<const std::uint8_t> blob, std::size_t rows, const RoundTarget& target) {
  if (rows > max_rows) return false;
  ByteReader in(blob);
  if (!unpack_times(in, rows, target)) return false;
  for (std::size_t c = 0; c < target.raw.size(); ++c) {
    if (!unpack_channel(in, rows, target.raw[c], target.reason[c])) return false;
  }
  return in.at_end();
}

Bytes ChunkCodec::pack(const MarkColumns& marks, std::size_t from, std::size_t count, Packing packing) {
  Bytes out;
  for (const auto* column : {&marks.time, &marks.pid, &marks.tid, &marks.kind, &marks.name, &marks.value}) {
    columns_.encode(part(*column, from, count), out, packing);
  }
  return out;
}

bool ChunkCodec::unpack(std::span<const std::uint8_t> blob, std::size_t rows, MarkColumns& marks) {
  if (rows > max_rows) return false;
  const std::size_t before = marks.rows();
  ByteReader in(blob);
  bool ok = true;
  for (auto* column : {&marks.time, &marks.pid, &marks.tid, &marks.kind, &marks.name, &marks.value}) {
    column->resize(before + rows);
    ok = ok && columns_.decode(in, std::span(*column).subspan(before));
  }
  if (ok && in.at_end()) return true;
  for (auto* column : {&marks.time, &marks.pid, &marks.tid, &marks.kind, &marks.name, &marks.value}) column->resize(before);
  return false;
}

}  // namespace joulery
