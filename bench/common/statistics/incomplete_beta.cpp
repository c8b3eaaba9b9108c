#include "incomplete_beta.hpp"

#include <cmath>
#include <limits>

namespace linkgain {
namespace {

/// The continued fraction of A&S 26.5.8, evaluated from the front by the modified Lentz method.
/// Converges within a few dozen terms where x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  constexpr int kMostTerms = 100'000;
  const auto not_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double numerator = 1.0;
  double denominator = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
  double fraction = denominator;
  for (int m = 1; m < kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
    denominator = 1.0 / not_zero(1.0 + even * denominator);
    numerator = not_zero(1.0 + even / numerator);
    fraction *= denominator * numerator;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
    denominator = 1.0 / not_zero(1.0 + odd * denominator);
    numerator = not_zero(1.0 + odd / numerator);
    const double change = denominator * numerator;
    fraction *= change;
    if (std::abs(change - 1.0) <= kEpsilon) break;
  }
  return fraction;
}

}  // namespace

double incomplete_beta(double a, double b, double x, double y) {
  if (x <= 0.0) return 0.0;
  if (y <= 0.0) return 1.0;
  const double log_front =
      std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(y);
  const double front = std::exp(log_front);
  if (x < (a + 1.0) / (a + b + 2.0)) return front * beta_fraction(a, b, x) / a;
  return 1.0 - front * beta_fraction(b, a, y) / b;
}

}  // namespace linkgain
