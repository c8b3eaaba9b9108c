#pragma once

#include <string>
#include <vector>

#include "linkgain/report/comparison_report.hpp"

namespace linkgain {

/// What a run's column shows of a case; empty where the run lacks it or its metric.
std::string value_cell(const CaseFigures* figures, Metric metric);

/// Speed-up, interval and less time; empty where there is nothing to compare.
std::vector<std::string> speed_up_cells(const CaseComparison& each);

/// "all_reduce 1 GiB"; the name itself where it is no case of linkgain's.
std::string label_of(const CaseComparison& each);

/// "the same all-reduce"
std::string what_is_timed(const CaseComparison& each);

/// "After, the same all-reduce takes 91 % less time (11.7x, 95 % CI 11.2x to 12.2x)." `what` is
/// what took the time, as a sentence has it.
std::string verdict_sentence(const std::string& what, const CaseComparison& each, double threshold);

}  // namespace linkgain
