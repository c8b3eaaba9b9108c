#include "linkgain/statistics/ratio.hpp"

#include <cmath>

namespace linkgain {

std::optional<double> relative_half_width(const Estimate& ratio) {
  if (!ratio.interval) return std::nullopt;
  return 0.5 * std::log(ratio.interval->high / ratio.interval->low);
}

double less_time(double ratio) { return 1.0 - 1.0 / ratio; }

}  // namespace linkgain
