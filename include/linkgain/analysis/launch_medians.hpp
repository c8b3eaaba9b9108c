#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// A record and what to call it when something is to be said of it: the name it was given by.
struct NamedRecord {
  std::string name;
  Record record;
};

/// A launch's median over its samples, each the slowest rank's.
struct LaunchMedian {
  int launch = 0;  ///< counted through all records, so that no two of different records are one
  Seconds time;
  bool operator==(const LaunchMedian&) const = default;
};

/// A median of fewer samples is no median: one disturbed sample could be it.
inline constexpr int kFewestSamples = 3;

/// What several launches say of one variant of one case.
struct CaseLaunches {
  Case definition;
  std::string variant;
  std::vector<LaunchMedian> launches;  ///< in the order of the records and of their launches
  std::vector<Path> paths{};           ///< those known, each once
  std::string wrong_data{};            ///< what was wrong, empty where nothing was
  /// Why there are no launches: skipped, not sampled, too few samples. Empty where there are.
  std::string missing{};
  /// Whether some record that measured it does not know the path.
  bool path_unknown = false;
  int unhealthy_samples = 0;  ///< in which something but the power limit held a GPU back
};

/// One entry for each case and variant of any record, in the order in which they are first seen.
/// Launches are the replicates (design.md, rule 6), so samples go no further than this.
std::vector<CaseLaunches> launch_medians(std::span<const NamedRecord> records);

/// Mean of the logarithms of the launches' medians; there must be one.
double mean_log(std::span<const LaunchMedian> launches);

/// What stands for several launches: its logarithm is mean_log(). That of one launch is its median.
Seconds geometric_mean(std::span<const LaunchMedian> launches);

}  // namespace linkgain
