#include "linkgain/statistics/student_t.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>

#include "incomplete_beta.hpp"

namespace linkgain {
namespace {

/// t / sqrt(degrees of freedom) = tan(angle) maps all t >= 0 to a quarter turn, where
/// P(|T| <= t) = I_{sin^2}(1/2, degrees / 2) rises from 0 to 1.
double probability_within(double angle, int degrees_of_freedom) {
  const double sine = std::sin(angle);
  const double cosine = std::cos(angle);
  return incomplete_beta(0.5, degrees_of_freedom / 2.0, sine * sine, cosine * cosine);
}

}  // namespace

double student_t_quantile(double probability, int degrees_of_freedom) {
  if (!(probability > 0.0 && probability < 1.0)) {
    throw std::invalid_argument("a quantile's probability lies between 0 and 1");
  }
  if (degrees_of_freedom < 1) throw std::invalid_argument("Student's t has a degree of freedom");
  if (probability < 0.5) return -student_t_quantile(1.0 - probability, degrees_of_freedom);
  const double within = 2.0 * probability - 1.0;
  double low = 0.0;
  double high = std::numbers::pi / 2.0;
  for (double middle = high / 2.0; low < middle && middle < high; middle = (low + high) / 2.0) {
    (probability_within(middle, degrees_of_freedom) < within ? low : high) = middle;
  }
  return std::sqrt(static_cast<double>(degrees_of_freedom)) * std::tan((low + high) / 2.0);
}

double student_t_upper_tail(double t, int degrees_of_freedom) {
  if (degrees_of_freedom < 1) throw std::invalid_argument("Student's t has a degree of freedom");
  if (std::isnan(t)) throw std::invalid_argument("Student's t is a number");
  if (t < 0.0) return 1.0 - student_t_upper_tail(-t, degrees_of_freedom);
  if (std::isinf(t)) return 0.0;
  const double sum = degrees_of_freedom + t * t;
  return 0.5 *
         incomplete_beta(degrees_of_freedom / 2.0, 0.5, degrees_of_freedom / sum, t * t / sum);
}

}  // namespace linkgain
