// Several blocks of a roll-up become one: see fold.h.
#include <utility>

#include "record/crc32.h"
#include "record/store/block_writer.h"
#include "record/store/fold.h"

namespace joulery {
namespace {

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

}  // namespace

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

Result<void> merge_sound(Database& database, Level level, std::int64_t begin_ms, std::int64_t end_ms, StoreTools& tools) {
  if (auto done = database.execute("SAVEPOINT merging"); !done) return done;
  auto merged = merge_blocks(database, level, begin_ms, end_ms, tools);
  if (!merged && merged.error().code == ErrorCode::format) merged = database.execute("ROLLBACK TO merging");
  if (!merged) return merged;
  return database.execute("RELEASE merging");
}

}  // namespace joulery
