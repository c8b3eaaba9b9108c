#include "linkgain/model/optimizer.hpp"

#include <algorithm>
#include <cmath>

namespace linkgain {

OptimizerStep optimizer_step(const OptimizerSettings& settings, std::int64_t step,
                             std::int64_t steps) {
  const auto count = static_cast<double>(step + 1);
  const double left = static_cast<double>(steps - step) / static_cast<double>(steps);
  return {.learning_rate = settings.learning_rate * std::clamp(left, 0.0, 1.0),
          .beta1 = settings.beta1,
          .beta2 = settings.beta2,
          .correction1 = 1.0 - std::pow(settings.beta1, count),
          .correction2 = 1.0 - std::pow(settings.beta2, count),
          .epsilon = settings.epsilon,
          .largest_norm = settings.largest_norm};
}

double clip_factor(double squared_norm, double largest_norm) {
  constexpr double kGuard = 1e-6;  // against division by zero
  return std::min(1.0, largest_norm / (std::sqrt(squared_norm) + kGuard));
}

}  // namespace linkgain
