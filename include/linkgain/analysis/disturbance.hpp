#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkgain/hardware/neighbours.hpp"
#include "linkgain/record/record.hpp"

/// Marks `d` and `c` of a report's rows, for those who compare one run with another.
namespace linkgain {

/// What else than the machine may explain a time.
struct Disturbance {
  /// Taken while others worked on a GPU, or on the ranks' processors; absent where nobody looked.
  std::optional<int> samples{};
  /// Within a launch times changed to so many times their level; of several the largest change.
  std::optional<double> level_change{};
};

/// Gives that of a variant of a case of the record.
Disturbance disturbance_of(const Record& record, const VariantResult& result);
Disturbance operator+(const Disturbance& a, const Disturbance& b);

/// Says "other processes were active in 3 samples, times changed level within a launch (x1.31)";
/// empty where nothing is known.
std::string disturbance_text(const Disturbance& disturbance);

/// A case of one variant: "all_reduce/float32/sum/8B/np2 with p2p".
struct DisturbedCase {
  std::string name;
  Disturbance disturbance;
};

/// Says what a reader must know before believing that a run differs from another, or that nothing
/// is wrong: "neighbours", "disturbed", "level-change", "link-errors", and the run's `own`
/// warnings of what disturbed it. Of busy GPUs "neighbours" tells.
std::vector<Warning> disturbance_warnings(const std::string& run,
                                          const std::vector<DisturbedCase>& cases,
                                          const std::optional<Neighbours>& neighbours,
                                          const std::optional<LinkErrors>& errors,
                                          const std::vector<Warning>& own);
std::vector<Warning> disturbance_warnings(const std::string& run, const Record& record);

}  // namespace linkgain
