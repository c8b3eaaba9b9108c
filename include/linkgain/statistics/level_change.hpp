#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace linkgain {

/// Between two samples of one launch, from which on times were of another level.
struct LevelChange {
  std::size_t launch = 0;  ///< place among the launches
  std::size_t before = 0;  ///< how many samples came before it
  double log = 0.0;        ///< mean log time after it less that before it
  bool operator==(const LevelChange&) const = default;
};

/// How often a change is found where there is none, in all launches together, if samples are
/// independent and their logs normal.
inline constexpr double kLevelChangeByChance = 0.001;

/// A launch of fewer samples is not looked at.
inline constexpr std::size_t kFewestForLevelChange = 4;

/// Finds the most significant sudden change of level within a launch; nothing if none is
/// significant and of at least `least`. `launches` has the logs of each launch's times in their
/// order.
///
/// For every place in every launch, Student's t of the means before and after it. A sample that
/// stands alone on its side must be the faster one, by 2 `least`: a slower one cannot be
/// distinguished from a spike, and leaves a median of four alone. The variance is that around the
/// two means in this launch and around their own means in the others, so that neither the change
/// itself nor what sets launches apart is in it, and what happens in every launch, as a slow first
/// sample, does not count as sudden. The chance is Bonferroni's over all places.
std::optional<LevelChange> find_level_change(std::span<const std::vector<double>> launches,
                                             double least);

}  // namespace linkgain
