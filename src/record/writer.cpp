// Writes recordings. Rounds and marks gather in memory, column by column; flush() takes them over under a mutex and
// writes them in one transaction. The newest rounds stand in small "tail" rows, of which only the last is rewritten;
// when there are enough for a chunk they are packed once more, together, and the tails go.
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <tuple>
#include <utility>

#include "record/chunk.h"
#include "record/crc32.h"
#include "record/database.h"
#include "record/names.h"
#include "record/recording.h"
#include "record/schema.h"

namespace joulery {
namespace {

// A chunk holds this many rounds (or marks): at 10 Hz, seven minutes. Longer ones would pack hardly better (the tables
// of one zstd block are 2 % of it), and cost more memory while open and more loss when damaged.
constexpr std::size_t chunk_rows = 4096;
// The last tail is rewritten at every flush until it is as long as this: at 10 Hz 200 to 400 bytes a series and second.
constexpr std::size_t tail_rows = 256;

// close() waits until the disk has it all only for a run of at least this length: a shorter one is sooner repeated
// than the tens of milliseconds are paid at the end of every small run, and only a power cut would cost it.
constexpr Duration worth_a_sync = milliseconds(60'000);

// What was added since the last flush.
struct Incoming {
  std::vector<RoundColumns> rounds;  // one per device
  std::vector<Mark> marks;
  std::vector<ProcessSample> processes;
  std::vector<RecordedEvent> events;
  std::vector<ClockMap> clocks;
  Metadata metadata;
};

// Rows that are not yet in a chunk: where the first stands in its series, and how many of them are in full tails.
struct Open {
  std::int64_t first = 0;
  std::size_t in_tails = 0;
};

// Where a flush will leave an Open when it is committed.
struct Progress {
  std::size_t into_chunks = 0, in_tails = 0;
};

Progress progress(std::size_t rows, const Open& open, bool closing) {
  Progress next;
  next.into_chunks = closing ? rows : rows / chunk_rows * chunk_rows;
  const std::size_t done = next.into_chunks > 0 ? 0 : open.in_tails;
  next.in_tails = done + (rows - next.into_chunks - done) / tail_rows * tail_rows;
  return next;
}

// Numbers for texts and process identities; those from `written` on are not in the file yet.
template <class Key>
struct Interner {
  std::map<Key, std::int64_t> ids;
  std::vector<Key> added;
  std::int64_t id(const Key& key) {
    const auto [at, is_new] = ids.try_emplace(key, static_cast<std::int64_t>(ids.size()));
    if (is_new) added.push_back(key);
    return at->second;
  }
  std::int64_t first_added() const { return static_cast<std::int64_t>(ids.size() - added.size()); }
};

using ProcessKey = std::tuple<std::int32_t, std::int64_t, std::int32_t, std::string>;  // pid, start, parent, name

class Writer final : public RecordingWriter {
 public:
  Writer(Database database, const std::vector<RecordedDevice>& devices);
  Result<void> begin(const std::vector<RecordedDevice>& devices, const Metadata& metadata);

  void add(const Round& round) override;
  void add(const Mark& mark) override;
  void add(const ProcessSample& sample) override;
  void add(const RecordedEvent& event) override;
  void add(const ClockMap& crossing) override;
  void set(const std::string& name, const std::string& json) override;
  Result<void> flush() override { return write(false); }
  Result<void> close() override;

 private:
  Result<void> write(bool closing);
  void take_over();
  Result<void> in_transaction(bool closing);
  Result<void> write_rounds(bool closing);
  Result<void> write_device(std::size_t device, bool closing);
  Result<void> write_round_rows(bool chunk, std::size_t device, std::size_t from, std::size_t count);
  Result<void> write_summaries(std::int64_t chunk, const RoundColumns& rounds, std::size_t from, std::size_t count);
  Result<void> write_marks(bool closing);
  Result<void> write_mark_rows(bool chunk, std::size_t from, std::size_t count);
  Result<void> write_processes();
  Result<void> write_events();
  Result<void> write_clocks_and_metadata();
  void committed(bool closing);
  Result<void> write_devices(const std::vector<RecordedDevice>& devices);

  std::mutex adding_, flushing_;
  Incoming incoming_;  // under adding_

  // All below under flushing_.
  Database database_;
  ChunkCodec codec_;
  Incoming taken_;  // taken over, not yet committed; its rounds are in open_rounds_, its marks in open_marks_
  std::vector<RoundColumns> open_rounds_;
  std::vector<Open> open_;
  MarkColumns open_marks_;
  Open marks_;
  Interner<std::string> mark_names_;
  Interner<ProcessKey> processes_;
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> process_rows_;
  MonoTime created_ = mono_now();
  bool closed_ = false;
};

Writer::Writer(Database database, const std::vector<RecordedDevice>& devices) : database_(std::move(database)) {
  for (const auto& device : devices) open_rounds_.emplace_back(device.channels.size());
  incoming_.rounds = taken_.rounds = open_rounds_;
  open_.resize(devices.size());
}

Result<void> Writer::write_devices(const std::vector<RecordedDevice>& devices) {
  auto device = database_.prepare("INSERT INTO device VALUES (?,?,?,?)");
  auto channel = database_.prepare("INSERT INTO channel VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  if (!device) return std::unexpected(device.error());
  if (!channel) return std::unexpected(channel.error());
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const auto& of = devices[d];
    const auto id = static_cast<std::int64_t>(d);
    device->bind(id).bind(of.kind).bind(of.name).bind(of.interval.base_units());
    if (auto done = device->run(); !done) return done;
    for (std::size_t c = 0; c < of.channels.size(); ++c) {
      const Channel& row = of.channels[c];
      channel->bind(id).bind(static_cast<std::int64_t>(c)).bind(row.component.path()).bind(row.name);
      channel->bind(recorded_name(row.measurand)).bind(recorded_name(row.behaviour)).bind(row.unit);
      channel->bind(static_cast<std::int64_t>(row.range)).bind(row.update_period.base_units());
      channel->bind(row.averaging_window.base_units()).bind(recorded_name(row.scope)).bind(row.accuracy.relative);
      channel->bind(to_watts(row.accuracy.absolute)).bind(to_watts(row.max_power)).bind(std::int64_t{row.always_burns});
      if (auto done = channel->run(); !done) return done;
    }
  }
  return {};
}

Result<void> Writer::begin(const std::vector<RecordedDevice>& devices, const Metadata& metadata) {
  const std::string numbers = "PRAGMA application_id=" + std::to_string(recording_application_id) +
                              ";PRAGMA user_version=" + std::to_string(recording_version) + ";";
  // An empty recording need not survive a power cut: starting a run waits for no disk.
  // Small pages: a dozen tables that are nearly empty cost little, and so does each commit.
  if (auto done = database_.execute("PRAGMA page_size=2048;PRAGMA synchronous=OFF;PRAGMA journal_mode=WAL;BEGIN IMMEDIATE"); !done)
    return done;
  if (auto done = database_.execute(recording_schema + numbers); !done) return done;
  if (auto done = write_devices(devices); !done) return done;
  if (auto done = database_.execute("COMMIT;PRAGMA synchronous=NORMAL"); !done) return done;
  incoming_.metadata = metadata;
  incoming_.clocks.push_back(ClockMap::now());
  return flush();
}

void Writer::add(const Round& round) {
  const std::lock_guard lock(adding_);
  if (round.device < incoming_.rounds.size()) incoming_.rounds[round.device].push(round.deadline, round.readings);
}
void Writer::add(const Mark& mark) {
  const std::lock_guard lock(adding_);
  incoming_.marks.push_back(mark);
}
void Writer::add(const ProcessSample& sample) {
  const std::lock_guard lock(adding_);
  incoming_.processes.push_back(sample);
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

// Moves what was added to what is to be written. Only the swaps are under the mutex.
void Writer::take_over() {
  Incoming fresh;
  fresh.rounds.swap(taken_.rounds);  // empty columns with room
  {
    const std::lock_guard lock(adding_);
    std::swap(fresh, incoming_);
  }
  for (std::size_t d = 0; d < open_rounds_.size(); ++d) {
    open_rounds_[d].append(fresh.rounds[d]);
    fresh.rounds[d].clear();
  }
  taken_.rounds.swap(fresh.rounds);
  for (const Mark& mark : fresh.marks) {
    open_marks_.time.push_back(mark.time.ns);
    open_marks_.pid.push_back(mark.pid);
    open_marks_.tid.push_back(mark.tid);
    open_marks_.kind.push_back(static_cast<std::int64_t>(mark.kind));
    open_marks_.name.push_back(mark_names_.id(mark.name));
    open_marks_.value.push_back(std::bit_cast<std::int64_t>(mark.value));
  }
  for (const ProcessSample& sample : fresh.processes) {
    const std::int64_t id = processes_.id({sample.id.pid, sample.id.start_ticks, sample.parent, sample.name});
    process_rows_.emplace_back(id, sample.time.ns, sample.cpu.base_units());
  }
  taken_.events.insert(taken_.events.end(), fresh.events.begin(), fresh.events.end());
  taken_.clocks.insert(taken_.clocks.end(), fresh.clocks.begin(), fresh.clocks.end());
  for (auto& [name, json] : fresh.metadata) taken_.metadata[name] = json;
}

Result<void> Writer::write_summaries(std::int64_t chunk, const RoundColumns& rounds, std::size_t from, std::size_t count) {
  auto insert = database_.prepare("INSERT INTO chunk_summary VALUES (?,?,?,?,?,?,?,?)");
  if (!insert) return std::unexpected(insert.error());
  for (std::size_t c = 0; c < rounds.channels.size(); ++c) {
    const ChannelSummary s = summarise(rounds.channels[c], from, count);
    insert->bind(chunk).bind(static_cast<std::int64_t>(c)).bind(s.first).bind(s.last).bind(s.min).bind(s.max);
    if (auto done = insert->bind(s.missing).bind(std::int64_t{s.monotone}).run(); !done) return done;
  }
  return {};
}

Result<void> Writer::write_round_rows(bool chunk, std::size_t device, std::size_t from, std::size_t count) {
  const RoundColumns& rounds = open_rounds_[device];
  auto insert =
      database_.prepare(chunk ? "INSERT INTO chunk VALUES (NULL,?,?,?,?,?,?,?,?)" : "REPLACE INTO tail VALUES (NULL,?,?,?,?,?,?,?,?)");
  if (!insert) return std::unexpected(insert.error());
  std::int64_t missing = 0;
  for (const auto& channel : rounds.channels) missing += summarise(channel, from, count).missing;
  const Bytes blob = codec_.pack(rounds, from, count);
  insert->bind(static_cast<std::int64_t>(device)).bind(open_[device].first + static_cast<std::int64_t>(from));
  insert->bind(static_cast<std::int64_t>(count)).bind(rounds.begin[from]).bind(rounds.end[from + count - 1]);
  insert->bind(missing).bind(std::int64_t{crc32(blob)}).bind(std::span<const std::uint8_t>(blob));
  if (auto done = insert->run(); !done) return done;
  return chunk ? write_summaries(sqlite3_last_insert_rowid(database_.handle()), rounds, from, count) : Result<void>{};
}

Result<void> Writer::write_device(std::size_t device, bool closing) {
  const std::size_t rows = open_rounds_[device].rows();
  const Progress next = progress(rows, open_[device], closing);
  for (std::size_t from = 0; from < next.into_chunks; from += chunk_rows) {
    if (auto done = write_round_rows(true, device, from, std::min(chunk_rows, next.into_chunks - from)); !done) return done;
  }
  std::size_t from = open_[device].in_tails;
  if (next.into_chunks > 0) {
    if (auto done = database_.execute("DELETE FROM tail WHERE device=" + std::to_string(device)); !done) return done;
    from = next.into_chunks;
  }
  for (; from < rows; from += tail_rows) {
    if (auto done = write_round_rows(false, device, from, std::min(tail_rows, rows - from)); !done) return done;
  }
  return {};
}

Result<void> Writer::write_rounds(bool closing) {
  for (std::size_t d = 0; d < open_rounds_.size(); ++d) {
    if (auto done = write_device(d, closing); !done) return done;
  }
  return {};
}

Result<void> Writer::write_mark_rows(bool chunk, std::size_t from, std::size_t count) {
  auto insert = database_.prepare(chunk ? "INSERT INTO mark_chunk VALUES (?,?,?,?,?,?)" : "REPLACE INTO mark_tail VALUES (?,?,?,?,?,?)");
  if (!insert) return std::unexpected(insert.error());
  const Bytes blob = codec_.pack(open_marks_, from, count);
  const auto times = std::span(open_marks_.time).subspan(from, count);
  const auto [first, last] = std::minmax_element(times.begin(), times.end());
  insert->bind(marks_.first + static_cast<std::int64_t>(from)).bind(static_cast<std::int64_t>(count)).bind(*first).bind(*last);
  return insert->bind(std::int64_t{crc32(blob)}).bind(std::span<const std::uint8_t>(blob)).run();
}

Result<void> Writer::write_marks(bool closing) {
  auto name = database_.prepare("INSERT INTO mark_name VALUES (?,?)");
  if (!name) return std::unexpected(name.error());
  std::int64_t id = mark_names_.first_added();
  for (const auto& text : mark_names_.added) {
    if (auto done = name->bind(id++).bind(text).run(); !done) return done;
  }
  const std::size_t rows = open_marks_.rows();
  const Progress next = progress(rows, marks_, closing);
  for (std::size_t from = 0; from < next.into_chunks; from += chunk_rows) {
    if (auto done = write_mark_rows(true, from, std::min(chunk_rows, next.into_chunks - from)); !done) return done;
  }
  std::size_t from = marks_.in_tails;
  if (next.into_chunks > 0) {
    if (auto done = database_.execute("DELETE FROM mark_tail"); !done) return done;
    from = next.into_chunks;
  }
  for (; from < rows; from += tail_rows) {
    if (auto done = write_mark_rows(false, from, std::min(tail_rows, rows - from)); !done) return done;
  }
  return {};
}

Result<void> Writer::write_processes() {
  auto identity = database_.prepare("INSERT INTO process VALUES (?,?,?,?,?)");
  auto sample = database_.prepare("INSERT INTO process_sample VALUES (?,?,?)");
  if (!identity) return std::unexpected(identity.error());
  if (!sample) return std::unexpected(sample.error());
  std::int64_t id = processes_.first_added();
  for (const auto& [pid, start, parent, name] : processes_.added) {
    identity->bind(id++).bind(std::int64_t{pid}).bind(start).bind(std::int64_t{parent}).bind(name);
    if (auto done = identity->run(); !done) return done;
  }
  for (const auto& [process, time, cpu] : process_rows_) {
    if (auto done = sample->bind(process).bind(time).bind(cpu).run(); !done) return done;
  }
  return {};
}

Result<void> Writer::write_events() {
  auto insert = database_.prepare("INSERT INTO event VALUES (?,?,?,?,?)");
  if (!insert) return std::unexpected(insert.error());
  for (const auto& event : taken_.events) {
    insert->bind(event.when.begin.ns).bind(event.when.end.ns).bind(event.kind).bind(event.detail).bind(event.count);
    if (auto done = insert->run(); !done) return done;
  }
  return {};
}

Result<void> Writer::write_clocks_and_metadata() {
  auto clock = database_.prepare("INSERT INTO clock VALUES (?,?,?)");
  auto metadata = database_.prepare("REPLACE INTO metadata VALUES (?,?)");
  if (!clock) return std::unexpected(clock.error());
  if (!metadata) return std::unexpected(metadata.error());
  for (const auto& crossing : taken_.clocks) {
    if (auto done = clock->bind(crossing.mono.ns).bind(crossing.boot.ns).bind(crossing.wall.ns).run(); !done) return done;
  }
  for (const auto& [name, json] : taken_.metadata) {
    if (auto done = metadata->bind(name).bind(json).run(); !done) return done;
  }
  return {};
}

Result<void> Writer::in_transaction(bool closing) {
  if (auto done = database_.execute("BEGIN IMMEDIATE"); !done) return done;
  if (auto done = write_rounds(closing); !done) return done;
  if (auto done = write_marks(closing); !done) return done;
  if (auto done = write_processes(); !done) return done;
  if (auto done = write_events(); !done) return done;
  if (auto done = write_clocks_and_metadata(); !done) return done;
  return database_.execute("COMMIT");
}

// The transaction is in the file: forget what was written.
void Writer::committed(bool closing) {
  const auto advance = [closing](auto& rows, Open& open) {
    const Progress next = progress(rows.rows(), open, closing);
    rows.drop_front(next.into_chunks);
    open.first += static_cast<std::int64_t>(next.into_chunks);
    open.in_tails = next.in_tails;
  };
  for (std::size_t d = 0; d < open_rounds_.size(); ++d) advance(open_rounds_[d], open_[d]);
  advance(open_marks_, marks_);
  mark_names_.added.clear();
  processes_.added.clear();
  process_rows_.clear();
  taken_.events.clear();
  taken_.clocks.clear();
  taken_.metadata.clear();
}

Result<void> Writer::write(bool closing) {
  const std::lock_guard lock(flushing_);
  if (closed_) return fail(ErrorCode::internal, "the recording is closed already");
  take_over();
  auto done = in_transaction(closing);
  if (done) {
    committed(closing);
    return {};
  }
  if (database_.in_transaction()) (void)database_.execute("ROLLBACK");
  return done;
}

// Leaves one plain file: the log is folded in, and the journal mode set back, so that it can be read from anywhere.
Result<void> Writer::close() {
  if (closed_) return {};
  if (auto done = write(true); !done) return done;
  const std::lock_guard lock(flushing_);
  if (mono_now() - created_ < worth_a_sync) (void)database_.execute("PRAGMA synchronous=OFF");
  if (auto done = database_.execute("PRAGMA wal_checkpoint(TRUNCATE)"); !done) return done;
  if (auto done = database_.execute("PRAGMA journal_mode=DELETE"); !done) return done;
  closed_ = true;
  database_ = Database();
  return {};
}

Error cannot_create(int number, const std::string& path) {
  if (number == EEXIST) return {ErrorCode::usage, "the recording exists already", path, "give another name, or remove it first"};
  return error_from_errno(number, "cannot create the recording", path, "give a path that can be written");
}

}  // namespace

Result<std::unique_ptr<RecordingWriter>> RecordingWriter::create(const std::string& path, std::vector<RecordedDevice> devices,
                                                                 const Metadata& metadata) {
  // A log without its recording may be all that is left of a run: SQLite would empty it.
  if (access((path + "-wal").c_str(), F_OK) == 0) return std::unexpected(cannot_create(EEXIST, path + "-wal"));
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return std::unexpected(cannot_create(errno, path));
  ::close(file);
  Result<void> begun;
  {
    auto database = Database::open_for_writing(path);
    if (database) {
      auto writer = std::make_unique<Writer>(std::move(*database), devices);
      begun = writer->begin(devices, metadata);
      if (begun) return writer;
    } else {
      begun = std::unexpected(database.error());
    }
  }
  for (const char* suffix : {"", "-wal", "-shm"}) ::unlink((path + suffix).c_str());
  begun.error().where = path;
  return std::unexpected(begun.error());
}

}  // namespace joulery
