#include "linkgain/race/race.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <vector>

namespace linkgain::test {
namespace {

using testing::ElementsAre;

/// Makes the mean of so many launches that differ by 1 %, as known from ten degrees of freedom.
std::optional<LaunchMean> taking(double microseconds, int launches = 4, double deviation = 0.01) {
  return LaunchMean{.time = Seconds{1e-6 * microseconds},
                    .launches = launches,
                    .deviation = LaunchDeviation{deviation, 10}};
}

TEST(Race, IsLeftByWhoIsShownNotToGainThreePerCent) {
  const Field all{{true, true, true, true, true, false}};
  const LaunchMeans means{{taking(100), taking(140), taking(100), taking(98), taking(80), {}}};
  EXPECT_THAT(still_racing(all, means),
              ElementsAre(ElementsAre(true, false, false, true, true, false)))
      << "slower, the same, faster by 2 %, by a quarter, not in the field";
}

TEST(Race, IsLeftByWhoHasNoTimeAndByAllWhereTheFirstHasNone) {
  const Field all{{true, true, true}, {true, true, true}};
  const LaunchMeans means{{taking(100), {}, taking(80)}, {{}, taking(1), taking(1)}};
  EXPECT_THAT(still_racing(all, means),
              ElementsAre(ElementsAre(true, false, true), ElementsAre(true, false, false)));
}

TEST(Race, KeepsWhomOneLaunchEachTellsNothingOf) {
  const LaunchMeans means{{taking(100, 1), taking(140, 1)}};
  EXPECT_THAT(still_racing({{true, true}}, means), ElementsAre(ElementsAre(true, true)));
}

TEST(Race, IsWonByFewVariantsAndACaseByWhoGainsThreePerCentOnTheOthers) {
  const Field all(4, std::vector<bool>(3, true));
  const LaunchMeans means{{taking(100), taking(80), taking(79)},   // next to nothing beside v1
                          {taking(100), taking(90), taking(110)},  // v1
                          {taking(100), taking(110), taking(70)},  // v2
                          {taking(100), taking(99), taking(98)}};  // nobody
  EXPECT_THAT(winners_of(all, means), ElementsAre(2, 1, 2, 0));
  EXPECT_THAT(winners_of({{true, true, false}, all[1], all[2], all[3]}, means),
              ElementsAre(1, 1, 2, 0));
}

TEST(Race, IsWonByThreeVariantsAtMost) {
  LaunchMeans means(5, std::vector<std::optional<LaunchMean>>(6, taking(100)));
  for (std::size_t i = 0; i < 5; ++i) means[i][i + 1] = taking(50 + 10 * static_cast<double>(i));
  const Field all(5, std::vector<bool>(6, true));
  EXPECT_THAT(winners_of(all, means), ElementsAre(1, 2, 3, 0, 0));
}

TEST(Race, ConfirmsWhatLiesBeyondAnIntervalOfAsManyTestsAsThereAreWinners) {
  const std::vector<std::size_t> winners{1, 1, 1, 0};
  const LaunchMeans fresh{{taking(117, 6), taking(100, 6)},
                          {taking(102, 6), taking(100, 6)},
                          {taking(100, 6), taking(100, 6)},
                          {taking(200, 6), taking(100, 6)}};
  const std::vector<Confirmation> found = confirmations_of(winners, fresh);
  EXPECT_TRUE(found[0].holds);
  EXPECT_NEAR(found[0].ratio.value, 1.17, 1e-12);
  EXPECT_EQ(found[0].ratio.replicates, 6);
  EXPECT_NEAR(found[0].confidence, 1.0 - 0.01 / 3.0, 1e-12);
  // Welch's t of 20 degrees of freedom, at 1 - 0.01 / 6.
  EXPECT_NEAR(std::log(found[0].ratio.interval->high / 1.17),
              student_t_quantile(1.0 - 0.01 / 6.0, 20) * 0.01 * std::sqrt(1.0 / 3.0), 1e-5);
  EXPECT_FALSE(found[1].holds) << "2 % are not worth a word";
  EXPECT_GT(found[1].ratio.interval->low, 1.0);
  EXPECT_FALSE(found[2].holds);
  EXPECT_EQ(found[3].variant, 0U) << "nobody had won it";
  EXPECT_FALSE(found[3].holds);
}

/// Twelve sizes and eleven candidates, whose launches scatter; one candidate gains at some sizes.
struct Machine {
  std::mt19937_64 generator;
  double scatter;
  double gain;  ///< of the first candidate in the first three cases, as a share
  static constexpr std::size_t kCases = 12;
  static constexpr std::size_t kVariants = 12;
  static constexpr std::size_t kGaining = 3;

  /// Draws the medians of so many launches, by case and variant.
  std::vector<std::vector<CaseLaunches>> launches(int count) {
    std::normal_distribution<double> normal(0.0, scatter);
    std::vector<std::vector<CaseLaunches>> all(kCases);
    for (std::size_t i = 0; i < kCases; ++i) {
      for (std::size_t variant = 0; variant < kVariants; ++variant) {
        CaseLaunches& own = all[i].emplace_back();
        own.definition.size = Bytes{std::int64_t{1} << (16 + i)};
        own.variant = std::to_string(variant);
        const double log = variant == 1 && i < kGaining ? -std::log1p(gain) : 0.0;
        for (int launch = 0; launch < count; ++launch) {
          own.launches.push_back({launch, Seconds{1e-4 * std::exp(log + normal(generator))}});
        }
      }
    }
    return all;
  }
};

LaunchMeans means_of(const std::vector<std::vector<CaseLaunches>>& launches) {
  std::vector<CaseLaunches> all;
  for (const auto& own : launches) all.insert(all.end(), own.begin(), own.end());
  const auto deviations = pooled_deviations(all);
  LaunchMeans means;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % Machine::kVariants == 0) means.emplace_back();
    means.back().push_back(mean_of(all[i].definition, all[i].launches, deviations[i]));
  }
  return means;
}

/// What a race claimed of the machine.
struct Outcome {
  std::size_t found = 0;  ///< of the cases in which a candidate gains
  std::size_t false_claims = 0;
  bool dropped_winner = false;  ///< after the first stage
};

Outcome race_on(Machine machine) {
  Field field(Machine::kCases, std::vector<bool>(Machine::kVariants, true));
  auto launches = machine.launches(2);
  field = still_racing(field, means_of(launches));
  Outcome outcome;
  for (std::size_t i = 0; i < Machine::kGaining; ++i) outcome.dropped_winner |= !field[i][1];
  const auto more = machine.launches(2);
  for (std::size_t i = 0; i < Machine::kCases; ++i) {
    for (std::size_t variant = 0; variant < Machine::kVariants; ++variant) {
      const auto& own = more[i][variant].launches;
      if (field[i][variant]) {
        launches[i][variant].launches.insert(launches[i][variant].launches.end(), own.begin(),
                                             own.end());
      }
    }
  }
  const LaunchMeans means = means_of(launches);
  const auto winners = winners_of(still_racing(field, means), means);
  const auto found = confirmations_of(winners, means_of(machine.launches(6)));
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i].holds) continue;
    const bool is_true = i < Machine::kGaining && found[i].variant == 1 && machine.gain > 0.0;
    ++(is_true ? outcome.found : outcome.false_claims);
  }
  return outcome;
}

/// Simulates so many races; returns how many claimed something false, and the share found.
std::pair<int, double> races(int count, double scatter, double gain) {
  int false_races = 0;
  std::size_t found = 0;
  for (int i = 0; i < count; ++i) {
    const Outcome outcome = race_on({std::mt19937_64(static_cast<unsigned>(i)), scatter, gain});
    false_races += outcome.false_claims > 0 ? 1 : 0;
    found += outcome.found;
  }
  return {false_races, static_cast<double>(found) / static_cast<double>(count) /
                           static_cast<double>(Machine::kGaining)};
}

TEST(RaceOnPlantedLaunches, ClaimsNothingInNineteenOfTwentyWhereNobodyIsFaster) {
  constexpr int kRaces = 200;
  for (const double scatter : {0.002, 0.02, 0.1}) {
    EXPECT_LE(races(kRaces, scatter, 0.0).first, kRaces / 20) << scatter;
  }
}

TEST(RaceOnPlantedLaunches, FindsEightPerCentAndNotTwo) {
  const auto [false_races, found] = races(60, 0.01, 0.08);
  EXPECT_GE(found, 0.99);
  EXPECT_LE(false_races, 3);
  EXPECT_LE(races(60, 0.002, 0.02).second, 0.01);
  EXPECT_GE(races(60, 0.05, 0.17).second, 0.8);
}

TEST(RaceOnPlantedLaunches, ScreensOutNextToNobodyWhoGainsAsMuch) {
  int dropped = 0;
  for (unsigned i = 0; i < 100; ++i) {
    dropped += race_on({std::mt19937_64(i), 0.02, 0.06}).dropped_winner ? 1 : 0;
  }
  EXPECT_LE(dropped, 5);
}

}  // namespace
}  // namespace linkgain::test
