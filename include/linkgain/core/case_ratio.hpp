#pragma once

#include <string_view>

#include "linkgain/core/ratio.hpp"
#include "linkgain/core/record.hpp"

namespace linkgain {

/// How many times longer `other` takes than `own`, two cases of the record (by place) that
/// `variant` measured. They were not sampled in the same rounds: the i-th sample of a launch of one
/// stands against the i-th of the other, as many as both have; otherwise as estimate_ratio() and
/// combine_launches(). Where the record has no samples of both, that of the times, which must be
/// there, without an interval.
Ratio ratio_of_cases(const Record& record, int own, int other, std::string_view variant);

}  // namespace linkgain
