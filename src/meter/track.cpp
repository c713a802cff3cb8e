#include "meter/track.h"

#include <algorithm>
#include <cmath>

namespace joulery {
namespace {

constexpr Duration edge_slack = milliseconds(50);  // time without readings at either end that makes nothing partial

}  // namespace

Track::Track(const std::vector<MonoTime>& times, std::vector<std::int64_t> counts, double unit, Accuracy accuracy, Quality quality,
             std::vector<Gap> gaps, double roughness, Duration blur)
    : times_(&times),
      counts_(std::move(counts)),
      unit_(unit),
      accuracy_(accuracy),
      quality_(quality),
      gaps_(std::move(gaps)),
      roughness_(roughness),
      blur_(blur) {}

Track::Track(const std::vector<MonoTime>& times, std::vector<std::int64_t> value, std::vector<std::int64_t> low,
             std::vector<std::int64_t> high, std::vector<Gap> gaps)
    : times_(&times),
      counts_(std::move(value)),
      low_(std::move(low)),
      high_(std::move(high)),
      unit_(1e-6),
      quality_(Quality::estimated),
      gaps_(std::move(gaps)),
      roughness_(0) {}

Interval Track::covered() const {
  if (empty()) return {};
  Interval whole{times_->front(), times_->back()};
  // Gaps at either end mean that the first or last good reading lies further in.
  for (const Gap& gap : gaps_)
    if (gap.energy_lost && gap.when.begin <= whole.begin) whole.begin = std::max(whole.begin, gap.when.end);
  for (auto gap = gaps_.rbegin(); gap != gaps_.rend(); ++gap)
    if (gap->energy_lost && gap->when.end >= whole.end) whole.end = std::min(whole.end, gap->when.begin);
  if (whole.end < whole.begin) whole.end = whole.begin;
  return whole;
}

Duration Track::typical_step() const {
  if (empty() || times_->size() < 2) return {};
  return nanoseconds((times_->back() - times_->front()).base_units() / static_cast<std::int64_t>(times_->size() - 1));
}

std::size_t Track::index_after(MonoTime t) const {
  return static_cast<std::size_t>(std::upper_bound(times_->begin(), times_->end(), t) - times_->begin());
}

// counts * unit in microjoules; the product is exact for the units in use (1 µJ, 1 mJ) up to 2^53.
Energy Track::to_energy(double counts) const { return microjoules(to_whole(counts * (unit_ * 1e6))); }

Energy Track::position(MonoTime t) const { return position_in(counts_, t); }

Energy Track::position_in(const std::vector<std::int64_t>& counts, MonoTime t) const {
  if (counts.empty()) return {};
  const std::size_t next = index_after(t);
  if (next == 0) return to_energy(static_cast<double>(counts.front()));
  if (next == times_->size()) return to_energy(static_cast<double>(counts.back()));
  const auto step = static_cast<double>(counts[next] - counts[next - 1]);
  const double fraction = (t - (*times_)[next - 1]) / ((*times_)[next] - (*times_)[next - 1]);
  return to_energy(static_cast<double>(counts[next - 1]) + step * fraction);
}

void Track::scale(double factor, Accuracy left) {
  unit_ *= factor;
  roughness_ *= factor * factor;
  accuracy_ = left;
}

// Smearing a step of power over `blur` moves at most an eighth of blur × step across its middle; the means of half a blur on
// either side differ by half the step, and their joules by a quarter of blur × step: so half of that difference bounds it.
double Track::blur_error(MonoTime t) const {
  const std::size_t next = index_after(t);
  Duration half = nanoseconds(blur_.base_units() / 2);
  if (next > 0 && next < times_->size()) half = std::max(half, nanoseconds(((*times_)[next] - (*times_)[next - 1]).base_units() / 2));
  if (t - half < times_->front() || times_->back() < t + half) return unit_;
  const Energy before = position(t) - position(t - half), after = position(t + half) - position(t);
  return unit_ + std::abs(to_joules(after - before)) / 2;
}

double Track::edge_error(MonoTime t) const {
  if (part_ && t <= part_->begin) return part_begin_error_;
  if (part_ && t >= part_->end) return part_end_error_;
  if (blur_ > Duration{}) return blur_error(t);
  const std::size_t next = index_after(t);
  if (next == 0 || next == times_->size()) return unit_;
  const double step = static_cast<double>(counts_[next] - counts_[next - 1]) * unit_;
  const double fraction = (t - (*times_)[next - 1]) / ((*times_)[next] - (*times_)[next - 1]);
  return unit_ + step * std::min(fraction, 1 - fraction);
}

bool Track::incomplete(Interval when, Duration slack) const {
  const Interval known = covered();
  if (empty() || when.begin + slack < known.begin || known.end + slack < when.end) return true;
  return std::ranges::any_of(gaps_, [&](const Gap& gap) { return gap.energy_lost && !intersect(gap.when, when).empty(); });
}

Track Track::on_job(Interval part, const HostClock& clock) const {
  if (empty()) return {};
  auto times = std::make_unique<std::vector<MonoTime>>();
  std::vector<std::int64_t> value, low, high;
  const auto add = [&](MonoTime t) {
    times->push_back(clock.on_job(t));
    value.push_back(position(t).base_units());
    if (low_.empty()) return;
    low.push_back(position_in(low_, t).base_units());
    high.push_back(position_in(high_, t).base_units());
  };
  add(part.begin);
  for (std::size_t i = index_after(part.begin); i < times_->size() && (*times_)[i] < part.end; ++i) add((*times_)[i]);
  add(part.end);
  std::vector<Gap> gaps;
  const Interval known = covered();
  const auto add_unknown = [&](MonoTime begin, MonoTime end) {
    if (end - begin > edge_slack) gaps.push_back({clock.on_job(Interval{begin, end}), "no reading", true, std::nullopt});
  };
  add_unknown(part.begin, std::min(known.begin, part.end));
  for (Gap gap : gaps_) {
    gap.when = intersect(gap.when, part);
    if (gap.when.empty() || gap.when.end <= known.begin || known.end <= gap.when.begin) continue;
    gap.when = clock.on_job(gap.when);
    gaps.push_back(std::move(gap));
  }
  add_unknown(std::max(known.end, part.begin), part.end);
  Track placed(*times, std::move(value), 1e-6, accuracy_, quality_, std::move(gaps), roughness_, blur_);
  placed.low_ = std::move(low);
  placed.high_ = std::move(high);
  placed.part_ = clock.on_job(part);
  placed.part_begin_error_ = edge_error(part.begin);
  placed.part_end_error_ = edge_error(part.end);
  placed.keep(std::move(times));
  return placed;
}

Span Track::energy(Interval when) const {
  if (part_) when = intersect(when, *part_);
  if (empty() || intersect(covered(), when).empty()) return {};
  const Energy value = position(when.end) - position(when.begin);
  const bool partial = incomplete(when, edge_slack);
  if (!low_.empty()) {
    const auto of = [&](const std::vector<std::int64_t>& counts) {
      return position_in(counts, when.end) - position_in(counts, when.begin);
    };
    return {Estimate{value, std::min(of(low_), value), std::max(of(high_), value)}, quality_, partial};
  }
  const double systematic = to_joules(value) * accuracy_.relative + to_watts(accuracy_.absolute) * to_seconds(when.length());
  // 1.645 standard deviations hold 90 % of a normal error; the edge errors are bounds already.
  const double sampling = 1.645 * 1.645 * roughness_ * to_seconds(when.length());
  const double random = std::sqrt(std::pow(edge_error(when.begin), 2) + std::pow(edge_error(when.end), 2) + sampling);
  const Energy half = joules(systematic + random);
  const Energy low = std::max(microjoules(0), value - half);
  return {Estimate{value, low, value + half}, quality_, partial};
}

void Track::Walk::advance(MonoTime t) {
  while (next_ < size_ && (*track_->times_)[next_] <= t) ++next_;
  enter();
}

void Track::Walk::enter() {
  watts_ = 0;
  if (track_->empty()) return;
  const std::vector<MonoTime>& times = *track_->times_;
  const std::size_t last = next_ == 0 ? 0 : next_ - 1;
  begin_ = times[last];
  begin_joules_ = static_cast<double>(track_->counts_[last]) * track_->unit_;
  if (next_ == 0 || next_ == times.size()) return;
  const double joules = static_cast<double>(track_->counts_[next_] - track_->counts_[last]) * track_->unit_;
  watts_ = joules / to_seconds(times[next_] - begin_);
}

std::optional<Power> Track::peak(Interval when, Duration window) const {
  std::optional<Power> best;
  if (empty()) return best;
  std::size_t from = index_after(when.begin);
  if (from > 0 && (*times_)[from - 1] == when.begin) --from;
  for (std::size_t to = from + 1; to < times_->size() && (*times_)[to] <= when.end; ++to) {
    while (from + 1 < to && (*times_)[to] - (*times_)[from + 1] >= window) ++from;
    const Duration length = (*times_)[to] - (*times_)[from];
    if (length < window) continue;
    const Power mean = watts(static_cast<double>(counts_[to] - counts_[from]) * unit_ / to_seconds(length));
    if (!best || mean > *best) best = mean;
  }
  return best;
}

}  // namespace joulery
