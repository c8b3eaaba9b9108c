#pragma once

#include <string>

#include "comparison.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// What holding one variant against the first came to: "With NVLink the same all-reduce takes 92 %
/// less time (11.9x, 95 % CI 11.8x to 12.0x)."
std::string outcome_sentence(Contrast contrast, const CaseResult& result,
                             const Comparison& comparison);

/// How far its interval is from what was asked for, with a space before it. Empty where it is as
/// narrow as that, or where none is shown.
std::string convergence_sentence(const Record& record, const CaseResult& result,
                                 const Comparison& comparison);

}  // namespace linkgain
