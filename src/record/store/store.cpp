#include "record/store/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <mutex>
#include <utility>

#include "record/store/day_writer.h"
#include "record/store/old_days.h"

namespace joulery {
namespace {

// A file handle that holds the folder for one writer.
class FolderLock {
 public:
  FolderLock() = default;
  explicit FolderLock(int file) : file_(file) {}
  FolderLock(FolderLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  FolderLock& operator=(FolderLock&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~FolderLock() { release(); }
  void release() {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
  }

 private:
  int file_ = -1;
};

Result<FolderLock> lock_folder(const std::string& folder) {
  const std::string path = folder + "/lock";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  if (file < 0) return std::unexpected(error_from_errno(errno, "cannot write to the store", path, "give a folder that can be written"));
  FolderLock lock(file);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorCode::busy, "another agent writes to this store", folder, "stop it, or give another folder");
  return lock;
}

Result<void> check_formats(const std::string& folder) {
  const auto days = days_in(folder);
  if (!days) return std::unexpected(days.error());
  for (const std::int64_t day : *days) {
    const auto known = check_day_file(folder + "/" + day_file_name(day));
    if (!known) return std::unexpected(known.error());
  }
  return {};
}

// Damaged beyond use: not a database, or one without our tables.
bool is_damage(const Error& error) { return error.code == ErrorCode::format || error.code == ErrorCode::usage; }

class FolderStore final : public Store {
 public:
  FolderStore(std::string folder, const StoreSettings& settings, FolderLock lock)
      : folder_(std::move(folder)), settings_(settings), lock_(std::move(lock)), old_days_(folder_, settings_) {}
  ~FolderStore() override { (void)close(); }

  SeriesId series(const SeriesKey& key) override;
  void forget(SeriesId series) override;
  void add(WallTime at, Duration tick, std::span<const StoreSample> samples) override;
  Result<void> flush() override;
  Result<void> close() override;
  std::vector<StoreEvent> take_events() override;
  StoreCounts counts() const override;

 private:
  void take_over();
  void drop_beyond(std::deque<WaitingRow>& rows, std::size_t& weight);
  Result<void> write_all();
  Result<void> write_some();
  Result<void> open_day(std::int64_t day);
  Result<void> fold(bool hour_is_over);
  Result<void> move_aside(std::int64_t day, const Error& why);
  Result<void> write_with_repairs();
  void tidy();
  void committed(std::size_t count);
  void note_lost(std::int64_t lost, std::int64_t day);
  void say(StoreEventKind kind, std::string text);
  std::string path_of(std::int64_t day) const { return folder_ + "/" + day_file_name(day); }

  const std::string folder_;
  const StoreSettings settings_;
  FolderLock lock_;

  mutable std::mutex adding_;  // held for moves of memory
  SeriesBook book_;            // under adding_, and so all down to events_
  std::deque<WaitingRow> incoming_;
  std::size_t incoming_weight_ = 0;
  std::int64_t ticks_ = 0;
  StoreCounts counts_;
  std::vector<StoreEvent> events_;

  std::mutex flushing_;  // all below
  StoreTools tools_;
  std::deque<WaitingRow> waiting_;
  std::size_t waiting_weight_ = 0;
  std::optional<DayWriter> day_;
  OldDays old_days_;
  std::string trouble_;  // why nothing can be written; "" while all is well
  std::string untidy_;   // what was last said of an old day
  bool closed_ = false;
};

SeriesId FolderStore::series(const SeriesKey& key) {
  const std::lock_guard lock(adding_);
  return book_.id(key);
}

void FolderStore::forget(SeriesId series) {
  const std::lock_guard lock(adding_);
  book_.forget(series);
}

void FolderStore::add(WallTime at, Duration tick, std::span<const StoreSample> samples) {
  const std::int64_t end = floor_to(at.ns, 1'000'000) / 1'000'000;
  WaitingRow row;
  row.begin_ms = floor_to((at - tick).ns, 1'000'000) / 1'000'000;
  row.length_ms = end - row.begin_ms;
  const std::lock_guard lock(adding_);
  row.bytes.reserve(samples.size() * 4);
  for (const StoreSample& sample : samples) {
    if (!book_.known(sample.series) || !book_.first_in(ticks_, sample.series)) {
      ++counts_.refused_samples;
      continue;
    }
    put_varint(row.bytes, sample.series.value);
    put_signed(row.bytes, sample.count);
    ++row.samples;
  }
  ++ticks_;
  incoming_weight_ += row.weight();
  incoming_.push_back(std::move(row));
  drop_beyond(incoming_, incoming_weight_);
}

// Gives up the oldest rows; under adding_.
void FolderStore::drop_beyond(std::deque<WaitingRow>& rows, std::size_t& weight) {
  std::int64_t dropped = 0;
  for (; weight > settings_.waiting_bytes && rows.size() > 1; ++dropped) {
    weight -= rows.front().weight();
    rows.pop_front();
  }
  if (dropped > 0 && counts_.dropped_rows == 0)
    events_.push_back({StoreEventKind::dropped, "more waits than may: the oldest rows of the store are given up"});
  counts_.dropped_rows += dropped;
}

void FolderStore::take_over() {
  const std::lock_guard lock(adding_);
  for (auto& row : incoming_) waiting_.push_back(std::move(row));
  waiting_weight_ += std::exchange(incoming_weight_, 0);
  incoming_.clear();
}

void FolderStore::say(StoreEventKind kind, std::string text) {
  const std::lock_guard lock(adding_);
  events_.push_back({kind, std::move(text)});
}

void FolderStore::note_lost(std::int64_t lost, std::int64_t day) {
  if (lost > 0) say(StoreEventKind::damaged, fmt::format("{} rows of {} could not be read, and are lost", lost, path_of(day)));
}

Result<void> FolderStore::open_day(std::int64_t day) {
  if (day_ && day_->day() == day) return {};
  if (day_) {
    const auto lost = day_->finish(tools_);
    if (!lost) return std::unexpected(lost.error());
    note_lost(*lost, day_->day());
    day_.reset();
  }
  auto opened = DayWriter::open(path_of(day), day, book_, adding_, tools_);
  if (!opened) return std::unexpected(opened.error());
  day_.emplace(std::move(*opened));
  return {};
}

Result<void> FolderStore::fold(bool hour_is_over) {
  const auto lost = day_->fold(hour_is_over, tools_);
  if (!lost) return std::unexpected(lost.error());
  note_lost(*lost, day_->day());
  const std::lock_guard lock(adding_);
  book_.settle();
  return {};
}

void FolderStore::committed(std::size_t count) {
  std::int64_t samples = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const WaitingRow& row = waiting_.front();
    old_days_.saw(row.begin_ms, row.length_ms);
    samples += row.samples;
    waiting_weight_ -= row.weight();
    waiting_.pop_front();
  }
  const std::lock_guard lock(adding_);
  counts_.rows += static_cast<std::int64_t>(count);
  counts_.samples += samples;
  counts_.waiting_bytes = static_cast<std::int64_t>(waiting_weight_);
}

// The rows at the front that belong into one block.
Result<void> FolderStore::write_some() {
  const WaitingRow& next = waiting_.front();
  if (auto done = open_day(day_of(next.begin_ms)); !done) return done;
  if (day_->must_fold(next, settings_.fold_samples)) {
    if (auto done = fold(day_->hour() != floor_to(next.begin_ms, hour_ms)); !done) return done;
  }
  const auto count = day_->commit(waiting_, settings_.fold_samples, book_, adding_, tools_);
  if (!count) return std::unexpected(count.error());
  committed(*count);
  return {};
}

Result<void> FolderStore::write_all() {
  while (!waiting_.empty()) {
    if (auto done = write_some(); !done) return done;
  }
  const std::lock_guard lock(adding_);
  if (incoming_.empty()) book_.release();
  return {};
}

Result<void> FolderStore::move_aside(std::int64_t day, const Error& why) {
  const std::string path = path_of(day);
  if (day_ && day_->day() == day) day_.reset();
  std::string aside = path + ".damaged";
  for (int i = 1; access(aside.c_str(), F_OK) == 0; ++i) aside = fmt::format("{}.damaged-{}", path, i);
  if (::rename(path.c_str(), aside.c_str()) != 0)
    return std::unexpected(error_from_errno(errno, "cannot move a damaged day of the store aside", path));
  (void)::rename((path + "-wal").c_str(), (aside + "-wal").c_str());
  ::unlink((path + "-shm").c_str());
  say(StoreEventKind::aside,
      fmt::format("the store's {} is damaged ({}): it is kept as {}, and a new one is begun", path, why.what, aside));
  return {};
}

// A damaged file is moved aside, and the rows go into a new one. The day that was open, or that should have been.
Result<void> FolderStore::write_with_repairs() {
  Result<void> done;
  for (int turn = 0; turn < 3; ++turn) {
    done = write_all();
    if (done || !is_damage(done.error())) return done;
    const std::int64_t day = day_ ? day_->day() : day_of(waiting_.front().begin_ms);
    if (auto moved = move_aside(day, done.error()); !moved) return moved;
  }
  return done;
}

// What goes wrong with an old day never stops the present one.
void FolderStore::tidy() {
  if (!day_) return;
  const auto lost = old_days_.tidy_one(day_->day(), tools_);
  if (lost) return note_lost(*lost, old_days_.failed_day());
  if (is_damage(lost.error())) {
    if (move_aside(old_days_.failed_day(), lost.error())) return;
  }
  if (std::string line = lost.error().line(); line != untidy_) {
    say(StoreEventKind::untidy, "an old day of the store cannot be put in order: " + line);
    untidy_ = std::move(line);
  }
}

Result<void> FolderStore::flush() {
  const std::lock_guard lock(flushing_);
  if (closed_) return fail(ErrorCode::internal, "the store is closed already", folder_);
  take_over();
  auto done = write_with_repairs();
  if (done) {
    if (!std::exchange(trouble_, "").empty()) say(StoreEventKind::resumed, "the store is written again: " + folder_);
    tidy();
    return done;
  }
  const std::lock_guard adding(adding_);
  drop_beyond(waiting_, waiting_weight_);
  counts_.waiting_bytes = static_cast<std::int64_t>(waiting_weight_);
  if (std::string line = done.error().line(); line != trouble_) {
    events_.push_back({StoreEventKind::stopped, "the store cannot be written: " + line});
    trouble_ = std::move(line);
  }
  return done;
}

Result<void> FolderStore::close() {
  if (closed_) return {};
  auto done = flush();
  const std::lock_guard lock(flushing_);
  closed_ = true;
  day_.reset();
  lock_.release();
  return done;
}

std::vector<StoreEvent> FolderStore::take_events() {
  const std::lock_guard lock(adding_);
  return std::exchange(events_, {});
}

StoreCounts FolderStore::counts() const {
  const std::lock_guard lock(adding_);
  StoreCounts counts = counts_;
  counts.waiting_bytes += static_cast<std::int64_t>(incoming_weight_);
  return counts;
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(const std::string& folder, const StoreSettings& settings) {
  if (::mkdir(folder.c_str(), 0750) != 0 && errno != EEXIST)
    return std::unexpected(error_from_errno(errno, "cannot make the store", folder, "give a folder that can be written"));
  auto lock = lock_folder(folder);
  if (!lock) return std::unexpected(lock.error());
  if (auto known = check_formats(folder); !known) return std::unexpected(known.error());
  return std::make_unique<FolderStore>(folder, settings, std::move(*lock));
}

}  // namespace joulery
