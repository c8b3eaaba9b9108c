#pragma once

namespace linkgain {

/// Returns the value that Student's t with `degrees_of_freedom` stays below with `probability`.
/// Found by bisection on the regularised incomplete beta function (Abramowitz and Stegun, Handbook
/// of Mathematical Functions, 26.5.8 and 26.7.1); relative error below 1e-9. Throws
/// std::invalid_argument where the probability is not strictly between 0 and 1 or the degrees of
/// freedom are below 1.
double student_t_quantile(double probability, int degrees_of_freedom);

/// Returns the probability that Student's t with `degrees_of_freedom` exceeds `t` (A&S 26.7.1),
/// without loss of digits where it is small. Throws std::invalid_argument where there is no degree
/// of freedom or `t` is no number.
double student_t_upper_tail(double t, int degrees_of_freedom);

/// Returns the probability that the ratio of two independent estimates of one variance, with these
/// degrees of freedom, exceeds `ratio` (the F distribution; Abramowitz and Stegun, 26.6.2). Throws
/// std::invalid_argument where a side has no degree of freedom or the ratio is negative.
double variance_ratio_upper_tail(double ratio, int above, int below);

}  // namespace linkgain
