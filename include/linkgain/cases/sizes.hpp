#pragma once

#include <string_view>
#include <vector>

#include "linkgain/base/units.hpp"

namespace linkgain {

inline constexpr int kMaxSweepSizes = 10'000;

/// Reads sizes: `8:1G:x4` (times 4 from 8 up), `1M:64M:+1M` (plus 1 MiB), a list `8,64K,1G`, or any
/// of these joined by commas. A sweep always includes its end. The result ascends, without
/// repetition. Throws UsageError on zero, a falling sweep, a factor below 2, a step of zero, or
/// more than kMaxSweepSizes sizes.
std::vector<Bytes> parse_sizes(std::string_view text);

}  // namespace linkgain
