#include "meter/gauge.h"

#include <cmath>
#include <optional>

namespace joulery {
namespace {

class Integrator {
 public:
  Integrator(const Channel& channel, const std::vector<MonoTime>& times) : channel_(channel), times_(times) {}

  void take(std::size_t i, std::int64_t raw, MissingReason reason) {
    if (reason == MissingReason::none && raw < 0) reason = MissingReason::rubbish;
    if (reason != MissingReason::none) {
      if (!outage_) outage_ = reason;
      return;
    }
    const double power = static_cast<double>(raw) * channel_.unit;
    if (outage_)
      add_gap({last_ ? times_[*last_] : times_.front(), times_[i]});
    else if (last_)
      add(times_[i] - times_[*last_], power);
    outage_.reset();
    last_ = i;
    power_ = power;
  }

  void finish() {
    if (!outage_) return;
    add_gap({last_ ? times_[*last_] : times_.front(), times_.back()});
  }

  std::int64_t total_microjoules() const { return to_whole(total_ * 1e6); }
  bool any() const { return last_.has_value(); }
  double roughness() const { return known_seconds_ > 0 ? variance_ / known_seconds_ : 0; }
  std::vector<Gap> take_gaps() { return std::move(gaps_); }

 private:
  void add(Duration length, double power) {
    const double s = to_seconds(length);
    total_ += (power_ + power) / 2 * s;
    // Where in the step power changed is not known: uniform over it, so the variance of its energy is (ΔP·s)²/12.
    variance_ += std::pow((power - power_) * s, 2) / 12;
    known_seconds_ += s;
  }
  void add_gap(Interval when) { gaps_.push_back({when, std::string(describe(*outage_)), true, std::nullopt}); }

  const Channel& channel_;
  const std::vector<MonoTime>& times_;
  std::optional<std::size_t> last_;
  std::optional<MissingReason> outage_;
  double power_ = 0, total_ = 0, variance_ = 0, known_seconds_ = 0;
  std::vector<Gap> gaps_;
};

}  // namespace

Track integrate_gauge(const Channel& channel, const std::vector<MonoTime>& times, std::vector<std::int64_t> raw,
                      std::span<const MissingReason> reasons) {
  Integrator integrator(channel, times);
  for (std::size_t i = 0; i < raw.size(); ++i) {
    integrator.take(i, raw[i], reasons.empty() ? MissingReason::none : reasons[i]);
    raw[i] = integrator.total_microjoules();
  }
  if (!raw.empty()) integrator.finish();
  if (!integrator.any()) raw.clear();
  return Track(times, std::move(raw), 1e-6, channel.accuracy, Quality::integrated, integrator.take_gaps(), integrator.roughness());
}

}  // namespace joulery
