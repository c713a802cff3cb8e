#include "record/store/day_scan.h"

#include <algorithm>

#include "record/crc32.h"

namespace joulery {
namespace {

std::int64_t times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

}  // namespace

bool DayScan::wants(std::int64_t first, std::int64_t last) const {
  const auto at = std::lower_bound(wanted_.begin(), wanted_.end(), first);
  return first == 0 || (at != wanted_.end() && *at <= last);
}

Result<void> DayScan::blocks(Level level, std::int64_t begin_ms, std::int64_t end_ms, RowSink& sink) {
  const auto found = blocks_in(database_, level, begin_ms, end_ms);
  if (!found) return std::unexpected(found.error());
  for (const Block& of : *found) {
    if (auto done = block(of, begin_ms, end_ms, sink); !done) return done;
  }
  return {};
}

Result<bool> DayScan::read_times(const Block& block) {
  auto row = database_.prepare("SELECT crc32, times FROM block WHERE id=?");
  if (!row) return std::unexpected(row.error());
  const auto found = row->bind(block.id).step();
  if (!found) return std::unexpected(found.error());
  return *found && row->integer(0) == crc32(row->blob(1)) && take_times(row->blob(1), block.rows, tools_.codec, times_);
}

void DayScan::give_raw_coverage(std::int64_t begin_ms, std::int64_t end_ms, RowSink& sink) {
  begin_.clear();
  counts_.clear();
  held_.clear();
  for (std::size_t i = 0; i < times_.begin.size(); ++i) {
    if (times_.begin[i] < begin_ms || times_.begin[i] >= end_ms) continue;
    begin_.push_back(times_.begin[i]);
    counts_.push_back(1);
    held_.push_back(times_.length[i]);
  }
  if (!begin_.empty()) sink.rows({0, begin_, counts_, held_});
}

Result<void> DayScan::block(const Block& of, std::int64_t begin_ms, std::int64_t end_ms, RowSink& sink) {
  if (of.level == Level::raw) {
    const auto readable = read_times(of);
    if (!readable) return std::unexpected(readable.error());
    if (!*readable) {
      ++damaged_;
      return {};
    }
    give_raw_coverage(begin_ms, end_ms, sink);
  }
  coverage_.clear();
  auto packs = database_.prepare("SELECT first, last, crc32, data FROM pack WHERE block=? ORDER BY first");
  if (!packs) return std::unexpected(packs.error());
  packs->bind(of.id);
  while (true) {
    const auto more = packs->step();
    if (!more) return std::unexpected(more.error());
    if (!*more) return {};
    const std::int64_t first = packs->integer(0), last = packs->integer(1);
    if (!wants(first, last)) continue;
    const auto blob = packs->blob(3);
    if (packs->integer(2) == crc32(blob) && pack_.open(blob, first))
      pack(of, begin_ms, end_ms, sink);
    else
      ++damaged_;
  }
}

void DayScan::pack(const Block& of, std::int64_t begin_ms, std::int64_t end_ms, RowSink& sink) {
  auto wanted = wanted_.begin();
  const std::size_t limit = of.level == Level::raw ? of.rows : std::min<std::size_t>(of.rows, most_block_rows);
  for (std::size_t i = 0; i < pack_.size(); ++i) {
    const std::int64_t number = pack_.number(i);
    wanted = std::lower_bound(wanted, wanted_.end(), number);
    if (number != 0 && wanted == wanted_.end()) return;
    if (number != 0 && *wanted != number) continue;
    if (!pack_.unpack(i, limit, of.level != Level::raw, number == 0 ? nullptr : &coverage_, tools_.codec, rows_)) {
      ++damaged_;
      continue;
    }
    if (number == 0) {
      coverage_.assign(limit, 0);
      for (std::size_t r = 0; r < rows_.rows.size(); ++r) coverage_[rows_.rows[r]] = rows_.held[r];
    }
    give(of, number, begin_ms, end_ms, sink);
  }
}

void DayScan::give(const Block& of, std::int64_t number, std::int64_t begin_ms, std::int64_t end_ms, RowSink& sink) {
  begin_.clear();
  counts_.clear();
  held_.clear();
  const bool raw = of.level == Level::raw, weigh = raw && is_mean(number);
  for (std::size_t i = 0; i < rows_.rows.size(); ++i) {
    const std::int64_t begin = raw ? times_.begin[rows_.rows[i]] : of.begin_ms + rows_.rows[i] * slot_ms(of.level);
    if (begin < begin_ms || begin >= end_ms) continue;
    const std::int64_t held = raw ? times_.length[rows_.rows[i]] : rows_.held[i];
    begin_.push_back(begin);
    counts_.push_back(weigh ? times(rows_.counts[i], held) : rows_.counts[i]);
    held_.push_back(held);
  }
  if (!begin_.empty()) sink.rows({number, begin_, counts_, held_});
}

Result<void> DayScan::tails(Level level, std::int64_t begin_ms, std::int64_t end_ms, RowSink& sink) {
  auto tails = database_.prepare("SELECT begin_ms, length_ms, crc32, data FROM tail WHERE begin_ms>=? AND begin_ms<? ORDER BY id");
  if (!tails) return std::unexpected(tails.error());
  tails->bind(begin_ms).bind(end_ms);
  std::vector<FileSample> samples;
  while (true) {
    const auto more = tails->step();
    if (!more) return std::unexpected(more.error());
    if (!*more) return {};
    samples.clear();
    const auto blob = tails->blob(3);
    if (tails->integer(2) != crc32(blob) || !take_tail(blob, tools_.squeezer, tools_.work, samples)) {
      ++damaged_;
      continue;
    }
    const std::int64_t begin = floor_to(tails->integer(0), slot_ms(level)), held = tails->integer(1), tick = 1;
    const auto one = [](const std::int64_t& value) { return std::span(&value, 1); };
    sink.rows({0, one(begin), one(tick), one(held)});
    for (const FileSample& sample : samples) {
      if (!std::binary_search(wanted_.begin(), wanted_.end(), sample.series)) continue;
      const std::int64_t count = is_mean(sample.series) ? times(sample.count, held) : sample.count;
      sink.rows({sample.series, one(begin), one(count), one(held)});
    }
  }
}

}  // namespace joulery
