#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkgain/compare/run_comparison.hpp"
#include "linkgain/tables/document.hpp"

namespace linkgain {

/// What a run's column shows of a case; empty where the run lacks it or its metric.
std::string value_cell(const CaseFigures* figures, Metric metric);

/// Speed-up, interval and less time; empty where there is nothing to compare.
Cells speed_up_cells(const CaseComparison& each);

/// "after.json (2026-11-21T16:40:00Z)"
std::string name_and_start(const RunFigures& run);

/// "driver: 580.1 → 590.2"
std::string text_of(const MachineDifference& change);

/// "1 faster, 2 inconclusive"
std::string counts_of(const std::vector<Verdict>& verdicts);

/// How many cases came to which verdict, and the largest change of those that are decided: "1
/// faster, 2 inconclusive. Largest change: all_reduce 1 GiB (p2p), 23 % less time (1.30x, 95 % CI
/// 1.24–1.35x)." Empty where there is no case.
std::string answer_of(const RunComparison& comparison);

/// What a value, and the words of the verdicts, mean; whether there are trainings, and rates.
std::string value_legend(bool trainings, bool rates);
std::string verdict_legend(double tolerance);

/// A row of the table of all cases.
struct CaseRow {
  std::string label;
  std::string variant;  ///< empty where the source knows none
  Cells values;         ///< one for each column between variant and verdict
  Verdict verdict = Verdict::missing;
  std::string reason;
  /// Whether nothing is lost where several rows of the same verdict and reason become one.
  bool foldable = false;
};

/// Makes the table of all cases. `columns` are those of the values.
Table table_of_cases(const std::vector<Table::Column>& columns, const std::vector<CaseRow>& rows);

/// Adds the table of the case that stands for the comparison (headline_case()), a row for each
/// side, and says in a sentence what its difference is. A training's time is that of all steps that
/// the runs were asked for, or of one step where they were asked for different numbers, and a
/// paragraph says what was trained.
void add_headline_table(Document& document, const RunComparison& comparison);

}  // namespace linkgain
