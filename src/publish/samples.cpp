#include "publish/samples.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "publish/csv.h"
#include "publish/json_writer.h"
#include "publish/numbers.h"

namespace joulery {
namespace {

std::string reason_of(const SampleRow& row) {
  if (!row.reason.empty() || (row.watts && std::isfinite(*row.watts) && row.joules)) return row.reason;
  return "no reading";
}

std::string seconds_field(Duration d) {
  const std::int64_t us = d.base_units() / 1000;
  return fmt::format("{}{}.{:06}", us < 0 ? "-" : "", std::abs(us) / 1'000'000, std::abs(us) % 1'000'000);
}

}  // namespace

std::string iso_utc(WallTime time) {
  namespace chrono = std::chrono;
  const chrono::sys_time<chrono::nanoseconds> instant{chrono::nanoseconds{time.ns}};
  const auto day = chrono::floor<chrono::days>(instant);
  const chrono::year_month_day date{day};
  const chrono::hh_mm_ss clock{chrono::floor<chrono::microseconds>(instant - day)};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()), clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

std::string sample_csv_header() { return "time,elapsed_s,component,watts,joules,partial,quality,meter,reason\n"; }

std::string sample_csv(const SampleRow& row) {
  return fmt::format("{},{},{},{},{},{},{},{},{}\n", iso_utc(row.time), seconds_field(row.elapsed), csv_field(row.component),
                     csv_number(row.watts), row.joules ? exact_joules(*row.joules) : "", row.partial ? "true" : "false",
                     name_of(row.quality), csv_field(row.meter), csv_field(reason_of(row)));
}

std::string SampleJson::head() const { return "{\"schema\":\"joulery.samples/1\",\"samples\":["; }

std::string SampleJson::row(const SampleRow& row) {
  JsonWriter json(0);
  json.begin_object();
  json.key("time").text(iso_utc(row.time));
  json.key("elapsed_s").raw(seconds_field(row.elapsed));
  json.key("component").text(row.component);
  json.key("watts").number(row.watts);
  json.key("joules").energy(row.joules);
  json.key("partial").boolean(row.partial);
  json.key("quality").text(name_of(row.quality));
  json.key("meter").text_or_null(row.meter);
  json.key("reason").text_or_null(reason_of(row));
  json.end_object();
  const std::string separator = any_ ? ",\n" : "\n";
  any_ = true;
  return separator + json.str();
}

std::string SampleJson::tail() const { return "\n]}\n"; }

std::vector<SampleRow> chart_samples(const Chart& chart, WallTime begin) {
  std::vector<SampleRow> rows;
  std::vector<Energy> sums(chart.tracks.size());
  std::vector<bool> partial(chart.tracks.size());
  for (std::size_t slot = 0; slot + 1 < chart.time.size(); ++slot)
    for (std::size_t t = 0; t < chart.tracks.size(); ++t) {
      const PowerTrack& track = chart.tracks[t];
      const double power = slot < track.watts.size() ? track.watts[slot] : std::nan("");
      SampleRow row;
      row.elapsed = seconds(chart.time[slot + 1]);
      row.time = begin + row.elapsed;
      row.component = track.path;
      row.quality = std::isfinite(power) ? track.quality : Quality::missing;
      if (std::isfinite(power)) {
        sums[t] += watts(power) * seconds(chart.time[slot + 1] - chart.time[slot]);
        row.watts = power;
      } else {
        partial[t] = true;
      }
      if (row.watts) row.joules = sums[t];
      row.partial = partial[t];
      rows.push_back(std::move(row));
    }
  return rows;
}

}  // namespace joulery
