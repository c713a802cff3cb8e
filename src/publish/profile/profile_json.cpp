#include "core/quality.h"
#include "publish/json_writer.h"
#include "publish/profile/profile_text.h"

namespace joulery {
namespace {

constexpr std::string_view clock_name(ProfileClock clock) {
  switch (clock) {
    case ProfileClock::wall: return "wall";
    case ProfileClock::monotonic: return "monotonic";
    case ProfileClock::relative: return "relative";
  }
  return "";
}

// Exact decimal seconds, for a double holds no nanoseconds of an epoch.
std::string exact_seconds(std::int64_t ns) {
  const bool negative = ns < 0;
  const auto size = negative ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  std::string digits = std::to_string(size % 1'000'000'000);
  digits.insert(0, 9 - digits.size(), '0');
  return (negative ? "-" : "") + std::to_string(size / 1'000'000'000) + "." + digits;
}

void seconds_of(JsonWriter& json, std::string_view key, Duration time) { json.key(key).raw(exact_seconds(time.base_units())); }

void quality_of(JsonWriter& json, const std::optional<Energy>& energy, Quality quality) {
  json.key("quality").text(name_of(energy ? quality : Quality::missing));
}

void write_figures(JsonWriter& json, const ProfileFigures& figures) {
  json.key("calls").whole(figures.calls);
  seconds_of(json, "host_s", figures.host);
  seconds_of(json, "device_s", figures.device);
  json.key("joules").energy(figures.energy);
  json.key("low").energy(figures.low);
  json.key("high").energy(figures.high);
  quality_of(json, figures.energy, figures.quality);
}

void write_trace(JsonWriter& json, const ToldProfile& told) {
  const Profile& profile = told.profile;
  json.key("trace").begin_object();
  json.key("file").text(told.trace);
  json.key("format").text(profile.format);
  json.key("framework").text_or_null(profile.framework);
  json.key("clock").text(clock_name(profile.clock));
  json.key("begin_s").raw(exact_seconds(profile.begin));
  seconds_of(json, "duration_s", told.account.length);
  json.key("events").whole(static_cast<std::int64_t>(profile.event_count()));
  json.key("tracks").whole(static_cast<std::int64_t>(profile.tracks.size()));
  json.end_object();
}

void write_recording(JsonWriter& json, const ToldProfile& told) {
  json.key("recording");
  if (!told.clock) {
    json.null();
    return;
  }
  json.begin_object();
  json.key("file").text(told.recording);
  json.key("clock").text(name_of(told.clock->method));
  seconds_of(json, "clock_error_s", told.clock->error);
  json.key("clock_words").text(told.clock->words);
  json.end_object();
}

void write_energy(JsonWriter& json, const ProfileAccount& account) {
  json.key("energy").begin_object();
  json.key("joules").energy(account.energy);
  quality_of(json, account.energy, account.quality);
  json.key("partial").boolean(account.partial);
  json.key("operators_by").text_or_null(account.energy ? account.how : "");
  json.end_object();
  json.key("sides").begin_array();
  for (const ProfileSide& side : account.sides) {
    json.begin_object();
    json.key("side").text(side.device < 0 ? "host" : "device");
    json.key("device");
    if (side.device < 0)
      json.null();
    else
      json.whole(side.device);
    json.key("components").begin_array();
    for (const std::string& component : side.components) json.text(component);
    json.end_array();
    seconds_of(json, "busy_s", side.busy);
    json.key("joules").energy(side.energy);
    quality_of(json, side.energy, side.quality);
    json.key("partial").boolean(side.partial);
    json.end_object();
  }
  json.end_array();
}

void write_steps(JsonWriter& json, const ProfileAccount& account) {
  json.key("steps").begin_array();
  for (const StepLine& step : account.steps) {
    json.begin_object();
    json.key("name").text(step.name);
    json.key("number");
    if (step.number < 0)
      json.null();
    else
      json.whole(step.number);
    seconds_of(json, "begin_s", step.begin);
    seconds_of(json, "duration_s", step.length);
    json.key("joules").energy(step.energy);
    json.end_object();
  }
  json.end_array();
  json.key("phases").begin_array();
  for (const PhaseLine& phase : account.phases) {
    json.begin_object();
    json.key("name").text(phase.name);
    seconds_of(json, "duration_s", phase.length);
    json.key("joules").energy(phase.energy);
    json.end_object();
  }
  json.end_array();
}

void write_lines(JsonWriter& json, const ProfileAccount& account) {
  json.key("operators").begin_array();
  for (const OperatorLine& line : account.operators) {
    json.begin_object().key("name").text(line.name);
    write_figures(json, line.figures);
    json.key("not_told_apart").text_or_null(line.merged);
    json.end_object();
  }
  json.end_array();
  json.key("kernels").begin_array();
  for (const KernelLine& line : account.kernels) {
    json.begin_object().key("name").text(line.name).key("device").whole(line.device);
    write_figures(json, line.figures);
    json.key("not_told_apart").text_or_null(line.merged);
    json.end_object();
  }
  json.end_array();
  json.key("layers").begin_array();
  for (const LayerLine& line : account.layers) {
    json.begin_object().key("path").text_or_null(line.path);
    write_figures(json, line.figures);
    json.end_object();
  }
  json.end_array();
  json.key("gaps").begin_array();
  for (const GapLine& gap : account.gaps) {
    json.begin_object().key("side").text(gap.device < 0 ? "host" : "device").key("device");
    if (gap.device < 0)
      json.null();
    else
      json.whole(gap.device);
    json.key("static").boolean(gap.all_the_time);
    seconds_of(json, "duration_s", gap.time);
    json.key("joules").energy(gap.energy);
    quality_of(json, gap.energy, gap.quality);
    json.end_object();
  }
  json.end_array();
}

void write_memory(JsonWriter& json, const Profile& profile) {
  json.key("memory").begin_array();
  for (const ProfileMemory& memory : profile.memory) {
    json.begin_object().key("side").text(memory.device < 0 ? "host" : "device").key("device");
    if (memory.device < 0)
      json.null();
    else
      json.whole(memory.device);
    json.key("peak_used_bytes").whole(memory.peak_used).key("peak_reserved_bytes").whole(memory.peak_reserved);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string profile_json(const ToldProfile& told) {
  JsonWriter json;
  json.begin_object().key("schema").text("joulery.profile/1");
  write_trace(json, told);
  write_recording(json, told);
  write_energy(json, told.account);
  write_steps(json, told.account);
  write_lines(json, told.account);
  write_memory(json, told.profile);
  json.key("notes").begin_array();
  for (const std::string& note : told.profile.notes) json.text(note);
  for (const std::string& note : told.account.notes) json.text(note);
  json.end_array().end_object();
  return json.str() + "\n";
}

}  // namespace joulery
