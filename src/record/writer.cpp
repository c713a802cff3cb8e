// Writes recordings. What is added gathers in memory (pending.h); flush() takes it over under a mutex and writes it in
// one transaction (row_writer.h).
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <utility>

#include "core/spin_lock.h"
#include "record/database.h"
#include "record/pending.h"
#include "record/recording.h"
#include "record/row_writer.h"
#include "record/schema.h"

namespace joulery {
namespace {

// close() waits until the disk has it all only for a run of at least this length: a shorter one is sooner repeated
// than the tens of milliseconds are paid at the end of every small run, and only a power cut would cost it.
constexpr Duration worth_a_sync = milliseconds(60'000);

Error cannot_create(int number, const std::string& path) {
  if (number == EEXIST) return {ErrorCode::usage, "the recording exists already", path, "give another name, or remove it first"};
  return error_from_errno(number, "cannot create the recording", path, "give a path that can be written");
}

// Makes an empty file where there is none.
Result<void> create_empty(const std::string& path) {
  // A log without its recording may be all that is left of a run: SQLite would empty it.
  if (access((path + "-wal").c_str(), F_OK) == 0) return std::unexpected(cannot_create(EEXIST, path + "-wal"));
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return std::unexpected(cannot_create(errno, path));
  ::close(file);
  return {};
}

void remove_files(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm"}) ::unlink((path + suffix).c_str());
}

// A copy of what is committed in `from`, log and all, in the empty file at `path`; nothing is written beside `from`.
Result<Database> copy_into(const std::string& path, const Database& from) {
  auto copy = Database::open_for_writing(path);
  if (!copy) return copy;
  if (auto done = copy->execute("PRAGMA synchronous=OFF"); !done) return std::unexpected(done.error());
  sqlite3_backup* backup = sqlite3_backup_init(copy->handle(), "main", from.handle(), "main");
  if (backup == nullptr) return std::unexpected(Database::error(copy->handle(), "copying the recording"));
  sqlite3_backup_step(backup, -1);  // all pages; its outcome comes from finish
  if (sqlite3_backup_finish(backup) != SQLITE_OK) return std::unexpected(Database::error(copy->handle(), "copying the recording"));
  if (auto done = copy->execute("PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL"); !done) return std::unexpected(done.error());
  return copy;
}

class Writer final : public RecordingWriter {
 public:
  Writer(Database database, const std::vector<RecordedDevice>& devices)
      : database_(std::move(database)), pending_(devices), devices_(devices.size()) {}
  Result<void> begin(const std::vector<RecordedDevice>& devices, const Metadata& metadata, const ClockMap& clocks);

  [[gnu::hot]] void add(const Round& round) override;
  void add(const Mark& mark) override;
  void add(const ProcessSample& sample) override;
  void add(const DeviceProcessSample& sample) override;
  void add(const RecordedEvent& event) override;
  void add(const ClockMap& crossing) override;
  void set(const std::string& name, const std::string& json) override;
  Result<void> flush() override { return write(false); }
  Result<void> close() override;
  Result<void> rescue(const std::string& path) override;

 private:
  Result<void> write(bool closing);
  void take_over();
  Result<void> write_pending(bool closing);
  Result<void> in_transaction(bool closing);
  Result<void> move_to(const std::string& path);

  SpinLock adding_;       // held for a few moves of memory
  std::mutex flushing_;
  Incoming incoming_;  // under adding_

  // All below under flushing_.
  Database database_;
  ChunkCodec codec_;
  Pending pending_;
  const std::size_t devices_;
  Incoming spare_;  // empty columns with room, to swap with
  MonoTime created_ = mono_now();
  bool closed_ = false;
};

Result<void> Writer::begin(const std::vector<RecordedDevice>& devices, const Metadata& metadata, const ClockMap& clocks) {
  const std::string numbers = "PRAGMA application_id=" + std::to_string(recording_application_id) + ";PRAGMA user_version=" +
                              std::to_string(metadata.contains("hosts") ? job_recording_version : recording_version) + ";";
  // An empty recording need not survive a power cut: starting a run waits for no disk.
  // Small pages: a dozen tables that are nearly empty cost little, and so does each commit.
  if (auto done = database_.execute(
          "PRAGMA page_size=2048;PRAGMA auto_vacuum=INCREMENTAL;PRAGMA synchronous=OFF;PRAGMA journal_mode=WAL;BEGIN IMMEDIATE");
      !done)
    return done;
  if (auto done = database_.execute(recording_schema + numbers); !done) return done;
  if (auto done = write_devices(database_, devices); !done) return done;
  if (auto done = database_.execute("COMMIT;PRAGMA synchronous=NORMAL"); !done) return done;
  incoming_.metadata = metadata;
  incoming_.clocks.push_back(clocks);
  return flush();
}

void Writer::add(const Round& round) {
  const std::lock_guard lock(adding_);
  if (round.device < devices_) incoming_.rounds.push(round);
}
void Writer::add(const Mark& mark) {
  const std::lock_guard lock(adding_);
  incoming_.marks.push_back(mark);
}
void Writer::add(const ProcessSample& sample) {
  const std::lock_guard lock(adding_);
  incoming_.processes.push_back(sample);
}
void Writer::add(const DeviceProcessSample& sample) {
  const std::lock_guard lock(adding_);
  incoming_.device_processes.push_back(sample);
}
void Writer::add(const RecordedEvent& event) {
  const std::lock_guard lock(adding_);
  incoming_.events.push_back(event);
}
void Writer::add(const ClockMap& crossing) {
  const std::lock_guard lock(adding_);
  incoming_.clocks.push_back(crossing);
}
void Writer::set(const std::string& name, const std::string& json) {
  const std::lock_guard lock(adding_);
  incoming_.metadata[name] = json;
}

// Moves what was added to what is to be written. Only the swap is under the mutex.
void Writer::take_over() {
  {
    const std::lock_guard lock(adding_);
    std::swap(spare_, incoming_);
  }
  pending_.take(spare_);
}

Result<void> Writer::in_transaction(bool closing) {
  if (auto done = database_.execute("BEGIN IMMEDIATE"); !done) return done;
  if (auto done = RowWriter(database_, codec_, pending_, closing).write(); !done) return done;
  return database_.execute("COMMIT");
}

Result<void> Writer::write_pending(bool closing) {
  auto done = in_transaction(closing);
  if (done)
    pending_.committed(closing);
  else if (database_.in_transaction())
    (void)database_.execute("ROLLBACK");
  return done;
}

Result<void> Writer::write(bool closing) {
  const std::lock_guard lock(flushing_);
  if (closed_) return fail(ErrorCode::internal, "the recording is closed already");
  take_over();
  return write_pending(closing);
}

// Leaves one plain file: the log is folded in, and the journal mode set back, so that it can be read from anywhere.
Result<void> Writer::close() {
  if (closed_) return {};
  if (auto done = write(true); !done) return done;
  const std::lock_guard lock(flushing_);
  if (mono_now() - created_ < worth_a_sync) (void)database_.execute("PRAGMA synchronous=OFF");
  (void)database_.execute("PRAGMA incremental_vacuum");  // the pages of tails that are gone; a file that keeps them is only longer
  if (auto done = database_.execute("PRAGMA wal_checkpoint(TRUNCATE)"); !done) return done;
  if (auto done = database_.execute("PRAGMA journal_mode=DELETE"); !done) return done;
  closed_ = true;
  database_ = Database();
  return {};
}

// The old file stays the writer's until the new one holds everything.
Result<void> Writer::move_to(const std::string& path) {
  auto copy = copy_into(path, database_);
  if (!copy) return std::unexpected(copy.error());
  std::swap(database_, *copy);
  auto done = write_pending(false);
  if (!done) std::swap(database_, *copy);
  return done;
}

Result<void> Writer::rescue(const std::string& path) {
  const std::lock_guard lock(flushing_);
  if (closed_) return fail(ErrorCode::internal, "the recording is closed already");
  if (auto made = create_empty(path); !made) return made;
  take_over();
  auto done = move_to(path);
  if (done) return done;
  remove_files(path);
  done.error().where = path;
  return done;
}

}  // namespace

Result<std::unique_ptr<RecordingWriter>> RecordingWriter::create(const std::string& path, std::vector<RecordedDevice> devices,
                                                                 const Metadata& metadata, const ClockMap& clocks) {
  if (auto made = create_empty(path); !made) return std::unexpected(made.error());
  Result<void> begun;
  {
    auto database = Database::open_for_writing(path);
    if (database) {
      auto writer = std::make_unique<Writer>(std::move(*database), devices);
      begun = writer->begin(devices, metadata, clocks);
      if (begun) return writer;
    } else {
      begun = std::unexpected(database.error());
    }
  }
  remove_files(path);
  begun.error().where = path;
  return std::unexpected(begun.error());
}

}  // namespace joulery
