// What a component burns when nobody uses it, learnt from quiet moments while it is watched.
//
// How: the last quiet ticks (little use) and the last busy ones are kept. Static power is the median of the quiet ones, each less what
// its own little use costs: that is its utilisation times the slope between the medians of quiet and busy ticks. A median of
// many, so that single readings and short bursts within a tick do not move it; only quiet ticks move it, so that it stays
// through hours of full load and follows what is different afterwards. It is never what is left over of something else.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.h"

namespace joulery {

class StaticPower {
 public:
  static constexpr double quiet_below = 0.05, busy_above = 0.25;  // utilisation
  static constexpr std::size_t kept = 256;                        // ticks of either kind
  static constexpr std::size_t least = 10;                        // quiet ticks, before anything is said

  // One tick: mean utilisation 0..1 of what drives the component, and its mean power (>= 0).
  void observe(double utilisation, Power power);
  // Nothing until enough quiet moments were seen.
  std::optional<Power> value() const;

  // For an agent that starts again: what was learnt, as text; false where `text` is not one.
  std::string to_text() const;
  bool restore(const std::string& text);

 private:
  struct Tick {
    double utilisation = 0, watts = 0;
  };
  struct Ring {
    std::vector<Tick> ticks;
    std::size_t next = 0;
    void push(Tick tick);
  };
  double slope() const;  // watts per unit of utilisation, never negative; 0 where no busy ticks were seen

  Ring quiet_, busy_;
  mutable std::optional<Power> told_;  // until the next quiet tick
};

}  // namespace joulery
