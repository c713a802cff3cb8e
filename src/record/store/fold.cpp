#include "record/store/fold.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "record/crc32.h"
#include "record/store/block_writer.h"

namespace joulery {
namespace {

constexpr std::size_t keys_per_pack = 4096;

std::int64_t times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
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
