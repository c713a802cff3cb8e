#include "record/stored_chunk.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <thread>

#include "core/huge_pages.h"
#include "record/crc32.h"
#include "record/names.h"

namespace joulery {
namespace {

constexpr std::size_t worth_a_thread = 200'000;  // values; a thread costs about as much as unpacking ten thousand

Result<std::vector<StoredChunk>> read_all(Database& database, const std::string& sql) {
  auto rows = database.prepare(sql);
  if (!rows) return std::unexpected(rows.error());
  std::vector<StoredChunk> chunks;
  while (true) {
    const auto more = rows->step();
    if (!more) return std::unexpected(more.error());
    if (!*more) return chunks;
    chunks.push_back(stored_chunk(*rows));
  }
}

// Places in `series` for one chunk whose first round is row `row`.
RoundTarget target_at(Series& series, std::size_t row) {
  RoundTarget target;
  target.before = series.before.data() + row;
  target.after = series.after.data() + row;
  for (auto& column : series.columns) {
    target.raw.push_back(column.raw.data() + row);
    target.reason.push_back(column.reason.empty() ? nullptr : column.reason.data() + row);
  }
  return target;
}

template <class T>
void close_gap(std::vector<T>& values, std::size_t from, std::size_t count) {
  if (values.empty()) return;
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(from);
  values.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
}

void remove_rows(Series& series, std::size_t from, std::size_t count) {
  close_gap(series.before, from, count);
  close_gap(series.after, from, count);
  for (auto& column : series.columns) {
    close_gap(column.raw, from, count);
    close_gap(column.reason, from, count);
  }
}

// `reason` only stays where something is missing.
void drop_empty_reasons(Series& series) {
  for (auto& column : series.columns) {
    const bool complete = std::all_of(column.reason.begin(), column.reason.end(), [](MissingReason r) { return r == MissingReason::none; });
    if (complete) column.reason = {};
  }
}

Series with_room(std::size_t rows, std::size_t channels, bool any_missing) {
  Series series;
  resize_in_huge_pages(series.before, rows);
  resize_in_huge_pages(series.after, rows);
  series.columns.resize(channels);
  for (auto& column : series.columns) {
    resize_in_huge_pages(column.raw, rows);
    if (any_missing) column.reason.resize(rows, MissingReason::none);
  }
  return series;
}

bool all_known(const MarkColumns& marks, std::size_t names) {
  const auto below = [](std::size_t limit) { return [limit](std::int64_t value) { return static_cast<std::uint64_t>(value) < limit; }; };
  return std::all_of(marks.kind.begin(), marks.kind.end(), below(RecordedNames<MarkKind>::all.size())) &&
         std::all_of(marks.name.begin(), marks.name.end(), below(names));
}

Mark mark_at(const MarkColumns& marks, std::size_t row, const std::vector<std::string>& names) {
  return {{marks.time[row]},
          static_cast<std::int32_t>(marks.pid[row]),
          static_cast<std::int32_t>(marks.tid[row]),
          static_cast<MarkKind>(marks.kind[row]),
          names[static_cast<std::size_t>(marks.name[row])],
          std::bit_cast<double>(marks.value[row])};
}

template <class Enum>
bool parse(std::string_view text, Enum& value) {
  const auto parsed = from_recorded_name<Enum>(text);
  if (parsed) value = *parsed;
  return parsed.has_value();
}

Result<Channel> channel_of(const Statement& row) {
  Channel channel;
  channel.component = Component(row.text(1));
  channel.name = row.text(2);
  const bool known = parse(row.text(3), channel.measurand) && parse(row.text(4), channel.behaviour) && parse(row.text(9), channel.scope);
  if (!known) {
    return fail(ErrorCode::format, "the recording has a channel of an unknown kind",
                "table channel, " + channel.component.path() + " " + channel.name);
  }
  channel.unit = row.real(5);
  channel.range = static_cast<std::uint64_t>(row.integer(6));
  channel.update_period = nanoseconds(row.integer(7));
  channel.averaging_window = nanoseconds(row.integer(8));
  channel.accuracy = {row.real(10), watts(row.real(11))};
  channel.max_power = watts(row.real(12));
  channel.always_burns = row.integer(13) != 0;
  return channel;
}

}  // namespace

StoredChunk stored_chunk(const Statement& row) {
  StoredChunk chunk{row.integer(0), 0, row.integer(2), row.integer(3), row.integer(4), static_cast<std::uint32_t>(row.integer(5)), {}};
  // A number of rounds that no writer makes becomes 0 rows of bytes, which no unpacking accepts.
  const std::int64_t rows = row.integer(1);
  if (rows > 0 && rows <= static_cast<std::int64_t>(ChunkCodec::max_rows)) chunk.rows = static_cast<std::size_t>(rows);
  const auto data = row.blob(6);
  chunk.data.assign(data.begin(), data.end());
  return chunk;
}

Result<std::vector<StoredChunk>> read_chunks(Database& database, std::size_t device) {
  const std::string columns = chunk_columns, where = " WHERE device=" + std::to_string(device);
  return read_all(database,
                  "SELECT " + columns + " FROM chunk" + where + " UNION ALL SELECT " + columns + " FROM tail" + where + " ORDER BY first");
}

Result<std::vector<StoredChunk>> read_mark_chunks(Database& database) {
  const std::string columns = mark_columns;
  return read_all(database, "SELECT " + columns + " FROM mark_chunk UNION ALL SELECT " + columns + " FROM mark_tail ORDER BY first");
}

bool intact(const StoredChunk& chunk) { return chunk.rows > 0 && crc32(chunk.data) == chunk.crc; }

Unpacked unpack_series(const std::vector<StoredChunk>& chunks, std::size_t channels) {
  std::vector<std::size_t> start;
  std::size_t rows = 0;
  for (const auto& chunk : chunks) {
    start.push_back(rows);
    rows += chunk.rows;
  }
  const bool any_missing = std::any_of(chunks.begin(), chunks.end(), [](const auto& chunk) { return chunk.missing != 0; });
  Unpacked result{with_room(rows, channels, any_missing), std::vector<bool>(chunks.size())};

  std::vector<char> readable(chunks.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    ChunkCodec codec;
    for (std::size_t i = next++; i < chunks.size(); i = next++) {
      readable[i] = intact(chunks[i]) && codec.unpack(chunks[i].data, chunks[i].rows, target_at(result.series, start[i]));
    }
  };
  std::thread helper;
  if (chunks.size() > 1 && rows * (channels + 2) > worth_a_thread) helper = std::thread(work);
  work();
  if (helper.joinable()) helper.join();

  for (std::size_t i = chunks.size(); i-- > 0;) {
    result.readable[i] = readable[i] != 0;
    if (readable[i] == 0) remove_rows(result.series, start[i], chunks[i].rows);
  }
  drop_empty_reasons(result.series);
  return result;
}

std::vector<Mark> unpack_marks(std::span<const StoredChunk> chunks, const std::vector<std::string>& names, std::vector<bool>& readable) {
  std::vector<Mark> marks;
  ChunkCodec codec;
  for (const auto& chunk : chunks) {
    MarkColumns columns;
    readable.push_back(intact(chunk) && codec.unpack(chunk.data, chunk.rows, columns) && all_known(columns, names.size()));
    if (!readable.back()) continue;
    for (std::size_t i = 0; i < columns.rows(); ++i) marks.push_back(mark_at(columns, i, names));
  }
  return marks;
}

Result<std::vector<RecordedDevice>> read_devices(Database& database) {
  auto device = database.prepare("SELECT id, kind, name, interval_ns FROM device ORDER BY id");
  if (!device) return std::unexpected(device.error());
  auto channel = database.prepare(
      "SELECT position, component, name, measurand, behaviour, unit, range, update_period_ns, averaging_window_ns, scope,"
      " accuracy_relative, accuracy_watts, max_watts, always_burns FROM channel WHERE device=? ORDER BY position");
  if (!channel) return std::unexpected(channel.error());
  std::vector<RecordedDevice> devices;
  while (true) {
    const auto more = device->step();
    if (!more) return std::unexpected(more.error());
    if (!*more) return devices;
    if (device->integer(0) != static_cast<std::int64_t>(devices.size())) {
      return fail(ErrorCode::format, "the recording's devices are not numbered from 0", "table device");
    }
    RecordedDevice of{device->text(1), device->text(2), nanoseconds(device->integer(3)), {}};
    channel->bind(device->integer(0));
    while (true) {
      const auto row = channel->step();
      if (!row) return std::unexpected(row.error());
      if (!*row) break;
      auto parsed = channel_of(*channel);
      if (!parsed) return std::unexpected(parsed.error());
      of.channels.push_back(std::move(*parsed));
    }
    devices.push_back(std::move(of));
  }
}

Result<std::vector<std::string>> read_mark_names(Database& database) {
  auto rows = database.prepare("SELECT name FROM mark_name ORDER BY id");
  if (!rows) return std::unexpected(rows.error());
  std::vector<std::string> names;
  while (true) {
    const auto more = rows->step();
    if (!more) return std::unexpected(more.error());
    if (!*more) return names;
    names.push_back(rows->text(0));
  }
}

Result<std::vector<ClockMap>> read_clock_maps(Database& database) {
  auto rows = database.prepare("SELECT mono_ns, boot_ns, wall_ns FROM clock ORDER BY mono_ns");
  if (!rows) return std::unexpected(rows.error());
  std::vector<ClockMap> maps;
  while (true) {
    const auto more = rows->step();
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
    maps.push_back({{rows->integer(0)}, {rows->integer(1)}, {rows->integer(2)}});
  }
  if (maps.empty()) return fail(ErrorCode::format, "the recording does not say when it was made", "table clock");
  return maps;
}

}  // namespace joulery
