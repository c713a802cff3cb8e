#include "publish/metric.h"

#include <cmath>

#include "core/units.h"

namespace joulery {
namespace {

std::string exact_text(std::int64_t count, std::size_t decimals) {
  std::string text = std::to_string(count);
  const std::size_t sign = count < 0 ? 1 : 0;
  if (decimals == 0) return text;
  if (text.size() - sign <= decimals) text.insert(sign, decimals + 1 - (text.size() - sign), '0');
  return text.insert(text.size() - decimals, 1, '.');
}

}  // namespace

// A count below 2^53 and a power of ten up to 22 are doubles, and so is the nearest of their quotient; beyond that long double helps.
double MetricValue::as_double() const {
  if (!is_exact()) return real_;
  long double scale = 1;
  for (int i = 0; i < decimals_; ++i) scale *= 10;
  return static_cast<double>(static_cast<long double>(count_) / scale);
}

std::string MetricValue::text() const {
  if (is_exact()) return exact_text(count_, static_cast<std::size_t>(decimals_));
  if (std::isnan(real_)) return "NaN";
  if (std::isinf(real_)) return real_ > 0 ? "+Inf" : "-Inf";
  return to_decimal(real_);
}

}  // namespace joulery
