#include "linkgain/race/race.hpp"

#include <algorithm>
#include <cmath>

#include "linkgain/analysis/judgement.hpp"

namespace linkgain {
namespace {

const double kLeastGain = std::log1p(kFewPerCent);

/// Returns the log of how many times longer the first variant takes; absent where a time is.
std::optional<double> gain_of(const std::vector<std::optional<LaunchMean>>& means,
                              std::size_t variant) {
  if (!means[0] || !means[variant]) return std::nullopt;
  return std::log(means[0]->time.value / means[variant]->time.value);
}

/// Returns the case's gain of each variant that races in it; 0 of every other.
std::vector<double> gains_of(const std::vector<bool>& racing,
                             const std::vector<std::optional<LaunchMean>>& means) {
  std::vector<double> gains(means.size());
  for (std::size_t variant = 1; variant < means.size(); ++variant) {
    if (racing[variant]) gains[variant] = gain_of(means, variant).value_or(0.0);
  }
  return gains;
}

}  // namespace

Field still_racing(const Field& field, const LaunchMeans& means) {
  Field left = field;
  std::vector<double> chances;
  std::vector<std::pair<std::size_t, std::size_t>> tested;
  for (std::size_t i = 0; i < field.size(); ++i) {
    for (std::size_t variant = 1; variant < field[i].size(); ++variant) {
      if (!field[i][variant]) continue;
      left[i][variant] = gain_of(means[i], variant).has_value();
      if (!left[i][variant]) continue;
      const auto shift = shift_between(*means[i][variant], *means[i][0]);
      if (!shift) continue;
      chances.push_back(chance_below(*shift, kLeastGain));
      tested.emplace_back(i, variant);
    }
  }
  const TestsOfABound tests = benjamini_hochberg_beyond(chances, kFalseDiscoveryRate);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    if (tests.rejected[i]) left[tested[i].first][tested[i].second] = false;
  }
  return left;
}

std::vector<std::size_t> winners_of(const Field& field, const LaunchMeans& means) {
  std::vector<std::vector<double>> gains;
  for (std::size_t i = 0; i < field.size(); ++i) gains.push_back(gains_of(field[i], means[i]));
  std::vector<std::size_t> winners(field.size(), 0);
  const auto added_by = [&](std::size_t i, std::size_t variant) {
    const double added = gains[i][variant] - gains[i][winners[i]];
    return added >= kLeastGain ? added : 0.0;
  };
  const std::size_t variants = field.empty() ? 0 : field.front().size();
  for (std::size_t round = 0; round < kMostWinners; ++round) {
    std::vector<double> added(variants);
    for (std::size_t i = 0; i < field.size(); ++i) {
      for (std::size_t variant = 0; variant < variants; ++variant) {
        added[variant] += added_by(i, variant);
      }
    }
    const auto most = std::ranges::max_element(added);
    if (most == added.end() || *most <= 0.0) break;
    const auto best = static_cast<std::size_t>(most - added.begin());
    for (std::size_t i = 0; i < field.size(); ++i) {
      if (added_by(i, best) > 0.0) winners[i] = best;
    }
  }
  return winners;
}

std::vector<Confirmation> confirmations_of(const std::vector<std::size_t>& winners,
                                           const LaunchMeans& fresh) {
  constexpr double kWrong = 0.01;
  const auto none = std::ranges::count(winners, std::size_t{0});
  const auto tests = static_cast<double>(std::max<std::ptrdiff_t>(1, std::ssize(winners) - none));
  ShiftQuantiles quantiles(1.0 - kWrong / tests / 2.0);
  std::vector<Confirmation> confirmations;
  for (std::size_t i = 0; i < winners.size(); ++i) {
    Confirmation& found = confirmations.emplace_back();
    if (winners[i] == 0) continue;
    found = {.variant = winners[i], .confidence = 1.0 - kWrong / tests};
    const std::optional<double> gain = gain_of(fresh[i], winners[i]);
    if (!gain) continue;
    const LaunchMean& own = *fresh[i][winners[i]];
    const LaunchMean& first = *fresh[i][0];
    found.ratio = {.value = std::exp(*gain), .replicates = std::min(own.launches, first.launches)};
    const auto shift = shift_between(own, first);
    if (!shift) continue;
    const Interval interval = interval_of(*shift, quantiles);
    found.ratio.interval = Interval{std::exp(interval.low), std::exp(interval.high)};
    found.holds = interval.low > 0.0 && *gain >= kLeastGain;
  }
  return confirmations;
}

}  // namespace linkgain
