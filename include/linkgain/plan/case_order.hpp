#pragma once

#include <vector>

#include "linkgain/cases/case.hpp"

namespace linkgain {

/// Returns indices of `cases` in the order in which they are to be measured: their own, or, where
/// time is `limited`, so that most is known at whatever moment it ends. Then the largest size of
/// each operation comes first, then that of its other curves, then the smallest size of every
/// curve, and those between from the largest down. Launch modes are no curves of their own: small
/// sizes are launched otherwise than large ones.
std::vector<int> order_within(const std::vector<Case>& cases, bool limited);

}  // namespace linkgain
