#pragma once

namespace linkgain {

/// The regularised incomplete beta function I_x(a, b) with y = 1 - x given apart, so that neither
/// end loses digits (Abramowitz and Stegun, 26.5.8).
double incomplete_beta(double a, double b, double x, double y);

}  // namespace linkgain
