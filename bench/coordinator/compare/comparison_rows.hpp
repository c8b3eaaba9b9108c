#pragma once

#include <string>
#include <vector>

#include "linkgain/compare/run_comparison.hpp"
#include "linkgain/tables/table.hpp"

namespace linkgain {

/// A row of the table of all cases.
struct CaseRow {
  std::string label;
  std::string variant;              ///< empty where the source knows none
  std::vector<std::string> values;  ///< one for each column between variant and verdict
  CaseVerdict verdict = CaseVerdict::missing;
  std::string reason;
  /// Whether nothing is lost where several rows of the same verdict and reason become one.
  bool foldable = false;
};

/// The table of all cases. `columns` are those of the values; the variant's and the reason's
/// columns are left out where they are empty.
void add_case_table(StyledText& text, const std::vector<StyledText::Column>& columns,
                    const std::vector<CaseRow>& rows);

}  // namespace linkgain
