#pragma once

#include <string>

#include "linkgain/baseline/baseline.hpp"

namespace linkgain {

/// What a baseline holds, for who has just made it: machine, cases, launches, the spread of each
/// pool of like cases, warnings.
std::string baseline_summary(const Baseline& baseline);

}  // namespace linkgain
