#include "ledger/attribution/static_power.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace joulery {
namespace {

template <class Of>
double median(std::size_t count, Of of) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = of(i);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

bool plausible(double utilisation, double watts) {
  return std::isfinite(utilisation) && std::isfinite(watts) && utilisation >= 0 && utilisation <= 1 && watts >= 0;
}

}  // namespace

void StaticPower::Ring::push(Tick tick) {
  if (ticks.size() < kept)
    ticks.push_back(tick);
  else
    ticks[next] = tick;
  next = (next + 1) % kept;
}

void StaticPower::observe(double utilisation, Power power) {
  if (!plausible(utilisation, to_watts(power))) return;
  if (utilisation < quiet_below) quiet_.push({utilisation, to_watts(power)});
  if (utilisation > busy_above) busy_.push({utilisation, to_watts(power)});
  if (utilisation < quiet_below) told_.reset();
}

double StaticPower::slope() const {
  if (busy_.ticks.size() < least) return 0;
  const auto of = [](const Ring& ring, double Tick::* field) {
    return median(ring.ticks.size(), [&](std::size_t i) { return ring.ticks[i].*field; });
  };
  const double use = of(busy_, &Tick::utilisation) - of(quiet_, &Tick::utilisation);
  return std::max(0.0, (of(busy_, &Tick::watts) - of(quiet_, &Tick::watts)) / use);
}

std::optional<Power> StaticPower::value() const {
  if (quiet_.ticks.size() < least) return std::nullopt;
  if (told_) return told_;
  const double per_use = slope();
  told_ = watts(std::max(
      0.0, median(quiet_.ticks.size(), [&](std::size_t i) { return quiet_.ticks[i].watts - per_use * quiet_.ticks[i].utilisation; })));
  return told_;
}

std::string StaticPower::to_text() const {
  std::string text;
  for (const Ring* ring : {&quiet_, &busy_})
    for (const Tick& tick : ring->ticks) text += fmt::format("{:.4f} {:.3f}\n", tick.utilisation, tick.watts);
  return text;
}

bool StaticPower::restore(const std::string& text) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  StaticPower read;
  for (double utilisation = 0, power = 0; in >> utilisation;) {
    if (!(in >> power) || !plausible(utilisation, power)) return false;
    read.observe(utilisation, watts(power));
  }
  if (!in.eof()) return false;
  *this = read;
  return true;
}

}  // namespace joulery
