// Linear regression with intervals that hold for real meters: readings whose errors depend on those before them (a counter's last
// step borrows from the next one), and errors that are larger where more is burnt.
//
// 1. Ordinary least squares; the residuals' autocorrelation gives an autoregressive filter whose order BIC chooses (Yule and
//    Walker); rows and readings are filtered and solved again (Cochrane and Orcutt, generalised), twice.
// 2. The covariance is the sandwich with leverage-corrected residuals (MacKinnon and White's HC2), so it does not assume that all errors
//    are equally large: of the filtered equations (prewhitening, as Andrews and Monahan do).
// 3. Where columns are combinations of each other the solution is the smallest one, and the covariance is that of what can be told:
//    a sum of powers that the rows do tell has its right variance, and `told` says what is not.
//
// Invariant: covariance is symmetric, width x width, in W².
#pragma once

#include <span>
#include <vector>

namespace joulery {

struct Regression {
  std::vector<double> value;         // W, one per column
  std::vector<double> covariance;    // row-major
  std::vector<double> hidden;        // an orthonormal base, row-major, of what the rows tell nothing of: combinations of columns
  double freedom = 0;                // rows less columns that can be told
  double noise = 0;                  // W, standard deviation of the filtered residuals
  double roughness = 0;              // W, of the plain residuals
  double explained = 0;              // share of the readings' variance, 0..1
  std::vector<double> memory;        // coefficients of the filter; empty where errors are independent
  double change = 1;                 // how much better two separate halves fit, as an F statistic: about 1 where powers stay
  double change_probability = 1;     // of so great an F where powers stay the same
};

// `shares`: rows of `width`, as many as there are `watts`. Empty value where there are fewer than width + 2 rows.
Regression regress(std::span<const double> shares, std::size_t width, std::span<const double> watts);

// Least squares where the errors are known to be independent, each of `noise` W: the best that can be had of such readings without
// bias. `covariance` is exact, and nothing is said of memory or change.
Regression regress_known(std::span<const double> shares, std::size_t width, std::span<const double> watts, double noise);

// Where the powers may as well be `other`, with probability `weight`: they are unsure by as much as they would differ.
void add_doubt(Regression& solved, const Regression& other, double weight);

// The sum of squared residuals of plain least squares: what the best delay makes small.
double misfit(std::span<const double> shares, std::size_t width, std::span<const double> watts);

// The half-width of a 90 % interval in standard deviations: Student's t at 95 %, for `freedom` degrees of freedom.
double student_90(double freedom);

// min (x - value)' C^-1 (x - value) with x >= 0: the most likely values where powers cannot be negative. `covariance` positive
// definite, row-major.
std::vector<double> not_negative(std::span<const double> value, std::span<const double> covariance);

}  // namespace joulery
