#include <sqlite3.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

#include "record/decoded_tables.h"
#include "record/names.h"
#include "record/stored_chunk.h"

namespace joulery {
namespace {

enum Column { device, kind, channel, component, t_s, mono_ns, raw, value, unit, missing };

// By Measurand.
constexpr const char* si_units[] = {"J", "W", "s", "B", "1", "Hz", "mask", "s", "W", "B", "B/s", "s"};
static_assert(std::size(si_units) == RecordedNames<Measurand>::all.size());

// Times that can be wanted, in microseconds; wider than asked for by up to a chunk.
struct TimeRange {
  double least = -std::numeric_limits<double>::infinity(), greatest = std::numeric_limits<double>::infinity();
};

// A device of which something is wanted, and its wanted channels.
struct Wanted {
  std::size_t device = 0;
  std::vector<std::size_t> channels;
};

std::string text_of(sqlite3_value* of) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(of));
  return text == nullptr ? std::string() : std::string(text, static_cast<std::size_t>(sqlite3_value_bytes(of)));
}

const std::string& text_in(const RecordedDevice& of, const Channel& in, int column) {
  if (column == device) return of.name;
  if (column == kind) return of.kind;
  return column == channel ? in.name : in.component.path();
}

bool matches(const RecordedDevice& of, const Channel& in, const std::vector<Filter>& filters) {
  for (const auto& filter : filters) {
    const bool is_text = filter.column <= component && sqlite3_value_type(filter.value) == SQLITE_TEXT;
    if (is_text && filter.how == Comparison::equal && text_in(of, in, filter.column) != text_of(filter.value)) return false;
  }
  return true;
}

void narrow(TimeRange& range, const Filter& filter, MonoTime start) {
  if (filter.column != t_s && filter.column != mono_ns) return;
  const int type = sqlite3_value_numeric_type(filter.value);
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return;
  const double given = sqlite3_value_double(filter.value);
  // A microsecond more on either side, so that rounding never excludes a row.
  const double us = filter.column == mono_ns ? given * 1e-3 : given * 1e6 + static_cast<double>(start.ns) * 1e-3;
  if (filter.how != Comparison::less) range.least = std::max(range.least, us - 1);
  if (filter.how != Comparison::greater) range.greatest = std::min(range.greatest, us + 1);
}

class SamplesCursor final : public TableCursor {
 public:
  explicit SamplesCursor(const DecodedSource& source) : source_(source) {}
  Result<void> start(const std::vector<Filter>& filters, std::uint64_t used) override;
  Result<void> advance() override;
  bool done() const override { return next_ > wanted_.size(); }
  void give(int column, sqlite3_context* result) const override;

 private:
  Result<void> next_chunk();
  Result<bool> step_chunks();
  Result<void> open_device();
  void unpack();
  void give_raw(sqlite3_context* result) const;
  void give_value(sqlite3_context* result) const;
  void give_missing(sqlite3_context* result) const;
  const RecordedDevice& of() const { return source_.devices[wanted_[next_ - 1].device]; }
  std::size_t wanted_channel() const { return wanted_[next_ - 1].channels[column_]; }
  const Channel& in() const { return of().channels[wanted_channel()]; }
  MissingReason reason() const { return reasons_[column_].empty() ? MissingReason::none : reasons_[column_][row_]; }

  const DecodedSource& source_;
  ChunkCodec codec_;
  bool values_used_ = true;
  TimeRange range_;
  std::vector<Wanted> wanted_;
  std::size_t next_ = 0;  // of the wanted; the current one is before it
  std::optional<Statement> chunks_;
  StoredChunk chunk_;
  bool readable_ = false;
  std::size_t rows_ = 0, row_ = 0, column_ = 0;  // in the current chunk; column_: index into the wanted channels
  std::vector<MonoTime> before_;
  std::vector<std::vector<std::int64_t>> raws_;        // by wanted channel
  std::vector<std::vector<MissingReason>> reasons_;    // the same
};

Result<void> SamplesCursor::start(const std::vector<Filter>& filters, std::uint64_t used) {
  values_used_ = (used & (1u << raw | 1u << value)) != 0;
  range_ = {};
  for (const auto& filter : filters) narrow(range_, filter, source_.start);
  wanted_.clear();
  for (std::size_t d = 0; d < source_.devices.size(); ++d) {
    Wanted wanted{d, {}};
    for (std::size_t c = 0; c < source_.devices[d].channels.size(); ++c) {
      if (matches(source_.devices[d], source_.devices[d].channels[c], filters)) wanted.channels.push_back(c);
    }
    if (!wanted.channels.empty()) wanted_.push_back(std::move(wanted));
  }
  next_ = 0;
  chunks_.reset();
  return next_chunk();
}

Result<void> SamplesCursor::open_device() {
  const std::string columns = chunk_columns;
  const std::string where = " WHERE device=?1 AND end_us>=?2 AND begin_us<=?3";
  auto chunks = source_.database->prepare("SELECT " + columns + " FROM chunk" + where + " UNION ALL SELECT " + columns + " FROM tail" +
                                          where + " ORDER BY first");
  if (!chunks) return std::unexpected(chunks.error());
  chunks->bind(static_cast<std::int64_t>(wanted_[next_ - 1].device)).bind(range_.least).bind(range_.greatest);
  chunks_.emplace(std::move(*chunks));
  return {};
}

// True: chunk_ is the next chunk of what is wanted.
Result<bool> SamplesCursor::step_chunks() {
  while (true) {
    if (!chunks_) {
      if (++next_ > wanted_.size()) return false;
      if (auto done = open_device(); !done) return std::unexpected(done.error());
    }
    const auto more = chunks_->step();
    if (!more) return std::unexpected(more.error());
    if (*more) break;
    chunks_.reset();
  }
  chunk_ = stored_chunk(*chunks_);
  return true;
}

Result<void> SamplesCursor::next_chunk() {
  const auto more = step_chunks();
  if (!more) return std::unexpected(more.error());
  if (*more) unpack();
  return {};
}

void SamplesCursor::unpack() {
  const auto& channels = wanted_[next_ - 1].channels;
  row_ = column_ = 0;
  rows_ = chunk_.rows;
  before_.resize(rows_);
  raws_.resize(channels.size());
  reasons_.resize(channels.size());
  RoundTarget target;
  target.before = before_.data();
  std::vector<MissingReason> unused(chunk_.missing != 0 ? rows_ : 0, MissingReason::none);
  target.raw.resize(of().channels.size(), nullptr);
  target.reason.resize(of().channels.size(), unused.empty() ? nullptr : unused.data());
  for (std::size_t c = 0; c < channels.size(); ++c) {
    raws_[c].resize(rows_);
    reasons_[c].assign(unused.size(), MissingReason::none);
    if (values_used_) target.raw[channels[c]] = raws_[c].data();
    if (!unused.empty()) target.reason[channels[c]] = reasons_[c].data();
  }
  readable_ = intact(chunk_) && codec_.unpack(chunk_.data, rows_, target);
  if (readable_) return;
  rows_ = 1;
  before_.assign(1, MonoTime{chunk_.begin * 1000});
}

Result<void> SamplesCursor::advance() {
  if (++column_ < wanted_[next_ - 1].channels.size()) return {};
  column_ = 0;
  return ++row_ < rows_ ? Result<void>{} : next_chunk();
}

void SamplesCursor::give_raw(sqlite3_context* result) const {
  if (readable_ && reason() == MissingReason::none) sqlite3_result_int64(result, raws_[column_][row_]);
}

void SamplesCursor::give_value(sqlite3_context* result) const {
  if (!readable_ || reason() != MissingReason::none) return;
  const std::int64_t counts = raws_[column_][row_];
  const bool is_counter = in().behaviour == Behaviour::counter;
  const double number = is_counter ? static_cast<double>(static_cast<std::uint64_t>(counts)) : static_cast<double>(counts);
  sqlite3_result_double(result, number * in().unit);
}

void SamplesCursor::give_missing(sqlite3_context* result) const {
  if (!readable_)
    give_text(result, "chunk unreadable: " + std::to_string(chunk_.rows) + " rounds");
  else if (reason() != MissingReason::none)
    give_text(result, describe(reason()));
}

void SamplesCursor::give(int column, sqlite3_context* result) const {
  if (column <= component) return give_text(result, text_in(of(), in(), column));
  if (column == t_s) return sqlite3_result_double(result, to_seconds(before_[row_] - source_.start));
  if (column == mono_ns) return sqlite3_result_int64(result, before_[row_].ns);
  if (column == raw) return give_raw(result);
  if (column == value) return give_value(result);
  if (column == unit) return give_text(result, si_units[static_cast<std::size_t>(in().measurand)]);
  give_missing(result);
}

class SamplesTable final : public VirtualTable {
 public:
  explicit SamplesTable(const DecodedSource& source) : source_(source) {}
  const char* declaration() const override {
    return "CREATE TABLE x(device TEXT, kind TEXT, channel TEXT, component TEXT, t_s REAL, mono_ns INTEGER, raw INTEGER, value REAL,"
           " unit TEXT, missing TEXT)";
  }
  bool can_filter(int column) const override { return column <= mono_ns; }
  std::unique_ptr<TableCursor> cursor() const override { return std::make_unique<SamplesCursor>(source_); }

 private:
  const DecodedSource& source_;
};

}  // namespace

std::unique_ptr<VirtualTable> samples_table(const DecodedSource& source) { return std::make_unique<SamplesTable>(source); }

}  // namespace joulery
