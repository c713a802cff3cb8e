// The energy of one channel as a function of time: cumulative counts at the instants of its readings.
//
// energy(a, b) is position(b) - position(a), where position(t) is the cumulative energy at t, linear between readings
// and rounded to a microjoule. So the energies of adjacent intervals add up to the energy of their union exactly,
// wherever the borders fall: conservation over time needs no correction.
//
// Invariant: counts never fall, and do not grow across a gap whose energy is lost.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/host_clock.h"
#include "core/quality.h"
#include "core/time.h"
#include "meter/gap.h"
#include "sense/channel.h"

namespace joulery {

// The energy of one channel over one interval.
struct Span {
  std::optional<Estimate> energy;  // empty where nothing of the interval is known
  Quality quality = Quality::missing;
  bool partial = false;            // some of the interval is lost or was not covered by readings
};

class Track {
 public:
  Track() = default;  // of which nothing is known
  // `times`: one per count, increasing, owned by the caller and outliving the track. `unit`: joules per count.
  // `roughness`: variance in J² per second that sampling a varying power adds; 0 for counters. `blur`: over how long a change of
  // power is smeared, where the readings are means; 0 for counters and instants.
  Track(const std::vector<MonoTime>& times, std::vector<std::int64_t> counts, double unit, Accuracy accuracy, Quality quality,
        std::vector<Gap> gaps, double roughness = 0, Duration blur = {});
  // An estimate with its own 90 % band: cumulative microjoules of the value and of either bound, side by side.
  Track(const std::vector<MonoTime>& times, std::vector<std::int64_t> value, std::vector<std::int64_t> low, std::vector<std::int64_t> high,
        std::vector<Gap> gaps);

  // Keeps the times that the track was made with, where they are not the caller's.
  void keep(std::unique_ptr<const std::vector<MonoTime>> times) {
    own_times_ = std::move(times);
    times_ = own_times_.get();
  }
  // A systematic error beside the sensor's own: half-width of a 90 % interval.
  void widen(Power half_width) { accuracy_.absolute += half_width; }
  // What is known only as well as `least` allows.
  void worsen(Quality least) { quality_ = worst(quality_, least); }
  // Every joule times `factor`, which a meter has shown; what the sensor is then still wrong by.
  void scale(double factor, Accuracy left);

  // The same on the clock of a job in which this track's host took part for `part` (on its own clock): before and after it the
  // host burns nothing, which is known. energy() over all of `part` is what it was, to the microjoule.
  Track on_job(Interval part, const HostClock& clock) const;

  bool empty() const { return counts_.empty(); }
  Interval covered() const;                      // from the first good reading to the last
  const std::vector<Gap>& gaps() const { return gaps_; }
  // The mean time between readings; 0 where there are fewer than two.
  Duration typical_step() const;
  Quality quality() const { return quality_; }
  // What the track is made of, for who walks over many at once: null, empty and meaningless where nothing is known.
  const std::vector<MonoTime>* times() const { return times_; }
  std::span<const std::int64_t> counts() const { return counts_; }  // cumulative, one per time
  double unit() const { return unit_; }                             // joules per count

  // Cumulative energy at `t`, clamped to the covered time.
  Energy position(MonoTime t) const;
  Span energy(Interval when) const;
  // The greatest mean power over any window of at least `window` between readings; empty where nothing is known.
  std::optional<Power> peak(Interval when, Duration window) const;
  // True where `when` touches time without known energy: a lost gap, or outside the covered time by more than `slack`.
  bool incomplete(Interval when, Duration slack) const;

  // Joules so far at times that never go back: what position() says but for rounding, at a constant cost each.
  class Walk {
   public:
    // Begins at `from`.
    Walk(const Track& track, MonoTime from)
        : track_(&track), size_(track.times_ ? track.times_->size() : 0), next_(size_ ? track.index_after(from) : 0) {
      enter();
    }
    double joules(MonoTime t) {
      if (next_ < size_ && (*track_->times_)[next_] <= t) advance(t);
      return begin_joules_ + watts_ * static_cast<double>((t - begin_).base_units()) * 1e-9;
    }

   private:
    void advance(MonoTime t);
    void enter();                                // what holds between the readings before and at `next_`

    const Track* track_;
    std::size_t size_;                           // of the track's times
    std::size_t next_;                           // the first reading that is later
    MonoTime begin_;
    double begin_joules_ = 0, watts_ = 0;
  };

 private:
  std::size_t index_after(MonoTime t) const;     // first reading later than t
  double edge_error(MonoTime t) const;           // joules, 90 %: where the border falls within a reading's interval
  double blur_error(MonoTime t) const;           // the same, where readings are means
  Energy to_energy(double counts) const;
  Energy position_in(const std::vector<std::int64_t>& counts, MonoTime t) const;

  std::unique_ptr<const std::vector<MonoTime>> own_times_;
  const std::vector<MonoTime>* times_ = nullptr;
  std::vector<std::int64_t> counts_;
  std::vector<std::int64_t> low_, high_;         // of an estimate; empty for a sensor
  double unit_ = 1;
  Accuracy accuracy_;
  Quality quality_ = Quality::missing;
  std::vector<Gap> gaps_;
  double roughness_ = 0;
  Duration blur_;
  std::optional<Interval> part_;                 // beyond which nothing burns
  double part_begin_error_ = 0, part_end_error_ = 0;
};

}  // namespace joulery
