#include "linkgain/statistics/variance_ratio.hpp"

#include <cmath>
#include <stdexcept>

#include "incomplete_beta.hpp"

namespace linkgain {

double variance_ratio_upper_tail(double ratio, int above, int below) {
  if (above < 1 || below < 1) throw std::invalid_argument("a variance has a degree of freedom");
  if (!(ratio >= 0.0)) throw std::invalid_argument("a ratio of variances is not negative");
  if (std::isinf(ratio)) return 0.0;
  const double sum = below + above * ratio;
  return incomplete_beta(below / 2.0, above / 2.0, below / sum, above * ratio / sum);
}

}  // namespace linkgain
