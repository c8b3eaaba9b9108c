#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkgain/compare/machine_changes.hpp"
#include "linkgain/compare/run_figures.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {

/// What holding one run's case against another's came to.
enum class CaseVerdict {
  same,            ///< the whole interval lies within the threshold
  faster,          ///< less time after: beyond the threshold, and the interval leaves 1 out
  slower,          ///< more time after, likewise
  inconclusive,    ///< neither
  not_comparable,  ///< a side has no time that may be compared
  missing,         ///< a side lacks the case
};

/// Standard deviation between launches of the log of a launch's median.
struct BetweenLaunchDeviation {
  double deviation = 0.0;
  /// Absent where no like case of either run has two launches, and it is an assumption.
  std::optional<int> degrees_of_freedom;
};

/// A case of one variant in two runs.
struct CaseComparison {
  std::string name;
  Case definition;
  std::string variant;  ///< "p2p → host" where the runs have no variant in common
  /// Null where that run lacks the case; else part of the run given.
  const CaseFigures* before = nullptr;
  const CaseFigures* after = nullptr;
  /// t(before) / t(after) with its 95 % interval; absent where there is nothing to compare.
  std::optional<Estimate> speed_up;
  std::optional<BetweenLaunchDeviation> between_launches;  ///< what the interval was made of
  CaseVerdict verdict = CaseVerdict::missing;
  std::string reason;  ///< of not_comparable and missing; what disturbed either side of others
};

/// Two runs compared with each other.
struct RunComparison {
  const RunFigures* before = nullptr;  ///< not owned
  const RunFigures* after = nullptr;
  double threshold = 0.02;
  std::vector<Change> changes;
  std::vector<Warning> cautions;      ///< what the reader must know before believing a difference
  std::vector<CaseComparison> cases;  ///< in the order of `after`, then what it lacks
};

}  // namespace linkgain
