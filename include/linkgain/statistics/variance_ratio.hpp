#pragma once

namespace linkgain {

/// The probability that the ratio of two independent estimates of one variance, with these degrees
/// of freedom, exceeds `ratio` (the F distribution; Abramowitz and Stegun, 26.6.2). Throws
/// std::invalid_argument where a side has no degree of freedom or the ratio is negative.
double variance_ratio_upper_tail(double ratio, int above, int below);

}  // namespace linkgain
