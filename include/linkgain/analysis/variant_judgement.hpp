#pragma once

#include <cstddef>

#include "linkgain/analysis/judgement.hpp"
#include "linkgain/record/record.hpp"

/// Whether the variants of a case differ, for `run` and `exec`.
namespace linkgain {

/// Judges the first variant beside a later one, the reference: any change counts, and what lies
/// within 10 % with all of its interval is the same. Ratios that say nothing, of which no command,
/// report or file shows any, are facts: wrong_data of either, missing where not both were measured,
/// same_path, and not_comparable of a program that lost runs or had too few. Inconclusive without
/// an interval is one launch.
Judgement judge_variants(const Record& record, const CaseResult& result, std::size_t variant);

/// Tells whether such a ratio means something.
bool has_speed_up(Verdict verdict);

/// Tells whether numbers are alike, but for how means of other counts of runs are rounded.
bool is_one(double ratio);

/// A program's runs of one variant that ended, and those that gave no number of them.
struct EndedRuns {
  std::size_t all = 0;
  std::size_t failed = 0;   ///< by themselves
  std::size_t lacking = 0;  ///< this case's metric alone

  std::size_t lost() const { return failed + lacking; }
};

/// Counts them; warm-up runs are left out.
EndedRuns ended_runs(const Record& record, const CaseResult& result, std::size_t variant);

/// Says whether all launches of both the first variant and this one gave each one number.
bool all_agree(const CaseResult& result, std::size_t variant);

}  // namespace linkgain
