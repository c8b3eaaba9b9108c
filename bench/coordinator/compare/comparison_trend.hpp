#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkgain/compare/run_comparison.hpp"
#include "linkgain/tables/table.hpp"

namespace linkgain {

/// A case of one variant over several runs, of which each later one is compared with the first.
struct TrendCase {
  std::string name;
  Case definition;
  std::string variant;
  const CaseFigures* first = nullptr;  ///< null where the first run lacks the case
  /// One for each comparison; null where neither of its two runs has the case.
  std::vector<const CaseComparison*> later;
};

/// Every case that any of the runs has: in the order of the run that has most of them (the last of
/// such), then what only others have. All comparisons have the first run in common. Points
/// into `comparisons`.
std::vector<TrendCase> trend_of(const std::vector<RunComparison>& comparisons);

/// What a run has of the case, null where it lacks it; run 0 is the first, run i that of
/// comparison i - 1.
const CaseFigures* figures_of(const TrendCase& row, std::size_t run);

/// Of run i > 0 compared with the first: missing where neither of the two has the case.
CaseVerdict verdict_of(const TrendCase& row, std::size_t run);

/// The report of two comparisons or more, all against the same first run: what changed and
/// cautions, each with the runs that it is true of; the headline's table; a row for each case of
/// any run, with a column for each run, the last compared with the first.
std::string trend_report(const std::vector<RunComparison>& comparisons, Metric metric,
                         TableStyle style, std::size_t width);

}  // namespace linkgain
