// Reads recordings: the whole file or what a killed writer left, never changing anything.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>

#include "record/names.h"
#include "record/open_recording.h"
#include "record/recording.h"
#include "record/schema.h"
#include "record/stored_chunk.h"

namespace joulery {
namespace {

constexpr const char* unreadable = "chunk unreadable";

// Errors on reading name the file, whatever SQLite says.
template <class T>
Result<T> at_path(Result<T> result, const std::string& path) {
  if (!result)
    result.error().where = path + (result.error().where.empty() || result.error().where == path ? "" : ", " + result.error().where);
  return result;
}

class Reader final : public Recording {
 public:
  explicit Reader(std::string path, Database database) : path_(std::move(path)), database_(std::move(database)) {}
  Result<void> load();

  const Metadata& metadata() const override { return metadata_; }
  std::span<const RecordedDevice> devices() const override { return devices_; }
  Result<Series> series(std::size_t device) const override;
  Result<std::vector<Mark>> marks() const override;
  Result<std::vector<ProcessSample>> processes() const override;
  Result<std::vector<DeviceProcessSample>> device_processes() const override;
  Result<std::vector<RecordedEvent>> events() const override;
  Result<std::vector<ClockMap>> clock_maps() const override;

 private:
  Result<void> load_metadata();
  Result<std::vector<RecordedEvent>> stored_events() const;
  void note_losses(std::size_t stream, const std::vector<StoredChunk>& chunks, const std::vector<bool>& readable) const;
  Result<void> check_all() const;

  std::string path_;
  mutable std::mutex mutex_;  // over all below that is mutable
  mutable Database database_;
  Metadata metadata_;
  std::vector<RecordedDevice> devices_;
  mutable std::map<std::size_t, std::vector<RecordedEvent>> losses_;  // by device; the marks stand behind the last device
};

Result<void> Reader::load_metadata() {
  auto rows = database_.prepare("SELECT name, json FROM metadata");
  if (!rows) return std::unexpected(rows.error());
  while (true) {
    const auto more = rows->step();
    if (!more) return std::unexpected(more.error());
    if (!*more) return {};
    metadata_[rows->text(0)] = rows->text(1);
  }
}

Result<void> Reader::load() {
  if (auto done = load_metadata(); !done) return at_path(std::move(done), path_);
  auto devices = at_path(read_devices(database_), path_);
  if (!devices) return std::unexpected(devices.error());
  devices_ = std::move(*devices);
  return {};
}

// A damaged chunk costs its own rounds, and says so among the events.
void Reader::note_losses(std::size_t stream, const std::vector<StoredChunk>& chunks, const std::vector<bool>& readable) const {
  std::vector<RecordedEvent> losses;
  const bool is_device = stream < devices_.size();
  const std::int64_t to_ns = is_device ? 1000 : 1;
  const std::string of = is_device ? devices_[stream].kind + " " + devices_[stream].name : "marks";
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (readable[i]) continue;
    const Interval when{{chunks[i].begin * to_ns}, {chunks[i].end * to_ns}};
    losses.push_back(
        {when, unreadable, of + ", row " + std::to_string(chunks[i].first) + " on", static_cast<std::int64_t>(chunks[i].rows)});
  }
  losses_[stream] = std::move(losses);
}

Result<Series> Reader::series(std::size_t device) const {
  if (device >= devices_.size()) return fail(ErrorCode::usage, "the recording has no such device", path_);
  const std::lock_guard lock(mutex_);
  const auto chunks = at_path(read_chunks(database_, device), path_);
  if (!chunks) return std::unexpected(chunks.error());
  try {
    auto unpacked = unpack_series(*chunks, devices_[device].channels.size());
    note_losses(device, *chunks, unpacked.readable);
    return std::move(unpacked.series);
  } catch (const std::bad_alloc&) {  // a file may claim as many rounds as it likes
    return fail(ErrorCode::io, "not enough memory for the samples", path_ + ", " + devices_[device].kind + " " + devices_[device].name);
  }
}

Result<std::vector<Mark>> Reader::marks() const {
  const std::lock_guard lock(mutex_);
  const auto names = at_path(read_mark_names(database_), path_);
  if (!names) return std::unexpected(names.error());
  const auto chunks = at_path(read_mark_chunks(database_), path_);
  if (!chunks) return std::unexpected(chunks.error());
  std::vector<bool> readable;
  auto marks = unpack_marks(*chunks, *names, readable);
  note_losses(devices_.size(), *chunks, readable);
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.time < b.time; });
  return marks;
}

Result<std::vector<ProcessSample>> Reader::processes() const {
  const std::lock_guard lock(mutex_);
  auto rows = database_.prepare(
      "SELECT pid, start_ticks, parent, name, mono_ns, cpu_ns FROM process_sample JOIN process ON process.id = process"
      " ORDER BY pid, start_ticks, mono_ns");
  if (!rows) return at_path<std::vector<ProcessSample>>(std::unexpected(rows.error()), path_);
  std::vector<ProcessSample> samples;
  while (true) {
    const auto more = rows->step();
    if (!more) return at_path<std::vector<ProcessSample>>(std::unexpected(more.error()), path_);
    if (!*more) return samples;
    ProcessSample sample;
    sample.id = {static_cast<std::int32_t>(rows->integer(0)), rows->integer(1)};
    sample.parent = static_cast<std::int32_t>(rows->integer(2));
    sample.name = rows->text(3);
    sample.time = {rows->integer(4)};
    sample.cpu = nanoseconds(rows->integer(5));
    samples.push_back(std::move(sample));
  }
}

// A recording from before there were any has no such table.
Result<std::vector<DeviceProcessSample>> Reader::device_processes() const {
  using Samples = std::vector<DeviceProcessSample>;
  const std::lock_guard lock(mutex_);
  const auto tables = database_.integer("SELECT count(*) FROM sqlite_master WHERE name = 'device_process'");
  if (!tables) return at_path<Samples>(std::unexpected(tables.error()), path_);
  Samples samples;
  if (*tables == 0) return samples;
  auto rows = database_.prepare(
      "SELECT device, mono_ns, component, pid, memory, busy, memory_busy, encoder, decoder FROM device_process ORDER BY rowid");
  if (!rows) return at_path<Samples>(std::unexpected(rows.error()), path_);
  const auto share = [&](int column) { return rows->is_null(column) ? std::nullopt : std::optional(rows->real(column)); };
  while (true) {
    const auto more = rows->step();
    if (!more) return at_path<Samples>(std::unexpected(more.error()), path_);
    if (!*more) return samples;
    DeviceProcess process{rows->integer(3), Component(rows->text(2)), {}, share(5), share(6), share(7), share(8)};
    if (!rows->is_null(4)) process.memory = rows->integer(4);
    const std::int64_t device = rows->integer(0);
    if (device < 0 || static_cast<std::size_t>(device) >= devices_.size()) continue;
    samples.push_back({static_cast<std::size_t>(device), {rows->integer(1)}, std::move(process)});
  }
}

Result<std::vector<RecordedEvent>> Reader::stored_events() const {
  auto rows = database_.prepare("SELECT begin_ns, end_ns, kind, detail, count FROM event ORDER BY rowid");
  if (!rows) return std::unexpected(rows.error());
  std::vector<RecordedEvent> events;
  while (true) {
    const auto more = rows->step();
    if (!more) return std::unexpected(more.error());
    if (!*more) return events;
    events.push_back({{{rows->integer(0)}, {rows->integer(1)}}, rows->text(2), rows->text(3), rows->integer(4)});
  }
}

// Chunks that nobody asked for yet are checked by their checksum.
Result<void> Reader::check_all() const {
  for (std::size_t stream = 0; stream <= devices_.size(); ++stream) {
    if (losses_.contains(stream)) continue;
    const auto chunks = stream < devices_.size() ? read_chunks(database_, stream) : read_mark_chunks(database_);
    if (!chunks) return std::unexpected(chunks.error());
    std::vector<bool> readable;
    for (const auto& chunk : *chunks) readable.push_back(intact(chunk));
    note_losses(stream, *chunks, readable);
  }
  return {};
}

Result<std::vector<RecordedEvent>> Reader::events() const {
  const std::lock_guard lock(mutex_);
  auto events = at_path(stored_events(), path_);
  if (!events) return events;
  if (auto done = at_path(check_all(), path_); !done) return std::unexpected(done.error());
  for (const auto& [stream, losses] : losses_) events->insert(events->end(), losses.begin(), losses.end());
  std::stable_sort(events->begin(), events->end(), [](const auto& a, const auto& b) { return a.when.begin < b.when.begin; });
  return events;
}

Result<std::vector<ClockMap>> Reader::clock_maps() const {
  const std::lock_guard lock(mutex_);
  return at_path(read_clock_maps(database_), path_);
}

std::uint32_t big_endian(const unsigned char* from, int bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < bytes; ++i) value = value << 8 | from[i];
  return value;
}

// Whether the file is shorter than its header says (https://www.sqlite.org/fileformat2.html, 1.3: page size at 16, pages
// at 28, which hold if the counters at 24 and 92 agree). SQLite itself would forgive a last page that lacks its end.
bool cut_short(const unsigned char (&header)[100], std::int64_t size) {
  const std::uint32_t page = big_endian(header + 16, 2) == 1 ? 65536 : big_endian(header + 16, 2);
  return big_endian(header + 24, 4) == big_endian(header + 92, 4) && size < std::int64_t{page} * big_endian(header + 28, 4);
}

// What the first bytes say, so that a text file or a folder gets a plain answer.
Result<void> check_header(const std::string& path) {
  constexpr char magic[16] = "SQLite format 3";
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::unexpected(error_from_errno(errno, "cannot open the recording", path));
  unsigned char header[100];
  const ssize_t got = ::read(file, header, sizeof header);
  const int number = errno;
  const off_t size = ::lseek(file, 0, SEEK_END);
  ::close(file);
  if (got < 0) return std::unexpected(error_from_errno(number, "cannot read the recording", path));
  if (got == 0) return fail(ErrorCode::format, "the file is empty, not a recording", path);
  if (got < 16 || std::memcmp(header, magic, sizeof magic) != 0) return fail(ErrorCode::format, "not a joulery recording", path);
  // Beside a log the file may lack its end for a while: a killed writer's last pages are in the log.
  const bool has_log = ::access((path + "-wal").c_str(), F_OK) == 0;
  if (got == 100 && (has_log || !cut_short(header, size))) return {};
  return fail(ErrorCode::format, "the recording is cut short", path, "copy it again from where it was made");
}

Error plain(const Error& error, const std::string& path) {
  if (error.code != ErrorCode::format) return {error.code, error.what, path, error.hint};
  return {ErrorCode::format, "the recording is damaged or cut short: " + error.what, path, "copy it again from where it was made"};
}

}  // namespace

Result<Database> open_recording_database(const std::string& path) {
  if (auto done = check_header(path); !done) return std::unexpected(done.error());
  auto database = Database::open_for_reading(path);
  if (!database) return std::unexpected(plain(database.error(), path));
  const auto id = database->integer("PRAGMA application_id");
  if (!id) return std::unexpected(plain(id.error(), path));
  if (*id != recording_application_id) return fail(ErrorCode::format, "an SQLite file, but not a joulery recording", path);
  const auto version = database->integer("PRAGMA user_version");
  if (!version) return std::unexpected(plain(version.error(), path));
  if (*version <= job_recording_version) return database;
  return fail(ErrorCode::newer_format,
              "the recording was made by a newer joulery (format " + std::to_string(*version) + ", this one reads up to " +
                  std::to_string(job_recording_version) + ")",
              path, "update joulery");
}

Result<std::unique_ptr<Recording>> Recording::open(const std::string& path) {
  auto database = open_recording_database(path);
  if (!database) return std::unexpected(database.error());
  auto reader = std::make_unique<Reader>(path, std::move(*database));
  if (auto done = reader->load(); !done) return std::unexpected(plain(done.error(), path));
  return reader;
}

}  // namespace joulery
