// A raw value or a reason why there is none, with the monotonic time before and after the read.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/time.h"

namespace joulery {

// Why a reading has no value. `none` means that it has one. The numbers are stored in recordings: only append.
enum class MissingReason : std::uint8_t { none, io_error, permission, rubbish, gone, not_supported, timed_out, device_lost };

constexpr std::string_view describe(MissingReason reason) {
  constexpr std::string_view texts[] = {"",
                                        "read failed",
                                        "no permission to read",
                                        "not a number",
                                        "disappeared",
                                        "not supported by the device",
                                        "no answer in time",
                                        "device lost"};
  return texts[static_cast<unsigned>(reason)];
}

struct Reading {
  std::int64_t raw = 0;                            // counts of Channel::unit; an unsigned counter keeps its bits
  MissingReason reason = MissingReason::none;
  MonoTime before, after;
  bool ok() const { return reason == MissingReason::none; }
};

// Receives rounds of one meter, channel by channel in the meter's own order, and stamps each reading.
// A channel that the meter does not report in a round is `gone`. There is room for some rounds, one behind the other.
class Sink {
 public:
  explicit Sink(std::size_t channels, std::size_t rounds = 1) : readings_(channels * rounds), end_(channels), channels_(channels) {}

  // Begins the round anew.
  void start() {
    next_ = end_ - channels_;
    last_ = mono_now();
  }
  void value(std::int64_t raw) { put(raw, MissingReason::none); }
  void missing(MissingReason reason) { put(0, reason); }
  // The same where one exchange told several channels: each then carries its beginning and end.
  void value(std::int64_t raw, MonoTime before, MonoTime after) { put({raw, MissingReason::none, before, after}); }
  void missing(MissingReason reason, MonoTime before, MonoTime after) { put({0, reason, before, after}); }
  // The last stamp: the beginning of the reading that comes next.
  MonoTime last() const { return last_; }
  void finish() {
    while (next_ < end_) put(0, MissingReason::gone);
  }
  // Of the round that was started last.
  std::span<const Reading> readings() const { return std::span(readings_).subspan(end_ - channels_, channels_); }

  // Keeps the round, and makes the next one's room ready; the caller counts the rounds.
  void keep() { end_ += channels_; }
  std::span<const Reading> round(std::size_t i) const { return std::span(readings_).subspan(i * channels_, channels_); }
  void clear() { end_ = channels_; }

 private:
  void put(std::int64_t raw, MissingReason reason) { put({raw, reason, last_, mono_now()}); }
  void put(const Reading& reading) {
    if (next_ == end_) return;
    readings_[next_++] = reading;
    last_ = reading.after;
  }
  std::vector<Reading> readings_;
  std::size_t next_ = 0, end_;  // in the round: the next reading, and behind the last
  std::size_t channels_;
  MonoTime last_;
};

}  // namespace joulery
