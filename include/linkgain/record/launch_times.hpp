#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "linkgain/statistics/level_change.hpp"

namespace linkgain {

/// The times of one variant's samples of a case in seconds, by launch, in the order measured.
using LaunchTimes = std::map<int, std::vector<double>>;

/// Returns the medians of the launches with `fewest` samples or more, in their order.
std::vector<std::pair<int, double>> medians_of(const LaunchTimes& times, std::size_t fewest);

/// Finds where times changed level within a launch by this share or more. Twice the half width of
/// an interval that is narrow enough matters.
std::optional<LevelChange> level_change_of(const LaunchTimes& times, double share);

}  // namespace linkgain
