// Fills a profile, event by event, for a reader: finds tracks by the format's own ids, tells steps by their names, counts
// what was left out, and stops before the memory that the limits allow is used up.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "watch/profile/profile.h"
#include "watch/profile/trace_input.h"

namespace joulery {

class ProfileBuilder {
 public:
  ProfileBuilder(std::string format, const ProfileLimits& limits);

  // The track of these ids of the format, made where it is new; its number in profile().tracks.
  std::uint32_t track(std::string_view process, std::string_view thread, TrackKind kind);
  // Adds an event; one with a negative duration or that ends beyond the clock's range is left out and counted.
  void add(std::uint32_t track, const ProfileEvent& event);
  // A number of 64 bits as ProfileEvent keeps it: never no_link.
  static std::uint32_t link(std::int64_t id);
  // A layer's path as ProfileEvent keeps it; too many of them become "" (no layer).
  NameId layer(std::string_view path);
  // True once the memory limit is reached: the reader fails with too_big().
  bool full() const { return events_ * sizeof(ProfileEvent) + profile_.names.bytes() > limits_.memory; }
  std::unexpected<Error> too_big(const TraceInput& input) const;
  void saw_memory(int device, std::int64_t used, std::int64_t reserved);
  void note(std::string text) { profile_.notes.push_back(std::move(text)); }
  void count_left_out(std::int64_t events = 1) { left_out_ += events; }

  Profile& profile() { return profile_; }
  // The sealed profile.
  Profile finish();

 private:
  Profile profile_;
  ProfileLimits limits_;
  std::unordered_map<std::string, std::uint32_t> tracks_;
  std::string key_, last_key_;
  std::uint32_t last_track_ = 0;
  std::size_t events_ = 0;
  std::int64_t left_out_ = 0;
};

// The step's number in "ProfilerStep#7", "step 7", "train_step_7"; -1 where `name` is no step's.
std::int64_t step_number(std::string_view name);

// Where an operator belongs by the scopes in its name: "net/conv1" of "net/conv1/Conv2D:Conv2D"; "" where it has none.
std::string_view scope_of(std::string_view name);

}  // namespace joulery
