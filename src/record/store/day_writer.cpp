#include "record/store/day_writer.h"

#include <algorithm>

#include "record/crc32.h"

namespace joulery {

Result<DayWriter> DayWriter::open(const std::string& path, std::int64_t day, SeriesBook& book, std::mutex& book_mutex, StoreTools& tools) {
  auto database = open_day_for_writing(path);
  if (!database) return std::unexpected(database.error());
  DayWriter made(std::move(*database), day);
  const auto catalogue = SeriesCatalogue::read(made.database_, tools.squeezer);
  if (!catalogue) return std::unexpected(catalogue.error());
  auto kinds = kinds_of(made.database_, tools);
  if (!kinds) return std::unexpected(kinds.error());
  const auto newest = made.database_.integer(
      "SELECT max((SELECT coalesce(max(number), 0) FROM series),"
      " (SELECT coalesce(max(first + count - 1), 0) FROM series_pack))");
  if (!newest) return std::unexpected(newest.error());
  made.kinds_ = std::move(*kinds);
  made.next_number_ = *newest + 1;
  made.kinds_.resize(static_cast<std::size_t>(made.next_number_), SeriesKind::sum);
  if (auto done = made.look_at_tails(); !done) return std::unexpected(done.error());
  const std::lock_guard lock(book_mutex);
  book.start_file(&*catalogue);
  return made;
}

Result<void> DayWriter::look_at_tails() {
  auto tails = database_.prepare("SELECT min(begin_ms), count(*), coalesce(sum(samples), 0) FROM tail");
  if (!tails) return std::unexpected(tails.error());
  const auto row = tails->step();
  if (!row) return std::unexpected(row.error());
  rows_ = static_cast<std::size_t>(tails->integer(1));
  samples_ = static_cast<std::size_t>(tails->integer(2));
  hour_.reset();
  if (rows_ > 0) hour_ = floor_to(tails->integer(0), hour_ms);
  return {};
}

template <class Work>
Result<void> DayWriter::in_transaction(Work work) {
  auto done = database_.execute("BEGIN IMMEDIATE");
  if (done) done = work();
  if (done) done = database_.execute("COMMIT");
  if (!done && database_.in_transaction()) (void)database_.execute("ROLLBACK");
  return done;
}

bool DayWriter::must_fold(const WaitingRow& next, std::size_t fold_samples) const {
  if (!hour_) return false;
  return *hour_ != floor_to(next.begin_ms, hour_ms) || samples_ >= fold_samples || rows_ >= most_block_rows;
}

Result<std::int64_t> DayWriter::fold(bool hour_is_over, StoreTools& tools) {
  std::int64_t lost = 0;
  auto done = in_transaction([&]() -> Result<void> {
    const auto folded = hour_is_over ? fold_hour(database_, kinds_, hour_.value_or(0), tools) : fold_tails(database_, kinds_, tools);
    if (!folded) return std::unexpected(folded.error());
    lost = *folded;
    return pack_series(database_, tools);
  });
  if (!done) return std::unexpected(done.error());
  hour_.reset();
  rows_ = samples_ = 0;
  return lost;
}

// From ids to numbers of this file; a series that has none yet gets the next.
void DayWriter::translate(const WaitingRow& row, SeriesBook& book) {
  file_samples_.clear();
  ByteReader in(row.bytes);
  for (std::int64_t i = 0; i < row.samples; ++i) {
    const SeriesId series{static_cast<std::uint32_t>(in.varint())};
    const std::int64_t count = in.signed_varint();
    std::int64_t number = book.number(series);
    if (number == 0) {
      number = next_number_++;
      book.set_number(series, number);
      kinds_.push_back(book.kind(series));
      new_keys_.push_back({series, number, book.key(series)});
    }
    file_samples_.push_back({number, count});
  }
}

Result<void> DayWriter::write_tail(Statement& insert, const WaitingRow& row, StoreTools& tools) {
  blob_.clear();
  put_tail(file_samples_, tools.squeezer, tools.work, blob_);
  insert.bind(row.begin_ms).bind(row.length_ms).bind(row.samples).bind(std::int64_t{crc32(blob_)});
  return insert.bind(std::span<const std::uint8_t>(blob_)).run();
}

Result<void> DayWriter::write_new_keys() {
  if (new_keys_.empty()) return {};
  auto insert = database_.prepare("INSERT INTO series VALUES (?,?)");
  if (!insert) return std::unexpected(insert.error());
  for (const NewKey& key : new_keys_) {
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(key.key.data()), key.key.size());
    if (auto done = insert->bind(key.number).bind(bytes).run(); !done) return done;
  }
  return {};
}

Result<void> DayWriter::write(const std::deque<WaitingRow>& rows, std::size_t count, SeriesBook& book, std::mutex& book_mutex,
                              StoreTools& tools) {
  auto insert = database_.prepare("INSERT INTO tail VALUES (NULL,?,?,?,?,?)");
  if (!insert) return std::unexpected(insert.error());
  for (std::size_t i = 0; i < count; ++i) {
    {
      const std::lock_guard lock(book_mutex);
      translate(rows[i], book);
    }
    if (auto done = write_tail(*insert, rows[i], tools); !done) return done;
  }
  return write_new_keys();
}

Result<std::size_t> DayWriter::commit(const std::deque<WaitingRow>& rows, std::size_t fold_samples, SeriesBook& book,
                                      std::mutex& book_mutex, StoreTools& tools) {
  const std::int64_t hour = floor_to(rows.front().begin_ms, hour_ms);
  std::size_t count = 0, samples = 0;
  for (const WaitingRow& row : rows) {
    const bool enough = rows_ + count >= most_block_rows || (count > 0 && samples_ + samples >= fold_samples);
    if (enough || floor_to(row.begin_ms, hour_ms) != hour) break;
    samples += static_cast<std::size_t>(row.samples);
    ++count;
  }
  new_keys_.clear();
  const std::int64_t first_new = next_number_;
  const auto done = in_transaction([&] { return write(rows, count, book, book_mutex, tools); });
  if (!done) {
    const std::lock_guard lock(book_mutex);
    for (const NewKey& key : new_keys_) book.set_number(key.series, 0);
    next_number_ = first_new;
    kinds_.resize(static_cast<std::size_t>(first_new));
    return std::unexpected(done.error());
  }
  hour_ = hour;
  rows_ += count;
  samples_ += samples;
  return count;
}

Result<std::int64_t> DayWriter::finish(StoreTools& tools) {
  std::int64_t lost = 0;
  const auto done = in_transaction([&]() -> Result<void> {
    const auto folded = finish_day(database_, tools);
    if (!folded) return std::unexpected(folded.error());
    lost = *folded;
    return {};
  });
  if (!done) return std::unexpected(done.error());
  hour_.reset();
  rows_ = samples_ = 0;
  (void)seal_day(database_);  // where a reader holds it, a later pass seals it
  return lost;
}

}  // namespace joulery
