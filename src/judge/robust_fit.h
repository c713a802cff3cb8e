// Linear regression that a few wild values cannot bend: Huber's M-estimate by iteratively reweighted least squares. Pure.
//
// P. J. Huber, "Robust Estimation of a Location Parameter", Annals of Mathematical Statistics 35, 1964: a residual counts
// by its square up to k = 1.345 scales (95 % efficient where errors are normal) and by its size beyond. The scale is the
// residuals' median absolute value over 0.6745. Covariance: Huber, "Robust Statistics", 1981, section 7.6, with the
// correction factor for the number of coefficients; multiplied by (1 + r) / (1 - r) where neighbouring residuals
// correlate by r, for values of a time series are not independent (Bayley and Hammersley, 1946).
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/result.h"

namespace joulery {

inline constexpr std::size_t most_coefficients = 3;

// Coefficients of 1, x, x² in this order; those beyond `count` are 0.
struct RobustFit {
  std::size_t count = 0;
  std::array<double, most_coefficients> coefficients{};
  std::array<std::array<double, most_coefficients>, most_coefficients> covariance{};
  double scale = 0;                     // robust standard deviation of the residuals
  double memory = 0;                    // correlation of neighbouring residuals, 0..1

  double at(double x) const { return coefficients[0] + x * (coefficients[1] + x * coefficients[2]); }
  double standard_error(std::size_t coefficient) const;
  double standard_error_at(double x) const;                    // of the mean at x
};

// Fits y = c0 + c1 x (+ c2 x²), `count` coefficients (2 or 3). x and y are finite and run side by side in time.
// Errors: format, where there are too few values or x does not vary.
Result<RobustFit> fit_huber(std::span<const double> x, std::span<const double> y, std::size_t count);

// What the same form of fit misses in stretches that it has not seen.
struct CrossValidation {
  double mean_error = 0;                // mean of |error| / value over all values held out
  double stretch_error = 0;             // root mean square of the mean error of each stretch, as a share of its mean value:
                                        // what does not average out within one
  std::size_t stretches = 0;
};

// Leaves out each of `stretches` contiguous pieces in turn. Errors: those of fit_huber for any of the remainders.
Result<CrossValidation> cross_validate(std::span<const double> x, std::span<const double> y, std::size_t count, std::size_t stretches);

}  // namespace joulery
