#pragma once

#include <string>
#include <vector>

#include "linkgain/compare/run_comparison.hpp"
#include "linkgain/tables/table.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {

/// One run compared with another: how many cases came to which verdict and the largest change, what
/// changed in the machine, the headline's table with rows Before and After, cautions, and a row for
/// each case and variant. With more than one comparison, all against the same first run, a trend: a
/// column for each run, and the last compared with the first. A terminal has `width` columns.
/// Throws std::invalid_argument where there is none.
std::string comparison_report(const std::vector<RunComparison>& comparisons, Metric metric,
                              TableStyle style, std::size_t width = kTerminalColumns);

/// comparison_report() as a page that stands alone, with pictures of the largest differences of the
/// last comparison and of speed-ups over size. There is one comparison at least.
std::string comparison_page(const std::vector<RunComparison>& comparisons, Metric metric);

/// A row for each comparison, case and variant; units stand in the names, all digits are kept.
std::string comparison_csv(const std::vector<RunComparison>& comparisons);

/// One JSON document, schema "linkgain.comparison/1": each run compared with the first.
std::string to_json(const std::vector<RunComparison>& comparisons);

}  // namespace linkgain
