#include "linkgain/record/launch_times.hpp"

#include <algorithm>
#include <cmath>

#include "linkgain/statistics/statistics.hpp"

namespace linkgain {

std::vector<std::pair<int, double>> medians_of(const LaunchTimes& times, std::size_t fewest) {
  std::vector<std::pair<int, double>> medians;
  for (const auto& [launch, values] : times) {
    if (values.size() >= fewest) medians.emplace_back(launch, median(values));
  }
  return medians;
}

std::optional<LevelChange> level_change_of(const LaunchTimes& times, double share) {
  bool may_have_changed = false;
  for (const auto& [launch, values] : times) {
    const auto [lowest, highest] = std::ranges::minmax(values);
    if (!(lowest > 0.0)) return std::nullopt;  // of a record that was tampered with
    may_have_changed = may_have_changed || highest >= lowest * (1.0 + share);
  }
  if (!may_have_changed) return std::nullopt;
  std::vector<std::vector<double>> logs;
  for (const auto& [launch, values] : times) {
    std::vector<double>& own = logs.emplace_back();
    for (const double time : values) own.push_back(std::log(time));
  }
  return find_level_change(logs, std::log1p(share));
}

}  // namespace linkgain
