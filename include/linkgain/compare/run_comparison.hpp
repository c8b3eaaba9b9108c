#pragma once

#include <string_view>
#include <vector>

#include "linkgain/compare/comparison.hpp"

namespace linkgain {

/// "same", "faster", "slower", "inconclusive", "not comparable", "missing".
std::string_view name_of(CaseVerdict verdict);

struct CompareOptions {
  double tolerance = 0.02;  ///< what a difference of practical meaning is, as a share of the time
  std::vector<OperationKind> operations;  ///< empty: all cases
};

/// The replicate is the launch: the difference of the means of log launch medians, with Student's t
/// interval from the deviations of both runs (pooled_deviations(), combine_deviations()), or the
/// normal one from an assumption where there is none (assumed_deviation(), kAssumedCpuDeviation),
/// or from what the samples show if that is more. Variants are matched by name, and the first ones
/// with each other where no name is common or a source has no names. The result points into both
/// runs, which must outlive it.
RunComparison compare_runs(const RunFigures& before, const RunFigures& after,
                           const CompareOptions& options);

/// Whether some case was measured, or to be measured, in both runs.
bool has_common_case(const RunComparison& comparison);

/// The case that stands for the comparison, null where there is none. The first training that
/// communicates (may_stand_for_run()) of those that both runs measured; without any, of the first
/// variant the largest all_reduce, else the largest case of the first operation that has one.
const CaseComparison* headline_case(const RunComparison& comparison);

}  // namespace linkgain
