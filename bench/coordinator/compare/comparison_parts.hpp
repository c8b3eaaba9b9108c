#pragma once

#include <string>
#include <vector>

#include "linkgain/compare/run_comparison.hpp"
#include "linkgain/tables/document.hpp"

namespace linkgain {

/// Returns what a run's column shows of a case; empty where the run lacks it or its metric.
std::string value_cell(const CaseFigures* figures, Metric metric);

/// Returns "1 faster, 2 inconclusive".
std::string counts_of(const std::vector<CaseComparison>& cases);

/// Says how many cases came to which verdict, and the largest change of those that are decided: "1
/// faster, 2 inconclusive. Largest change: all_reduce 1 GiB (p2p), 1.30x as fast (95 % CI 1.24x to
/// 1.35x)." Empty where there is no case.
std::string answer_of(const RunComparison& comparison);

/// Says in a sentence what came of the case that stands for the comparison (headline_case()); where
/// NVLink is what the sides differ in, or it is a training, below a table with a row for each side.
/// A training's time is that of all steps that the runs were asked for, or of one step where they
/// were asked for different numbers, and a paragraph says what was trained.
void add_headline(Document& document, const RunComparison& comparison);

/// Says what else differs and could explain a difference, and what weakens the comparison; from the
/// runs, the changes and the cases of `comparison`.
std::vector<Warning> cautions_of(const RunComparison& comparison);

}  // namespace linkgain
