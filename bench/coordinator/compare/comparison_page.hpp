#pragma once

#include <vector>

#include "linkgain/compare/run_comparison.hpp"
#include "linkgain/tables/table.hpp"

namespace linkgain {

/// "Run 1" is what all others are held against; names of files are too long for columns.
std::string run_label(std::size_t number);

/// The page's table of the case that stands for the last comparison that has one (headline_case()),
/// a row for each run, and what its difference is in a sentence; with more than one comparison the
/// rows have verdicts. Of a training the time is that of all steps
/// that the runs were asked for, or of one step where they were asked for different numbers, and a
/// paragraph says what was trained. All comparisons have the first run in common.
void add_page_table(StyledText& text, const std::vector<RunComparison>& comparisons);

}  // namespace linkgain
