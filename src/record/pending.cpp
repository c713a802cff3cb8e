#include "record/pending.h"

#include <bit>
#include <span>
#include <utility>

namespace joulery {

AfterFlush after_flush(std::size_t rows, const OpenRows& open, bool closing) {
  AfterFlush next;
  next.into_chunks = closing ? rows : rows / chunk_rows * chunk_rows;
  const std::size_t done = next.into_chunks > 0 ? 0 : open.in_tails;
  const std::size_t left = rows - next.into_chunks;
  next.in_tails = left - done >= tail_rows ? left : done;
  return next;
}

Pending::Pending(const std::vector<RecordedDevice>& devices) : open(devices.size()) {
  for (const auto& device : devices) rounds.emplace_back(device.channels.size());
}

void Pending::take(Incoming& fresh) {
  std::size_t reading = 0;
  for (const RoundLog::Entry& entry : fresh.rounds.entries) {
    rounds[entry.device].push(entry.deadline, std::span(fresh.rounds.readings).subspan(reading, entry.readings));
    reading += entry.readings;
  }
  fresh.rounds.clear();
  for (const Mark& mark : fresh.marks) {
    marks.time.push_back(mark.time.ns);
    marks.pid.push_back(mark.pid);
    marks.tid.push_back(mark.tid);
    marks.kind.push_back(static_cast<std::int64_t>(mark.kind));
    marks.name.push_back(mark_names.id(mark.name));
    marks.value.push_back(std::bit_cast<std::int64_t>(mark.value));
  }
  for (const ProcessSample& sample : fresh.processes) {
    const std::int64_t id = processes.id({sample.id.pid, sample.id.start_ticks, sample.parent, sample.name});
    process_rows.emplace_back(id, sample.time.ns, sample.cpu.base_units());
  }
  device_processes.insert(device_processes.end(), fresh.device_processes.begin(), fresh.device_processes.end());
  events.insert(events.end(), fresh.events.begin(), fresh.events.end());
  clocks.insert(clocks.end(), fresh.clocks.begin(), fresh.clocks.end());
  for (const auto& [name, json] : fresh.metadata) metadata[name] = json;
  Incoming emptied;
  std::swap(emptied.rounds, fresh.rounds);
  fresh = std::move(emptied);
}

void Pending::committed(bool closing) {
  const auto advance = [closing](auto& rows, OpenRows& at) {
    const AfterFlush next = after_flush(rows.rows(), at, closing);
    rows.drop_front(next.into_chunks);
    at.first += static_cast<std::int64_t>(next.into_chunks);
    at.in_tails = next.in_tails;
  };
  for (std::size_t d = 0; d < rounds.size(); ++d) advance(rounds[d], open[d]);
  advance(marks, open_marks);
  mark_names.added.clear();
  processes.added.clear();
  process_rows.clear();
  device_processes.clear();
  events.clear();
  clocks.clear();
  metadata.clear();
}

}  // namespace joulery
