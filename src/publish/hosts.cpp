#include "publish/hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "publish/numbers.h"

namespace joulery {
namespace {

constexpr double worth_telling = 0.01;  // of the ranks' time in steps

std::string milliseconds_text(double ms) { return (ms < 0 ? "-" : "") + to_text(seconds(std::abs(ms) / 1e3)); }

std::string clock_words(const ReportClock& clock) {
  std::string words =
      fmt::format("its clock {} {}", to_text(seconds(std::abs(clock.ahead_ms) / 1e3)), clock.ahead_ms < 0 ? "behind" : "ahead");
  if (clock.low_ms && clock.high_ms)
    words += fmt::format(" (90 % {} to {})", milliseconds_text(*clock.low_ms), milliseconds_text(*clock.high_ms));
  else
    words += " (error not known)";
  words += " by " + clock.source;
  if (clock.drift_ppm != 0) words += fmt::format(", drifting {:+.1f} ppm", clock.drift_ppm);
  return words;
}

double time_in_steps(const Report& report) {
  double all = 0;
  for (const ReportRank& rank : report.ranks) all += static_cast<double>(rank.steps) * rank.seconds_median.value_or(0);
  return all;
}

void write_clock(JsonWriter& json, const ReportClock& clock) {
  json.begin_object();
  json.key("ahead_ms").number(clock.ahead_ms);
  json.key("low_ms").number(clock.low_ms);
  json.key("high_ms").number(clock.high_ms);
  json.key("drift_ppm").number(clock.drift_ppm);
  json.key("drift_low_ppm").number(clock.drift_low_ppm);
  json.key("drift_high_ppm").number(clock.drift_high_ppm);
  json.key("source").text(clock.source);
  json.key("reason").text_or_null(clock.reason.empty() && !clock.drift_low_ppm ? "the drift was not estimated" : clock.reason);
  json.end_object();
}

void write_host(JsonWriter& json, const ReportHost& host) {
  json.begin_object();
  json.key("name").text(host.name);
  write_estimate(json, host.joules);
  json.key("share").number(host.share);
  json.key("mean_watts").number(host.mean_watts);
  json.key("quality").text(name_of(host.quality));
  json.key("partial").boolean(host.partial);
  json.key("begin_s").number(host.begin_s);
  json.key("end_s").number(host.end_s);
  json.key("recordings").whole(host.recordings);
  write_clock(json.key("clock"), host.clock);
  json.key("grams").number(host.grams);
  json.key("place").text_or_null(host.place);
  json.key("reason").text_or_null(host.reason);
  json.end_object();
}

void write_rank(JsonWriter& json, const ReportRank& rank) {
  json.begin_object();
  if (rank.rank)
    json.key("rank").whole(*rank.rank);
  else
    json.key("rank").null();
  json.key("host").text_or_null(rank.host);
  json.key("pid").whole(rank.pid);
  json.key("steps").whole(rank.steps);
  json.key("work").number(rank.work);
  json.key("joules").energy(rank.joules);
  json.key("share").number(rank.share);
  json.key("seconds_median").number(rank.seconds_median);
  json.key("waited_s").number(rank.waited_s);
  json.key("waited_for_s").number(rank.waited_for_s);
  json.key("last").whole(rank.last);
  json.key("reason").text_or_null(rank.reason);
  json.end_object();
}

}  // namespace

std::string host_words(const ReportHost& host, bool first) {
  std::string words(name_of(host.quality));
  if (host.partial) words += ", partial";
  if (host.recordings > 1) words += fmt::format("; {} recordings, counted once", host.recordings);
  if (!first) words += "; " + clock_words(host.clock);
  if (host.grams) words += "; " + to_text(grams(*host.grams)) + (host.place.empty() ? "" : ", " + host.place);
  return words;
}

std::string rank_name(const ReportRank& rank) {
  const std::string name = rank.rank ? fmt::format("rank {}, pid {}", *rank.rank, rank.pid) : fmt::format("pid {}", rank.pid);
  return rank.host.empty() ? name : name + ", " + rank.host;
}

std::string rank_words(const ReportRank& rank) {
  std::string words = counted(rank.steps, "step");
  if (rank.seconds_median) words += ", median " + to_text(seconds(*rank.seconds_median));
  if (rank.waited_s > 0) words += "; waited " + to_text(seconds(rank.waited_s));
  if (rank.last > 0 && rank.waited_for_s > 0)
    words += fmt::format("; last in {}, the others waited {} for it", grouped(rank.last), to_text(seconds(rank.waited_for_s)));
  return words;
}

std::string straggler_words(const Report& report) {
  const auto worst = std::ranges::max_element(report.ranks, {}, &ReportRank::waited_for_s);
  if (worst == report.ranks.end() || worst->waited_for_s <= worth_telling * time_in_steps(report)) return {};
  return fmt::format("{} came last in {} of {}; the others waited {} for it", rank_name(*worst), grouped(worst->last),
                     counted(report.rounds, "round"), to_text(seconds(worst->waited_for_s)));
}

void write_hosts(JsonWriter& json, const Report& report) {
  json.key("rounds").whole(report.rounds);
  json.key("ranks").begin_array();
  for (const ReportRank& rank : report.ranks) write_rank(json, rank);
  json.end_array();
  json.key("hosts").begin_array();
  for (const ReportHost& host : report.hosts) write_host(json, host);
  json.end_array();
}

}  // namespace joulery
