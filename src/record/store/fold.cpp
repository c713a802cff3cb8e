#include "record/store/fold.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "record/crc32.h"

namespace joulery {
namespace {

constexpr std::size_t keys_per_pack = 4096;

std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// Writes one block: its row, and its packs as they fill.
class BlockWriter {
 public:
  BlockWriter(Database& database, ColumnCodec& codec) : database_(database), codec_(codec) {}

  Result<void> begin(const Block& block, const Bytes& times) {
    full_ = pack_bytes(block.level);
    auto insert = database_.prepare("INSERT INTO block VALUES (NULL,?,?,?,?,?,?)");
    if (!insert) return std::unexpected(insert.error());
    insert->bind(std::int64_t{static_cast<std::uint8_t>(block.level)}).bind(block.begin_ms).bind(block.end_ms);
    insert->bind(static_cast<std::int64_t>(block.rows)).bind(std::int64_t{crc32(times)}).bind(std::span<const std::uint8_t>(times));
    auto done = insert->run();
    id_ = sqlite3_last_insert_rowid(database_.handle());
    return done;
  }
  Result<void> add(std::int64_t series, const SeriesRows& rows, const Coverage* coverage) {
    pack_.add(series, rows, coverage, codec_);
    return pack_.bytes() >= full_ ? write_pack() : Result<void>{};
  }
  Result<void> end() { return pack_.empty() ? Result<void>{} : write_pack(); }

 private:
  Result<void> write_pack() {
    auto insert = database_.prepare("INSERT INTO pack VALUES (?,?,?,?,?)");
    if (!insert) return std::unexpected(insert.error());
    insert->bind(id_).bind(pack_.first()).bind(pack_.last());
    const Bytes blob = pack_.take();
    return insert->bind(std::int64_t{crc32(blob)}).bind(std::span<const std::uint8_t>(blob)).run();
  }

  Database& database_;
  ColumnCodec& codec_;
  PackBuilder pack_;
  std::int64_t id_ = 0;
  std::size_t full_ = 0;
};

// Slots of one series of a roll-up that is being made.
class Slots {
 public:
  explicit Slots(std::size_t count) : sums_(count), held_(count), any_(count) {}
  void add(std::size_t slot, std::int64_t count, std::int64_t held) {
    sums_[slot] = plus(sums_[slot], count);
    held_[slot] = plus(held_[slot], held);
    any_[slot] = true;
  }
  // Moves what was added into `rows`, and is empty again.
  void take(SeriesRows& rows) {
    rows.clear();
    for (std::size_t slot = 0; slot < any_.size(); ++slot) {
      if (!any_[slot]) continue;
      rows.rows.push_back(static_cast<std::uint32_t>(slot));
      rows.counts.push_back(sums_[slot]);
      rows.held.push_back(held_[slot]);
      sums_[slot] = held_[slot] = 0;
      any_[slot] = false;
    }
  }

 private:
  std::vector<std::int64_t> sums_, held_;
  std::vector<bool> any_;
};

Coverage coverage_from(const SeriesRows& own, std::size_t slots) {
  Coverage coverage(slots, 0);
  for (std::size_t i = 0; i < own.rows.size(); ++i) coverage[own.rows[i]] = own.held[i];
  return coverage;
}

// The tails of a file, turned: series by series.
class Turned {
 public:
  static Result<Turned> read(Database& database, const SeriesKinds& kinds, StoreTools& tools);
  Result<void> write_raw(Database& database, StoreTools& tools) const;
  Result<void> write_roll_up(Database& database, Level level, const SeriesKinds& kinds, StoreTools& tools) const;
  std::size_t rows() const { return times_.begin.size(); }
  std::int64_t unreadable() const { return unreadable_; }

 private:
  Result<void> each_tail(Database& database, const SeriesKinds& kinds, StoreTools& tools, bool place);
  void count(const std::vector<FileSample>& samples);
  void place(const std::vector<FileSample>& samples, std::uint32_t row);
  void make_room();
  std::size_t series() const { return ends_.size(); }
  std::size_t begin_of(std::size_t number) const { return number == 0 ? 0 : ends_[number - 1]; }

  BlockTimes times_;
  std::vector<std::size_t> ends_;       // by number: behind its last cell
  std::vector<std::int64_t> counts_;    // cells by number, then row
  std::vector<std::uint32_t> cell_rows_;
  std::vector<FileSample> samples_;
  std::int64_t unreadable_ = 0;
};

void Turned::count(const std::vector<FileSample>& samples) {
  for (const FileSample& sample : samples) {
    const auto number = static_cast<std::size_t>(sample.series);
    if (number >= ends_.size()) ends_.resize(number + 1);
    ++ends_[number];
  }
}

// From counts to where the next cell of each series goes; placing moves it to the series' end.
void Turned::make_room() {
  std::size_t at = 0;
  for (auto& end : ends_) {
    const std::size_t count = end;
    end = at;
    at += count;
  }
  counts_.resize(at);
  cell_rows_.resize(at);
}

void Turned::place(const std::vector<FileSample>& samples, std::uint32_t row) {
  for (const FileSample& sample : samples) {
    const std::size_t at = ends_[static_cast<std::size_t>(sample.series)]++;
    counts_[at] = sample.count;
    cell_rows_[at] = row;
  }
}

// Of series that the file has.
bool sensible(const std::vector<FileSample>& samples, const SeriesKinds& kinds) {
  const auto end = static_cast<std::int64_t>(kinds.size());
  return std::all_of(samples.begin(), samples.end(), [end](const FileSample& s) { return s.series > 0 && s.series < end; });
}

Result<void> Turned::each_tail(Database& database, const SeriesKinds& kinds, StoreTools& tools, bool placing) {
  auto tails = database.prepare("SELECT begin_ms, length_ms, crc32, data FROM tail ORDER BY id");
  if (!tails) return std::unexpected(tails.error());
  std::uint32_t row = 0;
  std::int64_t hour = -1;
  while (true) {
    const auto more = tails->step();
    if (!more) return std::unexpected(more.error());
    if (!*more) return {};
    samples_.clear();
    const auto blob = tails->blob(3);
    const std::int64_t begin_ms = tails->integer(0), length_ms = tails->integer(1);
    if (hour < 0) hour = floor_to(begin_ms, hour_ms);
    const bool readable = tails->integer(2) == crc32(blob) && take_tail(blob, tools.squeezer, tools.work, samples_) &&
                          sensible(samples_, kinds) && floor_to(begin_ms, hour_ms) == hour;
    if (!readable) {
      if (!placing) ++unreadable_;
      continue;
    }
    if (placing) {
      place(samples_, row++);
      continue;
    }
    count(samples_);
    times_.begin.push_back(begin_ms);
    times_.length.push_back(length_ms);
  }
}

Result<Turned> Turned::read(Database& database, const SeriesKinds& kinds, StoreTools& tools) {
  Turned made;
  if (auto done = made.each_tail(database, kinds, tools, false); !done) return std::unexpected(done.error());
  made.make_room();
  if (auto done = made.each_tail(database, kinds, tools, true); !done) return std::unexpected(done.error());
  return made;
}

Result<void> Turned::write_raw(Database& database, StoreTools& tools) const {
  Bytes packed;
  put_times(times_, tools.codec, packed);
  Block block{0, Level::raw, times_.begin[0], 0, rows()};
  for (std::size_t row = 0; row < rows(); ++row) {
    block.begin_ms = std::min(block.begin_ms, times_.begin[row]);
    block.end_ms = std::max({block.end_ms, times_.begin[row] + 1, times_.begin[row] + times_.length[row]});
  }
  BlockWriter writer(database, tools.codec);
  if (auto done = writer.begin(block, packed); !done) return done;
  SeriesRows rows;
  for (std::size_t number = 1; number < series(); ++number) {
    const std::size_t begin = begin_of(number), end = ends_[number];
    if (begin == end) continue;
    rows.rows.assign(cell_rows_.begin() + static_cast<std::ptrdiff_t>(begin), cell_rows_.begin() + static_cast<std::ptrdiff_t>(end));
    rows.counts.assign(counts_.begin() + static_cast<std::ptrdiff_t>(begin), counts_.begin() + static_cast<std::ptrdiff_t>(end));
    if (auto done = writer.add(static_cast<std::int64_t>(number), rows, nullptr); !done) return done;
  }
  return writer.end();
}

Result<void> Turned::write_roll_up(Database& database, Level level, const SeriesKinds& kinds, StoreTools& tools) const {
  const std::int64_t hour = floor_to(times_.begin[0], hour_ms);
  const auto slots = static_cast<std::size_t>(hour_ms / slot_ms(level));
  std::vector<std::size_t> slot_of(rows());
  Slots sums(slots);
  SeriesRows out;
  for (std::size_t row = 0; row < rows(); ++row) {
    slot_of[row] = static_cast<std::size_t>((times_.begin[row] - hour) / slot_ms(level));
    sums.add(slot_of[row], 1, times_.length[row]);
  }
  sums.take(out);
  const Coverage coverage = coverage_from(out, slots);
  BlockWriter writer(database, tools.codec);
  if (auto done = writer.begin({0, level, hour, hour + hour_ms, slots}, {}); !done) return done;
  if (auto done = writer.add(0, out, nullptr); !done) return done;
  for (std::size_t number = 1; number < series(); ++number) {
    if (begin_of(number) == ends_[number]) continue;
    const bool is_mean = number < kinds.size() && kinds[number] == SeriesKind::mean;
    for (std::size_t i = begin_of(number); i < ends_[number]; ++i) {
      const std::int64_t held = times_.length[cell_rows_[i]];
      sums.add(slot_of[cell_rows_[i]], is_mean ? times(counts_[i], held) : counts_[i], held);
    }
    sums.take(out);
    if (auto done = writer.add(static_cast<std::int64_t>(number), out, &coverage); !done) return done;
  }
  return writer.end();
}

// Walks the series of one block by number.
class BlockCursor {
 public:
  static Result<BlockCursor> open(Database& database, const Block& block, ColumnCodec& codec) {
    auto packs = database.prepare("SELECT first, crc32, data FROM pack WHERE block=? ORDER BY first");
    if (!packs) return std::unexpected(packs.error());
    packs->bind(block.id);
    BlockCursor made(block, std::move(*packs), codec);
    if (auto done = made.next_pack(); !done) return std::unexpected(done.error());
    return made;
  }
  bool done() const { return done_; }
  std::int64_t number() const { return pack_.number(at_); }
  const Block& block() const { return block_; }
  bool unpack(SeriesRows& rows) {
    const bool good = pack_.unpack(at_, block_.rows, true, &coverage_, *codec_, rows);
    if (good && number() == 0) coverage_ = coverage_from(rows, block_.rows);
    return good;
  }
  Result<void> advance() { return ++at_ < pack_.size() ? Result<void>{} : next_pack(); }

 private:
  BlockCursor(const Block& block, Statement packs, ColumnCodec& codec) : block_(block), packs_(std::move(packs)), codec_(&codec) {}

  // A pack that is damaged would be lost in the merge: the block then stays as it is.
  Result<void> next_pack() {
    at_ = 0;
    const auto more = packs_.step();
    if (!more) return std::unexpected(more.error());
    done_ = !*more;
    if (done_) return {};
    const auto blob = packs_.blob(2);
    if (packs_.integer(1) != crc32(blob)) return fail(ErrorCode::format, "a pack of the store is damaged");
    bytes_.assign(blob.begin(), blob.end());
    if (!pack_.open(bytes_, packs_.integer(0)) || pack_.size() == 0) return fail(ErrorCode::format, "a pack of the store is damaged");
    return {};
  }

  Block block_;
  Statement packs_;
  ColumnCodec* codec_;
  Bytes bytes_;
  PackReader pack_;
  Coverage coverage_;
  std::size_t at_ = 0;
  bool done_ = false;
};

Result<void> merge_into(BlockWriter& writer, std::vector<BlockCursor>& inputs, Level level, std::int64_t begin_ms, std::size_t slots) {
  Slots sums(slots);
  SeriesRows rows;
  Coverage coverage(slots, 0);
  while (true) {
    std::int64_t number = -1;
    for (const auto& input : inputs) {
      if (!input.done() && (number < 0 || input.number() < number)) number = input.number();
    }
    if (number < 0) return writer.end();
    for (auto& input : inputs) {
      if (input.done() || input.number() != number) continue;
      if (!input.unpack(rows)) return fail(ErrorCode::format, "a pack of the store is damaged");
      const auto shift = static_cast<std::size_t>((input.block().begin_ms - begin_ms) / slot_ms(level));
      if (!rows.rows.empty() && rows.rows.back() + shift >= slots) return fail(ErrorCode::format, "a pack of the store is damaged");
      for (std::size_t i = 0; i < rows.rows.size(); ++i) sums.add(rows.rows[i] + shift, rows.counts[i], rows.held[i]);
      if (auto done = input.advance(); !done) return done;
    }
    sums.take(rows);
    if (number == 0) coverage = coverage_from(rows, slots);
    if (auto done = writer.add(number, rows, number == 0 ? nullptr : &coverage); !done) return done;
  }
}

Result<void> remove_blocks(Database& database, const std::vector<Block>& blocks) {
  for (const char* text : {"DELETE FROM pack WHERE block=?", "DELETE FROM block WHERE id=?"}) {
    auto remove = database.prepare(text);
    if (!remove) return std::unexpected(remove.error());
    for (const Block& block : blocks) {
      if (auto done = remove->bind(block.id).run(); !done) return done;
    }
  }
  return {};
}

// Merges, or leaves the blocks as they are where one of them is damaged: what is left of it can still be read.
Result<void> merge_sound(Database& database, Level level, std::int64_t begin_ms, std::int64_t end_ms, StoreTools& tools) {
  if (auto done = database.execute("SAVEPOINT merging"); !done) return done;
  auto merged = merge_blocks(database, level, begin_ms, end_ms, tools);
  if (!merged && merged.error().code == ErrorCode::format) merged = database.execute("ROLLBACK TO merging");
  if (!merged) return merged;
  return database.execute("RELEASE merging");
}

}  // namespace

Result<SeriesKinds> kinds_of(Database& database, StoreTools& tools) {
  const auto catalogue = SeriesCatalogue::read(database, tools.squeezer);
  if (!catalogue) return std::unexpected(catalogue.error());
  SeriesKinds kinds;
  catalogue->each({}, [&](std::int64_t number, const KeyView& key) {
    if (static_cast<std::size_t>(number) >= kinds.size()) kinds.resize(static_cast<std::size_t>(number) + 1, SeriesKind::sum);
    kinds[static_cast<std::size_t>(number)] = key.kind;
  });
  return kinds;
}

Result<std::int64_t> fold_tails(Database& database, const SeriesKinds& kinds, StoreTools& tools) {
  const auto turned = Turned::read(database, kinds, tools);
  if (!turned) return std::unexpected(turned.error());
  if (turned->rows() > 0) {
    if (auto done = turned->write_raw(database, tools); !done) return std::unexpected(done.error());
    for (const Level level : {Level::minute, Level::hour}) {
      if (auto done = turned->write_roll_up(database, level, kinds, tools); !done) return std::unexpected(done.error());
    }
  }
  if (auto done = database.execute("DELETE FROM tail"); !done) return std::unexpected(done.error());
  return turned->unreadable();
}

Result<void> merge_blocks(Database& database, Level level, std::int64_t begin_ms, std::int64_t end_ms, StoreTools& tools) {
  const auto blocks = blocks_in(database, level, begin_ms, end_ms);
  if (!blocks) return std::unexpected(blocks.error());
  if (blocks->size() < 2) return {};
  std::vector<BlockCursor> inputs;
  for (const Block& block : *blocks) {
    if (block.begin_ms < begin_ms || block.end_ms > end_ms) return fail(ErrorCode::internal, "a block reaches beyond what is merged");
    auto cursor = BlockCursor::open(database, block, tools.codec);
    if (!cursor) return std::unexpected(cursor.error());
    inputs.push_back(std::move(*cursor));
  }
  const auto slots = static_cast<std::size_t>((end_ms - begin_ms) / slot_ms(level));
  BlockWriter writer(database, tools.codec);
  if (auto done = writer.begin({0, level, begin_ms, end_ms, slots}, {}); !done) return done;
  if (auto done = merge_into(writer, inputs, level, begin_ms, slots); !done) return done;
  inputs.clear();
  return remove_blocks(database, *blocks);
}

Result<void> pack_series(Database& database, StoreTools& tools) {
  auto rows = database.prepare("SELECT number, key FROM series ORDER BY number");
  auto insert = database.prepare("INSERT INTO series_pack VALUES (?,?,?,?)");
  if (!rows) return std::unexpected(rows.error());
  if (!insert) return std::unexpected(insert.error());
  std::int64_t first = 0, count = 0;
  Bytes keys, packed;
  const auto write = [&]() -> Result<void> {
    if (count == 0) return {};
    packed.clear();
    tools.squeezer.squeeze(keys, 6, packed);
    auto done = insert->bind(first).bind(count).bind(std::int64_t{crc32(packed)}).bind(std::span<const std::uint8_t>(packed)).run();
    keys.clear();
    count = 0;
    return done;
  };
  while (true) {
    const auto more = rows->step();
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
    const std::int64_t number = rows->integer(0);
    if (count == static_cast<std::int64_t>(keys_per_pack) || number != first + count) {
      if (auto done = write(); !done) return done;
      first = number;
    }
    const auto key = rows->blob(1);
    keys.insert(keys.end(), key.begin(), key.end());
    ++count;
  }
  if (auto done = write(); !done) return done;
  return database.execute("DELETE FROM series");
}

Result<std::int64_t> fold_hour(Database& database, const SeriesKinds& kinds, std::int64_t hour, StoreTools& tools) {
  const auto lost = fold_tails(database, kinds, tools);
  if (!lost) return lost;
  if (auto done = merge_sound(database, Level::minute, hour, hour + hour_ms, tools); !done) return std::unexpected(done.error());
  return lost;
}

Result<std::int64_t> finish_day(Database& database, StoreTools& tools) {
  const auto kinds = kinds_of(database, tools);
  if (!kinds) return std::unexpected(kinds.error());
  const auto lost = fold_tails(database, *kinds, tools);
  if (!lost) return lost;
  const auto first = database.integer("SELECT min(begin_ms) FROM block WHERE level=2");
  if (!first) return std::unexpected(first.error());
  const std::int64_t day = floor_to(*first, day_ms);
  for (std::int64_t hour = day; hour < day + day_ms; hour += hour_ms) {
    if (auto done = merge_sound(database, Level::minute, hour, hour + hour_ms, tools); !done) return std::unexpected(done.error());
  }
  if (auto done = merge_sound(database, Level::hour, day, day + day_ms, tools); !done) return std::unexpected(done.error());
  if (auto done = pack_series(database, tools); !done) return std::unexpected(done.error());
  return lost;
}

Result<void> thin_day(const std::string& path, Level finest) {
  const std::string made = path + ".new";
  ::unlink(made.c_str());
  const int file = ::open(made.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);  // ATTACH makes none
  if (file < 0) return std::unexpected(error_from_errno(errno, "cannot write a day of the store anew", made));
  ::close(file);
  auto database = Database::open_for_writing(path);
  if (!database) return std::unexpected(database.error());
  auto attach = database->prepare("ATTACH ? AS made");
  if (!attach) return std::unexpected(attach.error());
  if (auto done = attach->bind(std::string_view(made)).run(); !done) return done;
  if (auto done = make_day_tables(*database, "made"); !done) return done;
  const std::string level = std::to_string(static_cast<int>(finest));
  auto copied = database->execute(
      "BEGIN;"
      "INSERT INTO made.about SELECT * FROM main.about WHERE name<>'finest_level';"
      "INSERT INTO made.about VALUES ('finest_level'," +
      level +
      ");"
      "INSERT INTO made.series SELECT * FROM main.series;"
      "INSERT INTO made.series_pack SELECT * FROM main.series_pack;"
      "INSERT INTO made.tail SELECT * FROM main.tail;"
      "INSERT INTO made.block SELECT * FROM main.block WHERE level>=" +
      level +
      ";"
      "INSERT INTO made.pack SELECT * FROM main.pack WHERE block IN (SELECT id FROM main.block WHERE level>=" +
      level +
      ");"
      "COMMIT; DETACH made");
  database = fail(ErrorCode::internal, "");  // closed before the file is replaced
  if (copied && ::rename(made.c_str(), path.c_str()) != 0)
    copied = std::unexpected(error_from_errno(errno, "cannot replace a day of the store", path));
  if (!copied) ::unlink(made.c_str());
  return copied;
}

}  // namespace joulery
