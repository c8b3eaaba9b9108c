#pragma once

#include <optional>
#include <string_view>

#include "linkgain/record/record.hpp"
#include "linkgain/statistics/ratio.hpp"

namespace linkgain {

/// How many times longer `other` takes than `own`, two cases of a record that `variant`
/// measured. They were not sampled in the same rounds: the i-th sample of a launch of one
/// stands against the i-th of the other, as many as both have; otherwise as estimate_ratio() and
/// combine_launches(). Where there are no samples of both, that of the times, which must be
/// there, without an interval.
Ratio ratio_of_cases(const CaseResult& own, const CaseResult& other, std::string_view variant);

/// That of NCCL's operation, or of the copy engine, to our kernel, of which `result` (one of the
/// record's) is a case; absent for other cases, and where either has no time of right data.
std::optional<Ratio> library_ratio(const Record& record, const CaseResult& result,
                                   std::string_view variant);

}  // namespace linkgain
