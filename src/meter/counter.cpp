#include "meter/counter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/units.h"

namespace joulery {
namespace {

constexpr Duration stall_after = milliseconds(1000);
constexpr Duration seen_within = milliseconds(25);    // a suspension is seen so late at most
constexpr double no_limit = std::numeric_limits<double>::infinity();
constexpr std::size_t pace_readings = 16;             // over so many readings that differ the usual pace is told

// Walks the readings of one counter once, keeping the cumulative count and naming what it meets.
class Unwrapper {
 public:
  Unwrapper(const Channel& channel, const std::vector<MonoTime>& times, std::vector<std::int64_t> raw,
            std::span<const MissingReason> reasons, std::span<const Suspension> suspensions)
      : channel_(channel),
        times_(times),
        raw_(std::move(raw)),
        reasons_(reasons),
        suspensions_(suspensions),
        slack_(std::max(channel.update_period, milliseconds(1)) + std::max(channel.update_period, milliseconds(1))),
        most_per_ns_(to_watts(channel.max_power) > 0 ? to_watts(channel.max_power) / channel.unit * 1e-9 : no_limit),
        wrap_(channel.range != 0 && most_per_ns_ < no_limit ? static_cast<double>(channel.range) : no_limit) {}

  Track run() {
    for (std::size_t i = 0; i < raw_.size(); ++i) {
      const auto value = static_cast<std::uint64_t>(raw_[i]);
      if (plainly_rises(i, value)) continue;
      if (!reasons_.empty() && reasons_[i] != MissingReason::none)
        note_missing(i);
      else if (!started_)
        start(i, value);
      else if (held_)
        resolve(i, value);
      else
        advance(i, value);
      raw_[i] = total_;
    }
    finish();
    if (!started_) raw_.clear();
    return Track(times_, std::move(raw_), channel_.unit, channel_.accuracy, Quality::measured, std::move(gaps_));
  }

 private:
  struct Point {
    std::size_t index = 0;
    std::uint64_t value = 0;
  };

  // What nearly every reading is, told in a few operations: it follows a reading that had moved too, and rises by no more
  // than its component can burn and by less than could hide a wrap. It is then taken; all else goes the long way.
  bool plainly_rises(std::size_t i, std::uint64_t value) {
    if (!started_ || held_ || outage_ || last_.index + 1 != i || changed_.index != last_.index || value <= last_.value) return false;
    if (!suspensions_.empty() || (!reasons_.empty() && reasons_[i] != MissingReason::none)) return false;
    const std::uint64_t rise = value - last_.value;
    const double most = static_cast<double>((times_[i] - times_[last_.index] + slack_).base_units()) * most_per_ns_ + 1;
    if (static_cast<double>(rise) > most || most > wrap_) return false;
    last_ = changed_ = {i, value};
    raw_[i] = total_ += static_cast<std::int64_t>(rise);
    return true;
  }

  void start(std::size_t i, std::uint64_t value) {
    if (outage_) add_gap({times_.front(), times_[i]}, std::string(describe(*outage_)), true);
    outage_.reset();
    started_ = true;
    restart_from({i, value});
  }

  void note_missing(std::size_t i) {
    if (!outage_) outage_ = reasons_[i];
  }

  // The most counts that may be added between two readings; nullopt where the greatest power is not known.
  std::optional<double> most_counts(std::size_t from, std::size_t to) const {
    if (to_watts(channel_.max_power) <= 0) return std::nullopt;
    Duration elapsed = times_[to] - times_[from] + slack_;
    for (const Suspension& s : suspensions_)
      if (times_[from] < s.at && s.at <= times_[to] + seen_within) elapsed += s.length;
    return to_watts(channel_.max_power) * to_seconds(elapsed) / channel_.unit + 1;
  }

  // Counts from `from` to `value`, over a wrap if it fell; nullopt where that cannot be.
  std::optional<std::uint64_t> difference(Point from, std::size_t to, std::uint64_t value) const {
    // A counter that stood still may catch up at once with all that it did not show since it last moved.
    const auto most = most_counts(from.index == last_.index ? changed_.index : from.index, to);
    if (value >= from.value) {
      const std::uint64_t rise = value - from.value;
      return !most || static_cast<double>(rise) <= *most ? std::optional(rise) : std::nullopt;
    }
    if (channel_.range == 0 || from.value > channel_.range) return std::nullopt;
    const std::uint64_t wrapped = channel_.range - from.value + 1 + value;
    const auto since_last = most_counts(from.index, to);
    const double allowed = since_last.value_or(static_cast<double>(channel_.range) / 2);
    return static_cast<double>(wrapped) <= allowed ? std::optional(wrapped) : std::nullopt;
  }

  void advance(std::size_t i, std::uint64_t value) {
    const auto counts = difference(last_, i, value);
    if (!counts) {
      held_ = Point{i, value};
      return;
    }
    if (ambiguous(i, *counts)) return;
    if (outage_) add_gap({times_[last_.index], times_[i]}, std::string(describe(*outage_)), false);
    outage_.reset();
    accept(i, value, *counts);
  }

  // More wraps than one can have passed: the energy is not known, only what it may have been.
  bool ambiguous(std::size_t i, std::uint64_t counts) {
    const auto most = most_counts(last_.index, i);
    if (channel_.range == 0 || !most) return false;
    const double wrap = static_cast<double>(channel_.range) + 1;
    const double room = *most - static_cast<double>(counts);
    if (room < wrap) return false;
    const auto more = static_cast<std::int64_t>(std::floor(room / wrap));
    const Energy least = joules(static_cast<double>(counts) * channel_.unit), step = joules(wrap * channel_.unit);
    add_gap({times_[last_.index], times_[i]},
            fmt::format("ambiguous: {} or up to {} wraps of {} more", to_text(least), more, to_text(step)), true);
    gaps_.back().possible = PossibleEnergy{least, step, more};
    outage_.reset();
    restart_from({i, static_cast<std::uint64_t>(raw_[i])});
    return true;
  }

  void accept(std::size_t i, std::uint64_t value, std::uint64_t counts) {
    if (counts != 0) {
      const Duration still = times_[last_.index] - times_[changed_.index];
      if (channel_.always_burns && still >= std::max(stall_after, nanoseconds(3 * channel_.update_period.base_units())) &&
          stalled(i, counts)) {
        restart_from({i, value});
        return;
      }
      changed_ = {i, value};
    }
    total_ += static_cast<std::int64_t>(counts);
    last_ = {i, value};
  }

  // After standing still: did it go on at its usual pace (what it missed is lost), or catch up (nothing is lost)?
  bool stalled(std::size_t i, std::uint64_t counts) {
    const Duration tick = times_[i] - times_[last_.index], whole = times_[i] - times_[changed_.index];
    const double usual = pace().value_or(to_watts(channel_.max_power) / channel_.unit);
    const double border = usual * std::sqrt(to_seconds(tick) * to_seconds(whole));
    const bool lost = static_cast<double>(counts) < border;
    add_gap({times_[changed_.index], times_[i]}, "counter stood still", lost);
    return lost;
  }

  // Usual counts per second up to the last change; nothing where none was seen since the counter (re)started.
  std::optional<double> pace() const {
    std::size_t from = changed_.index;
    for (std::size_t seen = 0; from > restarted_ && seen < pace_readings; ++seen) --from;
    const std::int64_t counts = raw_[changed_.index] - raw_[from];
    if (from == changed_.index || counts <= 0) return std::nullopt;
    return static_cast<double>(counts) / to_seconds(times_[changed_.index] - times_[from]);
  }

  // A reading was held because it could not follow from the last one; this one decides what it was.
  void resolve(std::size_t i, std::uint64_t value) {
    const auto from_before = difference(last_, i, value);
    if (from_before) {
      add_gap({times_[last_.index], times_[i]}, fmt::format("one rubbish reading ({}), then back", in_joules(held_->value)), false);
      held_.reset();
      outage_.reset();
      accept(i, value, *from_before);
      return;
    }
    const Point candidate = *held_;
    if (const auto onward = difference(candidate, i, value)) {
      add_gap({times_[last_.index], times_[candidate.index]}, broken(candidate), true);
      held_.reset();
      outage_.reset();
      restart_from(candidate);
      accept(i, value, *onward);
      return;
    }
    held_ = Point{i, value};
  }

  void finish() {
    if (raw_.empty()) return;
    const MonoTime end = times_.back();
    if (!started_)
      add_gap({times_.front(), end}, std::string(describe(*outage_)), true);
    else if (held_)
      add_gap({times_[last_.index], end}, broken(*held_), true);
    else if (outage_)
      add_gap({times_[last_.index], end}, std::string(describe(*outage_)), true);
    else if (channel_.always_burns &&
             end - times_[changed_.index] >= std::max(stall_after, nanoseconds(3 * channel_.update_period.base_units())))
      add_gap({times_[changed_.index], end}, "counter stood still", true);
  }

  void restart_from(Point point) {
    last_ = changed_ = point;
    restarted_ = point.index;
  }
  std::string in_joules(std::uint64_t value) const { return to_text(joules(static_cast<double>(value) * channel_.unit)); }
  std::string broken(Point to) const {
    return fmt::format("counter {} from {} to {}", to.value < last_.value ? "fell" : "jumped", in_joules(last_.value), in_joules(to.value));
  }
  void add_gap(Interval when, std::string reason, bool lost) { gaps_.push_back({when, std::move(reason), lost, std::nullopt}); }

  const Channel& channel_;
  const std::vector<MonoTime>& times_;
  std::vector<std::int64_t> raw_;          // becomes the cumulative counts in place
  std::span<const MissingReason> reasons_;
  std::span<const Suspension> suspensions_;
  Duration slack_;
  double most_per_ns_, wrap_;              // counts: at the greatest power, and those after which it wraps
  bool started_ = false;
  Point last_, changed_;                   // the last good reading, and the last that differed from the one before it
  std::optional<Point> held_;
  std::optional<MissingReason> outage_;    // readings are missing since the last good one
  std::size_t restarted_ = 0;              // the reading from which the counter is followed without a break
  std::int64_t total_ = 0;
  std::vector<Gap> gaps_;
};

}  // namespace

Track unwrap_counter(const Channel& channel, const std::vector<MonoTime>& times, std::vector<std::int64_t> raw,
                     std::span<const MissingReason> reasons, std::span<const Suspension> suspensions) {
  return Unwrapper(channel, times, std::move(raw), reasons, suspensions).run();
}

Duration safe_interval(std::span<const Channel> channels, Duration asked) {
  Duration safe = asked;
  for (const Channel& channel : channels) {
    if (channel.behaviour != Behaviour::counter || channel.range == 0 || to_watts(channel.max_power) <= 0) continue;
    const double wrap_seconds = static_cast<double>(channel.range) * channel.unit / to_watts(channel.max_power);
    safe = std::min(safe, seconds(std::min(wrap_seconds / 2, 1e9)));
  }
  return std::max(safe, milliseconds(1));
}

}  // namespace joulery
