#pragma once

#include <string>
#include <vector>

#include "linkgain/compare/comparison_report.hpp"

namespace linkgain {

/// The report of two comparisons or more, all against the same first run: what changed and
/// cautions, each with the runs that it is true of; the headline's table; a row for each case of
/// any run, with a column for each run, the last held against the first.
std::string trend_report(const std::vector<RunComparison>& comparisons, Metric metric,
                         TableStyle style);

}  // namespace linkgain
