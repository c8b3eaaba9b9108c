#pragma once

#include <optional>
#include <string_view>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// Gives the rank whose own times in the samples of a case and variant stand out: the largest
/// median of all ranks, where it is above the median of the ranks' medians by more than `tolerance`
/// (a share). Absent with fewer than three ranks, without samples, or where no rank stands out.
std::optional<int> slowest_rank(const Record& record, std::string_view case_name,
                                std::string_view variant, double tolerance);

}  // namespace linkgain
