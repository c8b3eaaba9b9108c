#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkgain/analysis/judgement.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/compare/run_figures.hpp"
#include "linkgain/machines/machine_difference.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {

/// What a difference of practical meaning is, as a share of the time.
inline constexpr double kCompareTolerance = 0.02;

struct CompareOptions {
  double tolerance = kCompareTolerance;
  std::vector<OperationKind> operations;  ///< empty: all cases
};

/// A case of one variant in two runs, of which the first is the reference.
struct CaseComparison : Judgement {
  std::string name;
  Case definition;
  std::string variant;  ///< "p2p → host" where the runs have no variant in common
  /// Null where that run lacks the case; else part of the run given.
  const CaseFigures* before = nullptr;
  const CaseFigures* after = nullptr;
  /// t(before) / t(after) with its 95 % interval, which a side of one launch has not; absent where
  /// there is nothing to compare.
  std::optional<Estimate> speed_up{};
};

/// Two runs compared with each other.
struct RunComparison {
  const RunFigures* before = nullptr;  ///< not owned
  const RunFigures* after = nullptr;
  double tolerance = kCompareTolerance;
  std::vector<MachineDifference> changes;
  std::vector<CaseComparison> cases;  ///< in the order of `after`, then what it lacks
};

/// Judges each case by Claim::change. The replicate is the launch: shift_between() the launches of
/// both runs, with the deviations of each (pooled_deviations()). Where launches tell none the case
/// is inconclusive. Variants are matched by name, and the first ones with each other where no name
/// is common or a source has no names. The result points into both runs, which must outlive it.
RunComparison compare_runs(const RunFigures& before, const RunFigures& after,
                           const CompareOptions& options);

/// Tells whether some case was measured, or to be measured, in both runs.
bool has_common_case(const RunComparison& comparison);

/// Tells whether the case has a verdict on its times, be it that they decide nothing.
bool has_compared_times(const CaseComparison& each);

/// Tells whether the case has wrong data before or after.
bool has_wrong_side(const CaseComparison& each);

/// Returns wrong_data where a case has such on a side; else inconclusive where no case has compared
/// times, else success, whatever differs.
ExitCode exit_code_of(const RunComparison& comparison);

/// Finds the case that stands for the comparison, null where there is none. The first training that
/// communicates (may_stand_for_run()) of those that both runs measured; without any, of the first
/// variant the largest all_reduce, else the largest case of the first operation that has one.
const CaseComparison* headline_case(const RunComparison& comparison);

/// Tells whether the case is one that somebody asked for: of a program with metrics each is, and
/// its time is not, which every run has.
bool was_asked_for(const std::vector<CaseComparison>& cases, const CaseComparison& each);

/// Returns the run that has no case of such a row.
const RunFigures& lacking_run(const RunComparison& comparison, const CaseComparison& each);

/// Returns, for a row that one run lacks, the launch mode by which it has the same case all the
/// same.
std::optional<LaunchMode> other_launch(const RunComparison& comparison, const CaseComparison& each);

}  // namespace linkgain
