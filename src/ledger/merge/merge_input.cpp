#include "ledger/merge/merge_input.h"

#include <algorithm>

#include "ledger/job_host.h"

namespace joulery {
namespace {

Error of_file(const Error& error, const std::string& file) {
  return {error.code, error.what,
          error.where.starts_with(file) ? error.where
          : error.where.empty()         ? file
                                        : file + ": " + error.where,
          error.hint};
}

// From the recording's own marks of the run; else from its first reading to its last.
Result<Interval> run_of(const Recording& recording, const RunFacts& facts) {
  std::optional<Interval> read;
  if (!facts.run || !facts.run_ended)
    for (std::size_t d = 0; d < recording.devices().size(); ++d) {
      const auto series = recording.series(d);
      if (!series) return std::unexpected(series.error());
      if (series->before.empty()) continue;
      const Interval own{series->before.front(), series->after.back()};
      read = read ? Interval{std::min(read->begin, own.begin), std::max(read->end, own.end)} : own;
    }
  if (facts.run && facts.run_ended) return *facts.run;
  if (!read) return fail(ErrorCode::format, "the recording holds no reading", "", "leave it out");
  const MonoTime begin = facts.run ? facts.run->begin : read->begin;
  return Interval{begin, std::max(begin, read->end)};
}

}  // namespace

Result<MergeInput> MergeInput::open(const std::string& file) {
  MergeInput input;
  input.file = file;
  auto recording = Recording::open(file);
  if (!recording) return std::unexpected(of_file(recording.error(), file));
  input.recording = std::move(*recording);
  const Recording& r = *input.recording;
  if (r.metadata().contains(hosts_entry))
    return fail(ErrorCode::usage, "this recording was merged already", file, "merge the recordings that it was made of, all at once");
  auto facts = facts_from(r.metadata());
  if (!facts) return std::unexpected(of_file(facts.error(), file));
  input.facts = std::move(*facts);
  const auto run = run_of(r, input.facts);
  if (!run) return std::unexpected(of_file(run.error(), file));
  input.run = *run;
  auto crossings = r.clock_maps();
  auto processes = r.processes();
  auto marks = r.marks();
  if (!crossings) return std::unexpected(of_file(crossings.error(), file));
  if (!processes) return std::unexpected(of_file(processes.error(), file));
  if (!marks) return std::unexpected(of_file(marks.error(), file));
  if (crossings->empty()) return fail(ErrorCode::format, "the recording ties its clock to no wall clock", file, "");
  input.crossings = std::move(*crossings);
  input.processes = std::move(*processes);
  input.marks = std::move(*marks);
  return input;
}

Duration MergeInput::wall_ahead(MonoTime at) const {
  const auto ahead = [](const ClockMap& map) { return nanoseconds(map.wall.ns - map.mono.ns); };
  const auto after = std::ranges::upper_bound(crossings, at, {}, &ClockMap::mono);
  if (after == crossings.begin()) return ahead(*after);
  const ClockMap& before = *std::prev(after);
  if (after == crossings.end()) return ahead(before);
  return ahead(before) + nanoseconds(to_whole((at - before.mono) / (after->mono - before.mono) *
                                              static_cast<double>((ahead(*after) - ahead(before)).base_units())));
}

}  // namespace joulery
