// A meter at the other end of a wire: it may answer late, wrongly or not at all, and none of that may cost more than its own
// readings. What all kinds have in common stands here: a time limit for each exchange, pauses after failures, and what a
// failure means for each channel. A kind gives a RemoteSource.
//
// Invariant: a value is only told in the round in which it was received, so a last good value never stands in for a missing
// one; all channels of one exchange carry its beginning and end as their times.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <vector>

#include "sense/meter.h"
#include "sense/trouble.h"

namespace joulery {

using RemoteValue = std::expected<std::int64_t, MissingReason>;  // counts of the channel's unit, or why there are none

struct RemoteAnswer {
  std::vector<RemoteValue> values;  // one a channel, in their order
  Duration age{};                   // how old the values were when they arrived, where the device or a broker keeps them
};

// One device. Used by one thread at a time.
class RemoteSource {
 public:
  virtual ~RemoteSource() = default;
  // What it gives; may grow with the first answer, and must not change once a RemoteMeter is made. Empty: not known yet.
  virtual std::vector<Channel> channels() const = 0;
  // One exchange, within `limit`. Never throws.
  virtual Answer<RemoteAnswer> ask(Duration limit) = 0;
};

// Pauses after failures: the first is `first`, each doubles up to `longest`; a good answer ends them. A refused login is tried
// again only after ten minutes, for devices lock accounts.
class Backoff {
 public:
  Backoff(Duration first, Duration longest) : first_(first), longest_(longest) {}
  bool may_ask(MonoTime now) const { return now >= next_; }
  void failed(MonoTime now, MissingReason reason);
  void answered() { pause_ = Duration{}, next_ = MonoTime{}; }

 private:
  Duration first_, longest_, pause_{};
  MonoTime next_{};
};

struct RemotePace {
  Duration timeout = milliseconds(5000);         // for each exchange
  Duration first_pause = milliseconds(1000);
  Duration longest_pause = milliseconds(30'000);
  Duration max_age = milliseconds(60'000);       // an older value is missing: no answer in time
};

class RemoteMeter final : public Meter {
 public:
  RemoteMeter(std::unique_ptr<RemoteSource> source, RemotePace pace);
  // One exchange ahead of all rounds, within `limit`: what the doctor tells. Fixes the channels.
  Answer<void> probe(Duration limit);
  std::span<const Channel> channels() const override { return channels_; }
  void read(Sink& sink) override;

 private:
  Answer<RemoteAnswer> exchange(Duration limit);
  std::unique_ptr<RemoteSource> source_;
  RemotePace pace_;
  Backoff backoff_;
  std::vector<Channel> channels_;
  MissingReason last_reason_ = MissingReason::timed_out;
};

}  // namespace joulery
