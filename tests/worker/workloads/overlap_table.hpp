#pragma once

#include <span>
#include <string>

#include "linkgain/base/units.hpp"
#include "overlap_split.hpp"

namespace linkgain::test {

/// Findings of a precision as tables and sentences, times in milliseconds. `sizes` are the
/// buckets'.
std::string overlap_text(std::string_view precision, const OverlapFindings& findings,
                         std::span<const Bytes> sizes);

/// The first line of what overlap_csv() goes on with.
std::string overlap_csv_header();

/// Every figure of the text in a line of its own, in seconds. `bucket` is empty for those of the
/// whole step.
std::string overlap_csv(std::string_view precision, const OverlapFindings& findings);

}  // namespace linkgain::test
