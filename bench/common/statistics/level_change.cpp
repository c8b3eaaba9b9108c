#include "linkgain/statistics/level_change.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include "linkgain/statistics/statistics.hpp"

namespace linkgain {
namespace {

/// A single sample that takes longer is a spike. One that takes less is not, but normal tails are
/// trusted less far for it than for a mean.
constexpr double kLoneFactor = 2.0;

struct Moments {
  double mean = 0.0;
  double sum_of_squares = 0.0;
};

Moments moments_of(std::span<const double> values) {
  Moments moments;
  moments.mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  for (const double value : values) {
    moments.sum_of_squares += (value - moments.mean) * (value - moments.mean);
  }
  return moments;
}

}  // namespace

std::optional<LevelChange> find_level_change(std::span<const std::vector<double>> launches,
                                             double least) {
  double all_squares = 0.0;
  std::size_t freedom = 0;
  std::size_t places = 0;
  for (const std::vector<double>& launch : launches) {
    if (launch.size() < kFewestForLevelChange) continue;
    all_squares += moments_of(launch).sum_of_squares;
    freedom += launch.size() - 1;
    places += launch.size() - 2;  // the first and the last, in one direction each, are one
  }
  std::optional<LevelChange> found;
  double smallest = kLevelChangeByChance;
  for (std::size_t index = 0; index < launches.size(); ++index) {
    const std::span<const double> launch(launches[index]);
    if (launch.size() < kFewestForLevelChange) continue;
    const double others = all_squares - moments_of(launch).sum_of_squares;
    for (std::size_t before = 1; before < launch.size(); ++before) {
      const Moments first = moments_of(launch.first(before));
      const Moments last = moments_of(launch.subspan(before));
      const double change = last.mean - first.mean;
      const bool first_alone = before == 1;
      const bool lone = first_alone || before + 1 == launch.size();
      if (lone && first_alone != (change > 0.0)) continue;
      if (std::abs(change) < (lone ? kLoneFactor * least : least)) continue;
      const double variance =
          (others + first.sum_of_squares + last.sum_of_squares) / static_cast<double>(freedom - 1);
      const double error =
          std::sqrt(variance * (1.0 / static_cast<double>(before) +
                                1.0 / static_cast<double>(launch.size() - before)));
      const double t = error > 0.0 ? std::abs(change) / error : std::numeric_limits<double>::max();
      const double chance = 2.0 * static_cast<double>(places) *
                            student_t_upper_tail(t, static_cast<int>(freedom - 1));
      if (chance >= smallest) continue;
      smallest = chance;
      found = LevelChange{index, before, change};
    }
  }
  return found;
}

}  // namespace linkgain
