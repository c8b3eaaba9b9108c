#include "linkgain/statistics/level_change.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "linkgain/statistics/distributions.hpp"

namespace linkgain::test {
namespace {

using ::testing::Optional;

using Launches = std::vector<std::vector<double>>;

/// Of a quiet machine: launches differ by 1 %, samples of one by `noise`.
class Simulation {
 public:
  explicit Simulation(double noise) : noise_(noise) {}

  Launches run(int launches, int rounds) {
    Launches all(static_cast<std::size_t>(launches));
    for (std::vector<double>& launch : all) {
      const double level = 0.01 * normal_(random_);
      for (int round = 0; round < rounds; ++round) launch.push_back(level + noise_ * next());
    }
    return all;
  }

  /// Of Student's t with 5 degrees of freedom instead, whose tails are heavier, of variance 1.
  void set_heavy_tails() { heavy_ = true; }

  /// How many of `cases` runs have a change of at least `least`.
  int count(int cases, int launches, int rounds, double least) {
    int found = 0;
    for (int i = 0; i < cases; ++i) {
      found += find_level_change(run(launches, rounds), least).has_value() ? 1 : 0;
    }
    return found;
  }

 private:
  double next() { return heavy_ ? heavy_tailed_(random_) * std::sqrt(0.6) : normal_(random_); }

  std::mt19937 random_{7};
  std::normal_distribution<double> normal_;
  std::student_t_distribution<double> heavy_tailed_{5.0};
  double noise_;
  bool heavy_ = false;
};

TEST(LevelChange, IsRareByChance) {
  // 20000 runs at 0.1 % are 20 at most; Bonferroni's bound is not reached, as places overlap.
  for (const int launches : {1, 2, 6, 8}) {
    for (const int rounds : {4, 8}) {
      const int found = Simulation(0.001).count(20000, launches, rounds, 0.0);
      EXPECT_LE(found, 33) << launches << " launches of " << rounds << " rounds";
    }
  }
  EXPECT_GE(Simulation(0.001).count(20000, 6, 4, 0.0), 3) << "the bound is not far off";
}

TEST(LevelChange, OfAQuietMachineIsTooSmallToMatter) {
  // Of large sizes samples of one launch agree to 0.1 %, of small ones to 1 %, and 2 or 10 %
  // matter.
  Simulation large(0.001);
  Simulation small(0.01);
  large.set_heavy_tails();
  small.set_heavy_tails();
  EXPECT_EQ(large.count(20000, 6, 4, std::log(1.02)), 0);
  EXPECT_LE(small.count(20000, 6, 4, std::log(1.1)), 2);
}

TEST(LevelChange, OfSamplesThatHangTogetherAndSpikeIsTooSmallToMatter) {
  // As small sizes scatter: half of a sample's deviation stays with the next one, and one sample in
  // 20 is longer, by 2 % on average.
  std::mt19937 random(11);
  std::normal_distribution<double> normal(0.0, 0.01);
  std::bernoulli_distribution spikes(0.05);
  std::exponential_distribution<double> spike(50.0);
  int found = 0;
  for (int i = 0; i < 20000; ++i) {
    Launches launches(6);
    for (std::vector<double>& launch : launches) {
      double wander = normal(random);
      for (int round = 0; round < 4; ++round) {
        wander = 0.5 * wander + std::sqrt(0.75) * normal(random);
        launch.push_back(wander + (spikes(random) ? spike(random) : 0.0));
      }
    }
    found += find_level_change(launches, std::log(1.1)).has_value() ? 1 : 0;
  }
  EXPECT_LE(found, 2);
}

TEST(LevelChange, FindsANeighbourThatBegins) {
  for (std::size_t before = 2; before < 7; ++before) {
    Launches launches = Simulation(0.005).run(6, 8);
    for (std::size_t i = before; i < 8; ++i) launches[3][i] += std::log(2.4);
    const auto found = find_level_change(launches, std::log(1.02));
    ASSERT_TRUE(found) << before;
    EXPECT_EQ(found->launch, 3U);
    EXPECT_EQ(found->before, before);
    EXPECT_NEAR(found->log, std::log(2.4), 0.03);
  }
}

TEST(LevelChange, FindsASampleThatTheNeighbourLeftAlone) {
  for (const std::size_t fast : {0U, 3U}) {
    Launches launches = Simulation(0.005).run(6, 4);
    for (std::size_t i = 0; i < 4; ++i) launches[3][i] += i == fast ? 0.0 : std::log(2.4);
    const auto found = find_level_change(launches, std::log(1.02));
    ASSERT_TRUE(found) << fast;
    EXPECT_EQ(found->launch, 3U);
    EXPECT_EQ(found->before, fast == 0 ? 1U : 3U);
    EXPECT_NEAR(std::abs(found->log), std::log(2.4), 0.03);
  }
}

TEST(LevelChange, FindsItAgainAndAgain) {
  Simulation simulation(0.01);
  int found = 0;
  for (int i = 0; i < 1000; ++i) {
    Launches launches = simulation.run(6, 4);
    for (std::size_t j = 2; j < 4; ++j) launches[0][j] += std::log(1.1);
    found += find_level_change(launches, std::log(1.05)).has_value() ? 1 : 0;
  }
  EXPECT_GE(found, 950) << "of 1000, 10 % with samples that scatter by 1 %";
}

TEST(LevelChange, ASpikeIsNone) {
  for (std::size_t place = 0; place < 4; ++place) {
    Launches launches = Simulation(0.001).run(6, 4);
    launches[2][place] += 0.5;
    EXPECT_EQ(find_level_change(launches, 0.02), std::nullopt) << place;
  }
}

TEST(LevelChange, InEveryLaunchIsNotSudden) {
  Launches launches = Simulation(0.001).run(6, 4);
  for (std::vector<double>& launch : launches) launch[0] += 0.2;
  EXPECT_EQ(find_level_change(launches, 0.02), std::nullopt);
}

TEST(LevelChange, BetweenLaunchesIsNone) {
  Launches launches = Simulation(0.001).run(6, 4);
  for (double& value : launches[5]) value += 1.0;
  EXPECT_EQ(find_level_change(launches, 0.02), std::nullopt);
}

/// Of eight samples, four of 0 and then four of 1, all of them `scatter` off by turns, Student's t
/// of the change is 1 / (scatter sqrt(8 / 6 (1 / 4 + 1 / 4))) with 6 degrees of freedom. With six
/// places to look at in two directions, 12 times the tail is 0.001 at t = 8.29207.
TEST(LevelChange, IsFoundUpToTheChanceThatIsAllowed) {
  const auto found = [](double scatter) {
    Launches launches(1);
    for (int i = 0; i < 8; ++i) {
      launches[0].push_back((i < 4 ? 0.0 : 1.0) + (i % 2 == 0 ? -scatter : scatter));
    }
    return find_level_change(launches, 0.02);
  };
  EXPECT_THAT(found(0.1473), Optional(testing::Field(&LevelChange::before, 4U)));
  EXPECT_EQ(found(0.1481), std::nullopt) << "0.1477 is the bound";
}

TEST(LevelChange, NeedsFourSamplesAndSomeDifference) {
  EXPECT_EQ(find_level_change(Launches{}, 0.0), std::nullopt);
  EXPECT_EQ(find_level_change(Launches{{0.0, 0.0, 9.0}, {}, {1.0}}, 0.02), std::nullopt);
  EXPECT_EQ(find_level_change(Launches{{0.0, 0.0, 0.0, 0.0}}, 0.02), std::nullopt);
  EXPECT_THAT(find_level_change(Launches{{0.0, 0.0, 1.0, 1.0}, {0.0, 0.0, 0.0, 0.0}}, 0.02),
              Optional(LevelChange{0, 2, 1.0}));
}

}  // namespace
}  // namespace linkgain::test
