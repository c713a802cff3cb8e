#include "record/store/day_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "record/crc32.h"

namespace joulery {
namespace {

constexpr std::string_view prefix = "day-", suffix = ".joules";
constexpr std::size_t most_catalogue_bytes = std::size_t{1} << 28;

// %1 is the name of the database.
constexpr std::string_view tables = R"sql(
CREATE TABLE {0}.about (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE {0}.series (number INTEGER PRIMARY KEY, key BLOB NOT NULL);
CREATE TABLE {0}.series_pack (
  first INTEGER PRIMARY KEY, count INTEGER NOT NULL, crc32 INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE {0}.tail (
  id INTEGER PRIMARY KEY, begin_ms INTEGER NOT NULL, length_ms INTEGER NOT NULL, samples INTEGER NOT NULL,
  crc32 INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE {0}.block (
  id INTEGER PRIMARY KEY, level INTEGER NOT NULL, begin_ms INTEGER NOT NULL, end_ms INTEGER NOT NULL, rows INTEGER NOT NULL,
  crc32 INTEGER NOT NULL, times BLOB);
CREATE INDEX {0}.block_by_time ON block (level, begin_ms);
CREATE TABLE {0}.pack (
  block INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, crc32 INTEGER NOT NULL, data BLOB NOT NULL,
  PRIMARY KEY (block, first)) WITHOUT ROWID;
)sql";

std::int64_t big_endian(const unsigned char* at) {
  return std::int64_t{at[0]} << 24 | std::int64_t{at[1]} << 16 | std::int64_t{at[2]} << 8 | at[3];
}

Error newer(const std::string& path, std::int64_t version) {
  return {ErrorCode::newer_format,
          fmt::format("the store was written by a newer joulery (format {}; this one reads up to {})", version, store_version), path,
          "update joulery, or give another folder"};
}

Error foreign(const std::string& path) { return {ErrorCode::format, "not a day of a joulery store", path, ""}; }

Result<void> check_identity(Database& database, const std::string& path) {
  const auto application = database.integer("PRAGMA application_id");
  if (!application) return std::unexpected(application.error());
  const auto version = database.integer("PRAGMA user_version");
  if (!version) return std::unexpected(version.error());
  if (*application != store_application_id) return std::unexpected(foreign(path));
  if (*version > store_version) return std::unexpected(newer(path, *version));
  return {};
}

Result<void> create_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  if (file < 0) return std::unexpected(error_from_errno(errno, "cannot make a day of the store", path));
  ::close(file);
  return {};
}

}  // namespace

std::string day_file_name(std::int64_t day) {
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
  return fmt::format("{}{:04}-{:02}-{:02}{}", prefix, int{date.year()}, unsigned{date.month()}, unsigned{date.day()}, suffix);
}

std::optional<std::int64_t> day_of_file(std::string_view name) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  const std::string date(name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
  int year = 0;
  unsigned month = 0, day = 0;
  if (std::sscanf(date.c_str(), "%d-%u-%u", &year, &month, &day) != 3) return std::nullopt;
  const std::chrono::year_month_day made{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!made.ok()) return std::nullopt;
  const std::int64_t number = std::chrono::sys_days(made).time_since_epoch().count();
  return day_file_name(number) == name ? std::optional(number) : std::nullopt;
}

Result<std::vector<std::int64_t>> days_in(const std::string& folder) {
  std::error_code trouble;
  std::vector<std::int64_t> days;
  std::filesystem::directory_iterator files(folder, trouble);
  if (trouble) return std::unexpected(error_from_errno(trouble.value(), "cannot read the store", folder));
  for (const auto& file : files) {
    if (const auto day = day_of_file(file.path().filename().string())) days.push_back(*day);
  }
  std::sort(days.begin(), days.end());
  return days;
}

// An SQLite file's head: user_version at byte 60, application_id at byte 68 (sqlite.org/fileformat2.html).
Result<bool> check_day_file(const std::string& path) {
  unsigned char head[100] = {};
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const auto got = ::read(file, head, sizeof head);
  ::close(file);
  if (got != sizeof head || std::memcmp(head, "SQLite format 3", 16) != 0 || big_endian(head + 68) != store_application_id) return false;
  if (big_endian(head + 60) > store_version) return std::unexpected(newer(path, big_endian(head + 60)));
  return true;
}

Result<void> make_day_tables(Database& database, const std::string& in) {
  const std::string numbers =
      fmt::format("PRAGMA {0}.application_id={1};PRAGMA {0}.user_version={2};", in, store_application_id, store_version);
  return database.execute(fmt::format(tables, in) + numbers);
}

// The tables are made before the log is begun, so that the file's own head tells what it is.
Result<Database> open_day_for_writing(const std::string& path) {
  if (auto made = create_file(path); !made) return std::unexpected(made.error());
  auto database = Database::open_for_writing(path);
  if (!database) return database;
  const auto named = database->integer("SELECT count(*) FROM sqlite_schema");
  if (!named) return std::unexpected(named.error());
  if (*named == 0) {
    if (auto done = database->execute("PRAGMA page_size=2048;PRAGMA auto_vacuum=INCREMENTAL;PRAGMA synchronous=OFF;BEGIN IMMEDIATE"); !done)
      return std::unexpected(done.error());
    if (auto done = make_day_tables(*database); !done) return std::unexpected(done.error());
    if (auto done = database->execute("COMMIT"); !done) return std::unexpected(done.error());
  }
  if (auto known = check_identity(*database, path); !known) return std::unexpected(known.error());
  // Waits for no disk at each commit: a power cut may cost the last seconds, never what was folded into the file before.
  if (auto done = database->execute("PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL"); !done) return std::unexpected(done.error());
  return database;
}

Result<Database> open_day_for_reading(const std::string& path) {
  if (access(path.c_str(), F_OK) != 0) return std::unexpected(error_from_errno(errno, "cannot open a day of the store", path));
  auto database = Database::open_for_reading(path);
  if (!database) return database;
  if (auto known = check_identity(*database, path); !known) return std::unexpected(known.error());
  if (auto begun = database->execute("PRAGMA mmap_size=1073741824;BEGIN"); !begun) return std::unexpected(begun.error());
  return database;
}

Result<void> seal_day(Database& database) {
  if (auto done = database.execute("PRAGMA incremental_vacuum"); !done) return done;
  if (auto done = database.execute("PRAGMA wal_checkpoint(TRUNCATE)"); !done) return done;
  return database.execute("PRAGMA journal_mode=DELETE");
}

Result<std::vector<Block>> blocks_in(Database& database, Level level, std::int64_t begin_ms, std::int64_t end_ms) {
  auto rows =
      database.prepare("SELECT id, begin_ms, end_ms, rows FROM block WHERE level=? AND end_ms>? AND begin_ms<? ORDER BY begin_ms, id");
  if (!rows) return std::unexpected(rows.error());
  rows->bind(std::int64_t{static_cast<std::uint8_t>(level)}).bind(begin_ms).bind(end_ms);
  std::vector<Block> blocks;
  while (true) {
    const auto more = rows->step();
    if (!more) return std::unexpected(more.error());
    if (!*more) return blocks;
    blocks.push_back({rows->integer(0), level, rows->integer(1), rows->integer(2), static_cast<std::size_t>(rows->integer(3))});
  }
}

Result<Level> finest_level(Database& database) {
  const auto level = database.integer("SELECT value FROM about WHERE name='finest_level'");
  if (!level) return std::unexpected(level.error());
  return static_cast<Level>(std::clamp(*level, std::int64_t{0}, std::int64_t{2}));
}

bool SeriesCatalogue::contains(const Bytes& bytes, std::string_view text) {
  return text.empty() || memmem(bytes.data(), bytes.size(), text.data(), text.size()) != nullptr;
}

Result<SeriesCatalogue> SeriesCatalogue::read(Database& database, Squeezer& squeezer) {
  SeriesCatalogue made;
  auto packs = database.prepare("SELECT first, crc32, data FROM series_pack ORDER BY first");
  if (!packs) return std::unexpected(packs.error());
  while (true) {
    const auto more = packs->step();
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
    Part part{packs->integer(0), {}};
    const auto blob = packs->blob(2);
    if (packs->integer(1) == crc32(blob) && squeezer.stretch(blob, most_catalogue_bytes, part.bytes))
      made.parts_.push_back(std::move(part));
    else
      ++made.unreadable_;
  }
  auto rows = database.prepare("SELECT number, key FROM series ORDER BY number");
  if (!rows) return std::unexpected(rows.error());
  while (true) {
    const auto more = rows->step();
    if (!more) return std::unexpected(more.error());
    if (!*more) return made;
    const auto key = rows->blob(1);
    const std::int64_t number = rows->integer(0);
    if (made.parts_.empty() || number != made.next_) made.parts_.push_back({number, {}});
    Bytes& bytes = made.parts_.back().bytes;
    bytes.insert(bytes.end(), key.begin(), key.end());
    made.next_ = number + 1;
  }
}

}  // namespace joulery
