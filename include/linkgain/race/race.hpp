#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/statistics/statistics.hpp"

/// A race of variants beside the first one, which is none of the candidates: which of them are
/// measured further, which wins a case, and what launches that had no part in that choice confirm.
namespace linkgain {

/// Who races in each case, by case and variant as LaunchMeans are. The first variant, with which
/// all are compared, is always in.
using Field = std::vector<std::vector<bool>>;

/// Returns what is left of the field. A candidate leaves a case where it is shown not to gain
/// kFewPerCent on the first variant: by a one-sided t test each, of which kFalseDiscoveryRate at
/// most is expected to be wrong among those that leave (benjamini_hochberg_beyond()). So does one
/// without a time, and all do where the first has none.
Field still_racing(const Field& field, const LaunchMeans& means);

/// So many variants are confirmed at most: who sets variables by hand wants few.
inline constexpr std::size_t kMostWinners = 3;

/// Returns the winner of each case, by its place among the variants; 0 where no candidate of the
/// field is faster by kFewPerCent. Takes the variant that gains most in all cases together, then
/// the one that adds most to it, kMostWinners in all: a case changes hands for kFewPerCent only.
std::vector<std::size_t> winners_of(const Field& field, const LaunchMeans& means);

/// What fresh launches say of a case's winner.
struct Confirmation {
  std::size_t variant = 0;  ///< 0: nothing is claimed, nor was tested
  Estimate ratio{};         ///< how many times longer the first variant takes
  double confidence = 0.0;  ///< of that interval: together all of them hold at 99 %
  /// The interval lies above 1, and the ratio is more than that by kFewPerCent or more.
  bool holds = false;
};

/// Tests each winner with launches that had no part in choosing it: one answer for each case. The
/// intervals are Bonferroni's of as many tests as there are winners: of races in which no candidate
/// is faster 1 % claim something.
std::vector<Confirmation> confirmations_of(const std::vector<std::size_t>& winners,
                                           const LaunchMeans& fresh);

}  // namespace linkgain
