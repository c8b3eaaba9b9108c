#pragma once

#include <optional>

#include "linkgain/statistics/statistics.hpp"

// A ratio is the estimate of how many times longer the other takes, t(other)/t(own); its replicates
// are the launches of the side that has fewer.

namespace linkgain {

/// Half the interval's width over the ratio, on the log scale; absent without an interval.
std::optional<double> relative_half_width(const Estimate& ratio);

/// 1 - 1/ratio: the share of time saved by the first variant, the guide's "23 %".
double less_time(double ratio);

}  // namespace linkgain
