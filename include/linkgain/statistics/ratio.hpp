#pragma once

#include <optional>

#include "linkgain/statistics/statistics.hpp"

namespace linkgain {

/// How many times longer the other takes, t(other)/t(own).
struct Ratio {
  double estimate = 1.0;
  std::optional<Interval> interval{};  ///< 95 %, over launches; one launch has none
  int launches = 0;                    ///< of the side that has fewer

  /// Half the interval's width over the estimate, on the log scale; absent without an interval.
  std::optional<double> relative_half_width() const;
};

/// 1 - 1/ratio: the share of time saved by the first variant, the guide's "23 %".
double less_time(double ratio);

}  // namespace linkgain
