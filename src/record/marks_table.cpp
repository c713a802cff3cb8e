#include <sqlite3.h>

#include <bit>
#include <optional>

#include "record/decoded_tables.h"
#include "record/names.h"
#include "record/stored_chunk.h"

namespace joulery {
namespace {

enum Column { t_s, mono_ns, pid, tid, kind, name, value };

class MarksCursor final : public TableCursor {
 public:
  explicit MarksCursor(const DecodedSource& source) : source_(source) {}
  Result<void> start(const std::vector<Filter>& filters, std::uint64_t used) override;
  Result<void> advance() override;
  bool done() const override { return !chunks_; }
  void give(int column, sqlite3_context* result) const override;

 private:
  Result<void> next_chunk();

  const DecodedSource& source_;
  std::optional<Statement> chunks_;
  std::vector<Mark> marks_;
  std::size_t row_ = 0;
};

Result<void> MarksCursor::start(const std::vector<Filter>&, std::uint64_t) {
  const std::string columns = mark_columns;
  auto chunks =
      source_.database->prepare("SELECT " + columns + " FROM mark_chunk UNION ALL SELECT " + columns + " FROM mark_tail ORDER BY first");
  if (!chunks) return std::unexpected(chunks.error());
  chunks_.emplace(std::move(*chunks));
  return next_chunk();
}

// A damaged chunk gives one row of nothing but its time and a name that says so.
Result<void> MarksCursor::next_chunk() {
  row_ = 0;
  const auto more = chunks_->step();
  if (!more) return std::unexpected(more.error());
  if (!*more) {
    chunks_.reset();
    return {};
  }
  std::vector<bool> readable;
  const StoredChunk chunk = stored_chunk(*chunks_);
  marks_ = unpack_marks(std::span(&chunk, 1), source_.mark_names, readable);
  if (!readable[0])
    marks_.push_back({{chunk.begin}, 0, 0, MarkKind::point, "chunk unreadable: " + std::to_string(chunk.rows) + " marks", 0});
  return {};
}

Result<void> MarksCursor::advance() { return ++row_ < marks_.size() ? Result<void>{} : next_chunk(); }

void MarksCursor::give(int column, sqlite3_context* result) const {
  const Mark& mark = marks_[row_];
  if (column == t_s) sqlite3_result_double(result, to_seconds(mark.time - source_.start));
  if (column == mono_ns) sqlite3_result_int64(result, mark.time.ns);
  if (column == pid) sqlite3_result_int(result, mark.pid);
  if (column == tid) sqlite3_result_int(result, mark.tid);
  if (column == kind) give_text(result, recorded_name(mark.kind));
  if (column == name) give_text(result, mark.name);
  if (column == value) sqlite3_result_double(result, mark.value);
}

class MarksTable final : public VirtualTable {
 public:
  explicit MarksTable(const DecodedSource& source) : source_(source) {}
  const char* declaration() const override {
    return "CREATE TABLE x(t_s REAL, mono_ns INTEGER, pid INTEGER, tid INTEGER, kind TEXT, name TEXT, value REAL)";
  }
  bool can_filter(int) const override { return false; }
  std::unique_ptr<TableCursor> cursor() const override { return std::make_unique<MarksCursor>(source_); }

 private:
  const DecodedSource& source_;
};

}  // namespace

std::unique_ptr<VirtualTable> marks_table(const DecodedSource& source) { return std::make_unique<MarksTable>(source); }

}  // namespace joulery
