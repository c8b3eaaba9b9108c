#pragma once

#include <string>

#include "linkgain/compare/run_comparison.hpp"

namespace linkgain {

/// How many cases came to which verdict, and the largest change of those that are decided: "1
/// faster, 2 inconclusive. Largest change: all_reduce 1 GiB (p2p), 23 % less time (1.30x, 95 % CI
/// 1.24–1.35x)." Empty where there is no case.
std::string answer_of(const RunComparison& comparison);

}  // namespace linkgain
