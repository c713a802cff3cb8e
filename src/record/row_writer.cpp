#include "record/row_writer.h"

#include <sqlite3.h>

#include <algorithm>

#include "record/crc32.h"
#include "record/names.h"

namespace joulery {

Result<void> write_devices(Database& database, const std::vector<RecordedDevice>& devices) {
  auto device = database.prepare("INSERT INTO device VALUES (?,?,?,?)");
  auto channel = database.prepare("INSERT INTO channel VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
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

Result<void> RowWriter::write_summaries(std::int64_t chunk, const RoundColumns& rounds, std::size_t from, std::size_t count) {
  auto insert = database_.prepare("INSERT INTO chunk_summary VALUES (?,?,?,?,?,?,?,?)");
  if (!insert) return std::unexpected(insert.error());
  for (std::size_t c = 0; c < rounds.channels.size(); ++c) {
    const ChannelSummary s = summarise(rounds.channels[c], from, count);
    insert->bind(chunk).bind(static_cast<std::int64_t>(c)).bind(s.first).bind(s.last).bind(s.min).bind(s.max);
    if (auto done = insert->bind(s.missing).bind(std::int64_t{s.monotone}).run(); !done) return done;
  }
  return {};
}

Result<void> RowWriter::write_round_rows(bool chunk, std::size_t device, std::size_t from, std::size_t count) {
  const RoundColumns& rounds = pending_.rounds[device];
  auto insert =
      database_.prepare(chunk ? "INSERT INTO chunk VALUES (NULL,?,?,?,?,?,?,?,?)" : "REPLACE INTO tail VALUES (NULL,?,?,?,?,?,?,?,?)");
  if (!insert) return std::unexpected(insert.error());
  std::int64_t missing = 0;
  for (const auto& channel : rounds.channels) missing += summarise(channel, from, count).missing;
  const Bytes blob = codec_.pack(rounds, from, count, chunk ? Packing::tight : Packing::quick);
  insert->bind(static_cast<std::int64_t>(device)).bind(pending_.open[device].first + static_cast<std::int64_t>(from));
  insert->bind(static_cast<std::int64_t>(count)).bind(rounds.begin[from]).bind(rounds.end[from + count - 1]);
  insert->bind(missing).bind(std::int64_t{crc32(blob)}).bind(std::span<const std::uint8_t>(blob));
  if (auto done = insert->run(); !done) return done;
  return chunk ? write_summaries(sqlite3_last_insert_rowid(database_.handle()), rounds, from, count) : Result<void>{};
}

Result<void> RowWriter::write_device(std::size_t device) {
  const std::size_t rows = pending_.rounds[device].rows();
  const AfterFlush next = after_flush(rows, pending_.open[device], closing_);
  for (std::size_t from = 0; from < next.into_chunks; from += chunk_rows) {
    if (auto done = write_round_rows(true, device, from, std::min(chunk_rows, next.into_chunks - from)); !done) return done;
  }
  std::size_t from = pending_.open[device].in_tails;
  if (next.into_chunks > 0) {
    if (auto done = database_.execute("DELETE FROM tail WHERE device=" + std::to_string(device)); !done) return done;
    from = next.into_chunks;
  }
  return from < rows ? write_round_rows(false, device, from, rows - from) : Result<void>{};
}

Result<void> RowWriter::write_rounds() {
  for (std::size_t d = 0; d < pending_.rounds.size(); ++d) {
    if (auto done = write_device(d); !done) return done;
  }
  return {};
}

Result<void> RowWriter::write_mark_rows(bool chunk, std::size_t from, std::size_t count) {
  auto insert = database_.prepare(chunk ? "INSERT INTO mark_chunk VALUES (?,?,?,?,?,?)" : "REPLACE INTO mark_tail VALUES (?,?,?,?,?,?)");
  if (!insert) return std::unexpected(insert.error());
  const Bytes blob = codec_.pack(pending_.marks, from, count, chunk ? Packing::tight : Packing::quick);
  const auto times = std::span(pending_.marks.time).subspan(from, count);
  const auto [first, last] = std::minmax_element(times.begin(), times.end());
  insert->bind(pending_.open_marks.first + static_cast<std::int64_t>(from)).bind(static_cast<std::int64_t>(count)).bind(*first).bind(*last);
  return insert->bind(std::int64_t{crc32(blob)}).bind(std::span<const std::uint8_t>(blob)).run();
}

Result<void> RowWriter::write_marks() {
  auto name = database_.prepare("INSERT INTO mark_name VALUES (?,?)");
  if (!name) return std::unexpected(name.error());
  std::int64_t id = pending_.mark_names.first_added();
  for (const auto& text : pending_.mark_names.added) {
    if (auto done = name->bind(id++).bind(text).run(); !done) return done;
  }
  const std::size_t rows = pending_.marks.rows();
  const AfterFlush next = after_flush(rows, pending_.open_marks, closing_);
  for (std::size_t from = 0; from < next.into_chunks; from += chunk_rows) {
    if (auto done = write_mark_rows(true, from, std::min(chunk_rows, next.into_chunks - from)); !done) return done;
  }
  std::size_t from = pending_.open_marks.in_tails;
  if (next.into_chunks > 0) {
    if (auto done = database_.execute("DELETE FROM mark_tail"); !done) return done;
    from = next.into_chunks;
  }
  return from < rows ? write_mark_rows(false, from, rows - from) : Result<void>{};
}

Result<void> RowWriter::write_processes() {
  auto identity = database_.prepare("INSERT INTO process VALUES (?,?,?,?,?)");
  auto sample = database_.prepare("INSERT INTO process_sample VALUES (?,?,?)");
  if (!identity) return std::unexpected(identity.error());
  if (!sample) return std::unexpected(sample.error());
  std::int64_t id = pending_.processes.first_added();
  for (const auto& [pid, start, parent, name] : pending_.processes.added) {
    identity->bind(id++).bind(std::int64_t{pid}).bind(start).bind(std::int64_t{parent}).bind(name);
    if (auto done = identity->run(); !done) return done;
  }
  for (const auto& [process, time, cpu] : pending_.process_rows) {
    if (auto done = sample->bind(process).bind(time).bind(cpu).run(); !done) return done;
  }
  return {};
}

Result<void> RowWriter::write_device_processes() {
  if (pending_.device_processes.empty()) return {};
  auto insert = database_.prepare("INSERT INTO device_process VALUES (?,?,?,?,?,?,?,?,?)");
  if (!insert) return std::unexpected(insert.error());
  for (const DeviceProcessSample& sample : pending_.device_processes) {
    const DeviceProcess& of = sample.process;
    insert->bind(static_cast<std::int64_t>(sample.device)).bind(sample.time.ns).bind(of.component.path()).bind(of.pid).bind(of.memory);
    if (auto done = insert->bind(of.busy).bind(of.memory_busy).bind(of.encoder).bind(of.decoder).run(); !done) return done;
  }
  return {};
}

Result<void> RowWriter::write_events() {
  auto insert = database_.prepare("INSERT INTO event VALUES (?,?,?,?,?)");
  if (!insert) return std::unexpected(insert.error());
  for (const auto& event : pending_.events) {
    insert->bind(event.when.begin.ns).bind(event.when.end.ns).bind(event.kind).bind(event.detail).bind(event.count);
    if (auto done = insert->run(); !done) return done;
  }
  return {};
}

Result<void> RowWriter::write_clocks_and_metadata() {
  auto clock = database_.prepare("INSERT INTO clock VALUES (?,?,?)");
  auto metadata = database_.prepare("REPLACE INTO metadata VALUES (?,?)");
  if (!clock) return std::unexpected(clock.error());
  if (!metadata) return std::unexpected(metadata.error());
  for (const auto& crossing : pending_.clocks) {
    if (auto done = clock->bind(crossing.mono.ns).bind(crossing.boot.ns).bind(crossing.wall.ns).run(); !done) return done;
  }
  for (const auto& [name, json] : pending_.metadata) {
    if (auto done = metadata->bind(name).bind(json).run(); !done) return done;
  }
  return {};
}

Result<void> RowWriter::write() {
  if (auto done = write_rounds(); !done) return done;
  if (auto done = write_marks(); !done) return done;
  if (auto done = write_processes(); !done) return done;
  if (auto done = write_device_processes(); !done) return done;
  if (auto done = write_events(); !done) return done;
  return write_clocks_and_metadata();
}

}  // namespace joulery
