#include "linkgain/statistics/ratio.hpp"

#include <cmath>

namespace linkgain {

std::optional<double> Ratio::relative_half_width() const {
  if (!interval) return std::nullopt;
  return 0.5 * std::log(interval->high / interval->low);
}

double less_time(double ratio) { return 1.0 - 1.0 / ratio; }

}  // namespace linkgain
