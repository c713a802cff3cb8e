#include "watch/profile/profile_builder.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "watch/profile/seal.h"

namespace joulery {
namespace {

constexpr std::int64_t largest_time = std::int64_t{1} << 62;
constexpr NameId layers_most = (1u << 24) - 1;

bool ends_with_word_step(std::string_view text) {
  constexpr std::string_view word = "step";
  if (text.size() < word.size()) return false;
  return std::ranges::equal(text.substr(text.size() - word.size()), word, [](char a, char b) { return std::tolower(a) == b; });
}

}  // namespace

ProfileBuilder::ProfileBuilder(std::string format, const ProfileLimits& limits) : limits_(limits) { profile_.format = std::move(format); }

std::uint32_t ProfileBuilder::track(std::string_view process, std::string_view thread, TrackKind kind) {
  key_.assign(process);
  key_ += '\0';
  key_ += thread;
  key_ += static_cast<char>('0' + static_cast<int>(kind));
  if (key_ == last_key_) return last_track_;
  const auto [found, added] = tracks_.try_emplace(key_, static_cast<std::uint32_t>(profile_.tracks.size()));
  if (added) {
    events_ += 1024 / sizeof(ProfileEvent);   // what a track itself takes
    ProfileTrack& track = profile_.tracks.emplace_back();
    track.kind = kind;
    std::from_chars(process.data(), process.data() + process.size(), track.process);
    std::from_chars(thread.data(), thread.data() + thread.size(), track.thread);
    track.name = (kind == TrackKind::thread ? "thread " : "stream ") + std::string(thread.substr(0, 200));
  }
  last_key_ = key_;
  return last_track_ = found->second;
}

void ProfileBuilder::add(std::uint32_t track, const ProfileEvent& event) {
  if (event.duration < 0 || event.begin < -largest_time || event.begin > largest_time ||
      event.duration > largest_time - std::max<std::int64_t>(event.begin, 0)) {
    ++left_out_;
    return;
  }
  profile_.tracks[track].events.push_back(event);
  ++events_;
}

std::uint32_t ProfileBuilder::link(std::int64_t id) {
  const auto low = static_cast<std::uint32_t>(static_cast<std::uint64_t>(id));
  return low == no_link ? ~no_link : low;
}

NameId ProfileBuilder::layer(std::string_view path) {
  if (path.empty()) return 0;
  const NameId id = profile_.names.add(path);
  return id <= layers_most ? id : 0;
}

std::unexpected<Error> ProfileBuilder::too_big(const TraceInput& input) const {
  return fail(ErrorCode::unsupported, "the trace needs more than " + std::to_string(limits_.memory >> 20) + " MB of memory", input.place(),
              "profile fewer steps");
}

void ProfileBuilder::saw_memory(int device, std::int64_t used, std::int64_t reserved) {
  auto& all = profile_.memory;
  auto found = std::ranges::find(all, device, &ProfileMemory::device);
  if (found == all.end()) {
    if (all.size() >= 4096) return;
    found = all.insert(found, ProfileMemory{.device = device});
  }
  found->peak_used = std::max(found->peak_used, used);
  found->peak_reserved = std::max(found->peak_reserved, reserved);
  ++found->samples;
}

Profile ProfileBuilder::finish() {
  if (left_out_ > 0) note(std::to_string(left_out_) + " events with a negative duration or an impossible time were left out");
  seal(profile_);
  return std::move(profile_);
}

std::int64_t step_number(std::string_view name) {
  std::size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  if (digits == name.size() || digits == 0) return -1;
  std::int64_t number = -1;
  if (std::from_chars(name.data() + digits, name.data() + name.size(), number).ec != std::errc()) return -1;
  const char mark = name[digits - 1];
  if (mark != '#' && mark != ' ' && mark != '_' && mark != '-' && mark != '=') return -1;
  return ends_with_word_step(name.substr(0, digits - 1)) ? number : -1;
}

std::string_view scope_of(std::string_view name) {
  name = name.substr(0, name.find(':'));
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : name.substr(0, slash);
}

}  // namespace joulery
