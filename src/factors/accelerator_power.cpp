#include "factors/accelerator_power.h"

#include <algorithm>

namespace joulery {
namespace {

constexpr PowerBand band(double value, double low, double high) { return {watts(value), watts(low), watts(high)}; }

// TPU v4: 90 W idle and 121, 170, 192 W (least, mean, most) in production: Jouppi et al., "TPU v4: An Optically Reconfigurable
// Supercomputer for Machine Learning", ISCA 2023, table 4; the mean and the ends also in Google's documentation. TPU v3: 123,
// 220, 262 W in Google's documentation (cloud.google.com/tpu/docs/v3). No power of later chips is published.
constexpr AcceleratorPower table[] = {
    {"TPU v4", band(90, 72, 121), band(170, 121, 192), "Google's measurements of TPU v4 (90 W idle, 121 to 192 W in production)"},
    {"TPU v3", band(123, 98, 160), band(220, 160, 262), "Google's measurements of TPU v3 (123 to 262 W)"},
};

Power between(Power idle, Power busy, double share) { return watts(to_watts(idle) + (to_watts(busy) - to_watts(idle)) * share); }

}  // namespace

PowerBand AcceleratorPower::at(double share) const {
  const double inside = std::clamp(share, 0.0, 1.0);
  return {between(idle.value, busy.value, inside), between(idle.low, busy.low, inside), between(idle.high, busy.high, inside)};
}

PowerBand AcceleratorPower::anywhere() const { return {between(idle.value, busy.value, 0.5), idle.low, busy.high}; }

const AcceleratorPower* accelerator_power(std::string_view device) {
  for (const AcceleratorPower& row : table)
    if (device.ends_with(row.name)) return &row;
  return nullptr;
}

}  // namespace joulery
