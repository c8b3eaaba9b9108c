#pragma once

#include <cstddef>
#include <optional>

#include "linkgain/record/record.hpp"

/// Which ratios of a record say nothing: of these no command, report or file shows any.
namespace linkgain {

/// Why a variant's ratio to the first one's says nothing.
enum class RatioRefusal {
  wrong_data,    ///< one of the two gave wrong results
  not_measured,  ///< not both were measured
  same_path,     ///< variants that choose the path took the same one
  lost_runs,     ///< runs of a program failed or gave no number: these may be the slow ones
  too_few_runs,  ///< one run of a program, or fewer than kFewestAlone that agree
};

/// Looks for such a reason; absent where the ratio means something.
std::optional<RatioRefusal> refusal_of_ratio(const Record& record, const CaseResult& result,
                                             std::size_t variant);

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
