#include "publish/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "publish/json_writer.h"
#include "publish/phrases.h"

namespace joulery {
namespace {

// Everything of the run as a whole stands under this process; no command of Linux has it (pids start at 1, kernel threads aside).
constexpr std::int64_t run_pid = 0x7fffffff;

std::int64_t whole_ns(double s) { return seconds(s).base_units(); }

// Microseconds with three decimals from nanoseconds.
std::string microseconds_text(std::int64_t ns) {
  const std::uint64_t size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

std::string metadata(std::string_view what, std::int64_t pid, std::int64_t thread, std::string_view name) {
  return fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, pid, thread, json_quoted(name));
}

bool is_known(const PowerTrack& track, std::size_t slot) { return slot < track.watts.size() && std::isfinite(track.watts[slot]); }

bool write_track(PerfettoTrace& trace, const PowerTrack& track, const std::vector<double>& time,
                 const std::function<bool(const std::string&)>& put) {
  const std::string label = (track.label.empty() ? track.path : track.label) + (track.overlap ? " (apart)" : "");
  const std::size_t slots = time.empty() ? 0 : time.size() - 1;
  for (std::size_t i = 0; i < slots; ++i) {
    if (is_known(track, i)) {
      if (!put(trace.counter(label, seconds(time[i]), track.watts[i]))) return false;
      continue;
    }
    std::size_t end = i + 1;
    while (end < slots && !is_known(track, end)) ++end;
    if (!put(trace.gap(label, seconds(time[i]), seconds(time[end]), "nothing is known here: the counter's last value does not hold")))
      return false;
    i = end - 1;
  }
  return true;
}

}  // namespace

std::string PerfettoTrace::event(std::string_view json) {
  const std::string separator = any_ ? ",\n" : "\n";
  any_ = true;
  return separator + std::string(json);
}

std::string PerfettoTrace::head(const Report& report) {
  std::string out =
      fmt::format(R"({{"displayTimeUnit":"ms","otherData":{{"schema":"joulery.perfetto/1","command":{},"begin":{}}},"traceEvents":[)",
                  json_quoted(command_words(report.command)), json_quoted(report.begin));
  out += event(metadata("process_name", run_pid, 0, "joulery: " + command_words(report.command)));
  for (const ReportProcess& p : report.processes) out += event(metadata("process_name", p.pid, p.pid, p.name));
  return out;
}

std::string PerfettoTrace::counter(std::string_view track, Duration at, const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return {};
  return event(fmt::format(R"({{"ph":"C","name":{},"pid":{},"ts":{},"args":{{"W":{:.6g}}}}})", json_quoted(fmt::format("power {}", track)),
                           run_pid, microseconds_text(at.base_units()), *value));
}

std::string PerfettoTrace::thread_name(std::int64_t pid, std::int64_t thread, std::string_view name) {
  const std::string order =
      fmt::format(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", pid, thread, thread);
  return event(metadata("thread_name", pid, thread, name)) + event(order);
}

// Puts a slice on the first lane of its group where it nests: inside the innermost that is still open, or after all.
std::string PerfettoTrace::slice(std::int64_t pid, std::string_view group, std::string_view name, std::int64_t begin, std::int64_t end,
                                 std::string_view detail) {
  Lanes& lanes = groups_[{pid, std::string(group)}];
  std::size_t lane = 0;
  for (; lane < lanes.open.size(); ++lane) {
    std::vector<std::int64_t>& open = lanes.open[lane];
    while (!open.empty() && open.back() <= begin) open.pop_back();
    if (open.empty() || end <= open.back()) break;
  }
  std::string out;
  if (lane == lanes.open.size()) {
    // Thread ids beyond any of Linux (at most 2^22), so that no thread of a process is hit.
    lanes.open.emplace_back();
    if (lane == 0) lanes.first_thread = 100'000'000 + 1000 * threads_++;
    out += thread_name(pid, lanes.first_thread + static_cast<std::int64_t>(lane),
                       lane == 0 ? std::string(group) : fmt::format("{} {}", group, lane + 1));
  }
  lanes.open[lane].push_back(end);
  const std::string args = detail.empty() ? "" : fmt::format(R"(,"args":{{"detail":{}}})", json_quoted(detail));
  return out + event(fmt::format(R"({{"ph":"X","name":{},"cat":{},"pid":{},"tid":{},"ts":{},"dur":{}{}}})", json_quoted(name),
                                 json_quoted(group), pid, lanes.first_thread + static_cast<std::int64_t>(lane), microseconds_text(begin),
                                 microseconds_text(end - begin), args));
}

std::string PerfettoTrace::gap(std::string_view track, Duration begin, Duration end, std::string_view reason) {
  return slice(run_pid, fmt::format("no reading: {}", track), "no reading", begin.base_units(), end.base_units(), reason);
}

std::string PerfettoTrace::band(const ChartBand& band) {
  const std::int64_t begin = whole_ns(band.begin_s), end = std::max(begin, whole_ns(band.end_s));
  const std::string_view group = band.kind == "phase" ? "phases" : band.kind == "step" ? "steps" : "marks";
  const std::int64_t pid = band.pid == 0 ? run_pid : band.pid;
  if (group != "marks" || end > begin) return slice(pid, group, band.name, begin, end, "");
  return event(fmt::format(R"({{"ph":"i","s":"p","name":{},"cat":"marks","pid":{},"tid":{},"ts":{}}})", json_quoted(band.name), pid, pid,
                           microseconds_text(begin)));
}

std::string PerfettoTrace::tail() const { return "\n]}\n"; }

bool write_perfetto(const Report& report, const Chart& chart, const std::function<bool(const std::string&)>& put) {
  PerfettoTrace trace;
  if (!put(trace.head(report))) return false;
  for (const PowerTrack& track : chart.tracks)
    if (!write_track(trace, track, chart.time, put)) return false;
  std::vector<ChartBand> bands = chart.bands;
  std::ranges::stable_sort(bands, [](const ChartBand& a, const ChartBand& b) {
    return a.begin_s != b.begin_s ? a.begin_s < b.begin_s : a.end_s > b.end_s;  // the longer of two is the outer
  });
  for (const ChartBand& band : bands)
    if (!put(trace.band(band))) return false;
  return put(trace.tail());
}

}  // namespace joulery
