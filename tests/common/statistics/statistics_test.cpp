#include "linkgain/statistics/statistics.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <random>
#include <stdexcept>

#include "linkgain/statistics/balanced_order.hpp"

namespace linkgain::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

using Values = std::vector<double>;

TEST(Median, IsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median(Values{7}), 7.0);
  EXPECT_EQ(median(Values{9, 1, 5}), 5.0);
  EXPECT_EQ(median(Values{9, 1, 5, 2}), 3.5);
  EXPECT_THROW(median(Values{}), std::invalid_argument);
}

TEST(Quartiles, LieBetweenNeighbours) {
  EXPECT_EQ(quartiles(Values{5, 1, 4, 2, 3}), (Interval{2.0, 4.0}));
  EXPECT_EQ(quartiles(Values{4, 1, 2, 3}), (Interval{1.75, 3.25}));
  EXPECT_EQ(quartiles(Values{7}), (Interval{7.0, 7.0}));
  EXPECT_THROW(quartiles(Values{}), std::invalid_argument);
}

TEST(Interval, HoldsItsEnds) {
  constexpr Interval kInterval{-1.0, 2.0};
  EXPECT_TRUE(kInterval.holds(-1.0) && kInterval.holds(0.0) && kInterval.holds(2.0));
  EXPECT_FALSE(kInterval.holds(-1.1) || kInterval.holds(2.1));
  EXPECT_EQ(low_of(kInterval), -1.0);
  EXPECT_EQ(high_of(kInterval), 2.0);
  EXPECT_EQ(low_of({}), std::nullopt);
  EXPECT_EQ(high_of({}), std::nullopt);
}

// Takes standard deviation 1: the mean's error is 1/sqrt(3); 4.302653 is Student's t of 2.
TEST(StudentMean, HasAnIntervalFromTwoValuesOn) {
  const Estimate mean = student_mean(Values{1, 2, 3});
  EXPECT_EQ(mean.replicates, 3);
  EXPECT_EQ(mean.value, 2.0);
  ASSERT_TRUE(mean.interval.has_value());
  EXPECT_NEAR(mean.interval->low, 2.0 - 4.302653 / std::sqrt(3.0), 1e-6);
  EXPECT_NEAR(mean.interval->high, 2.0 + 4.302653 / std::sqrt(3.0), 1e-6);
  EXPECT_TRUE(mean.may_be(0.0));
  EXPECT_FALSE(mean.may_be(5.0));
  // For two values it is the half difference times Student's t of 1, 12.706205.
  const Estimate of_two = student_mean(Values{1, 3});
  ASSERT_TRUE(of_two.interval.has_value());
  EXPECT_NEAR(of_two.interval->high, 2.0 + 12.706205, 1e-5);
  EXPECT_EQ(student_mean(Values{5}), (Estimate{.value = 5.0, .replicates = 1}));
  EXPECT_FALSE(student_mean(Values{5}).may_be(5.0)) << "there is no interval";
}

TEST(LessTime, IsTheGuidesShare) {
  EXPECT_NEAR(less_time(131.4367 / 101.9003), 0.2247, 1e-4);
  EXPECT_DOUBLE_EQ(less_time(2.0), 0.5);
  EXPECT_DOUBLE_EQ(less_time(1.0), 0.0);
  EXPECT_DOUBLE_EQ(less_time(0.5), -1.0);
}

TEST(InverseOf, TurnsTheIntervalRound) {
  const Estimate inverse =
      inverse_of({.value = 2.0, .interval = Interval{1.6, 2.5}, .replicates = 6});
  EXPECT_DOUBLE_EQ(inverse.value, 0.5);
  EXPECT_DOUBLE_EQ(inverse.interval.value().low, 0.4);
  EXPECT_DOUBLE_EQ(inverse.interval.value().high, 0.625);
  EXPECT_EQ(inverse.replicates, 6);
  EXPECT_FALSE(inverse_of({.value = 2.0}).interval);
}

TEST(RelativeHalfWidth, IsHalfTheLogOfHighOverLow) {
  const Interval interval{3.0 * std::exp(-0.02), 3.0 * std::exp(0.02)};
  EXPECT_NEAR(relative_half_width({.value = 3.0, .interval = interval}).value(), 0.02, 1e-12);
  EXPECT_EQ(relative_half_width(Estimate{}), std::nullopt);
}

TEST(StudentTQuantile, AgreesWithTheTables) {
  // Abramowitz and Stegun, table 26.10, two-sided 0.95 and 0.99.
  EXPECT_NEAR(student_t_quantile(0.975, 1), 12.706, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 2), 4.303, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 4), 2.776, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 10), 2.228, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 30), 2.042, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.995, 1), 63.657, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.995, 10), 3.169, 5e-4);
}

TEST(StudentTQuantile, AgreesWithTheClosedForms) {
  for (const double probability : {0.5001, 0.6, 0.9, 0.975, 0.9999, 1.0 - 1e-7}) {
    // One degree of freedom is the Cauchy distribution; two: t = (2p - 1) sqrt(2 / (4 p (1 - p))).
    const double cauchy = std::tan(std::numbers::pi * (probability - 0.5));
    EXPECT_NEAR(student_t_quantile(probability, 1) / cauchy, 1.0, 1e-7) << probability;
    const double two =
        (2.0 * probability - 1.0) * std::sqrt(2.0 / (4.0 * probability * (1.0 - probability)));
    EXPECT_NEAR(student_t_quantile(probability, 2) / two, 1.0, 1e-7) << probability;
  }
}

TEST(StudentTQuantile, ApproachesTheNormalDistribution) {
  EXPECT_NEAR(student_t_quantile(0.975, 1'000'000), 1.959966, 5e-6);
}

TEST(StudentTQuantile, IsAntisymmetric) {
  EXPECT_NEAR(student_t_quantile(0.5, 7), 0.0, 1e-12);
  for (const double probability : {0.001, 0.25}) {
    EXPECT_DOUBLE_EQ(student_t_quantile(probability, 7), -student_t_quantile(1.0 - probability, 7));
  }
}

TEST(StudentTQuantile, RefusesWhatHasNoQuantile) {
  EXPECT_THROW(student_t_quantile(0.0, 3), std::invalid_argument);
  EXPECT_THROW(student_t_quantile(1.0, 3), std::invalid_argument);
  EXPECT_THROW(student_t_quantile(std::nan(""), 3), std::invalid_argument);
  EXPECT_THROW(student_t_quantile(0.975, 0), std::invalid_argument);
}

TEST(StudentTUpperTail, UndoesTheQuantile) {
  for (const int degrees : {1, 2, 7, 40, 500}) {
    for (const double probability : {0.6, 0.975, 0.9999}) {
      const double t = student_t_quantile(probability, degrees);
      EXPECT_NEAR(student_t_upper_tail(t, degrees) / (1.0 - probability), 1.0, 1e-6) << degrees;
      EXPECT_NEAR(student_t_upper_tail(-t, degrees), probability, 1e-9) << degrees;
    }
  }
}

TEST(StudentTUpperTail, KeepsItsDigitsFarOut) {
  // With two degrees of freedom the tail is (1 - t / sqrt(2 + t^2)) / 2, about 1 / (2 t^2).
  EXPECT_NEAR(student_t_upper_tail(1e6, 2) / 5e-13, 1.0, 1e-6);
  EXPECT_EQ(student_t_upper_tail(0.0, 5), 0.5);
  EXPECT_EQ(student_t_upper_tail(std::numeric_limits<double>::infinity(), 5), 0.0);
  EXPECT_EQ(student_t_upper_tail(-std::numeric_limits<double>::infinity(), 5), 1.0);
  EXPECT_THROW(student_t_upper_tail(1.0, 0), std::invalid_argument);
  EXPECT_THROW(student_t_upper_tail(std::nan(""), 3), std::invalid_argument);
}

TEST(VarianceRatio, AgreesWithTheTables) {
  // Abramowitz and Stegun, table 26.9: upper 5 % and 1 % points.
  EXPECT_NEAR(variance_ratio_upper_tail(5.05, 5, 5), 0.05, 1e-4);
  EXPECT_NEAR(variance_ratio_upper_tail(3.33, 5, 10), 0.05, 2e-4);
  EXPECT_NEAR(variance_ratio_upper_tail(161.4, 1, 1), 0.05, 1e-4);
  EXPECT_NEAR(variance_ratio_upper_tail(5.64, 5, 10), 0.01, 1e-4);
}

TEST(VarianceRatio, IsTheSquareOfStudentsT) {
  for (const double t : {0.5, 2.0, 6.0}) {
    EXPECT_NEAR(variance_ratio_upper_tail(t * t, 1, 7), 2.0 * student_t_upper_tail(t, 7), 1e-12);
  }
}

TEST(VarianceRatio, HasEndsAndRefusesNonsense) {
  EXPECT_EQ(variance_ratio_upper_tail(0.0, 3, 4), 1.0);
  EXPECT_EQ(variance_ratio_upper_tail(std::numeric_limits<double>::infinity(), 3, 4), 0.0);
  EXPECT_THROW(variance_ratio_upper_tail(1.0, 0, 4), std::invalid_argument);
  EXPECT_THROW(variance_ratio_upper_tail(1.0, 4, 0), std::invalid_argument);
  EXPECT_THROW(variance_ratio_upper_tail(-1.0, 4, 4), std::invalid_argument);
}

TEST(BenjaminiHochberg, RejectsWhatTheirPaperDoes) {
  // Benjamini and Hochberg 1995, section 4.1: fifteen p values, of which four are rejected at 5 %.
  const std::array p{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                     0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
  const std::vector<bool> rejected = benjamini_hochberg(p, 0.05);
  for (std::size_t i = 0; i < p.size(); ++i) EXPECT_EQ(rejected[i], i < 4) << i;
}

TEST(BenjaminiHochberg, RejectsSmallerOnesWithALargerOneThatPasses) {
  // The third passes its line of 0.05; the first two are above theirs but below it.
  EXPECT_THAT(benjamini_hochberg(std::array{0.05, 0.04, 0.03}, 0.05),
              ElementsAre(true, true, true));
  EXPECT_THAT(benjamini_hochberg(std::array{0.04, 0.9}, 0.05), ElementsAre(false, false));
}

TEST(BenjaminiHochberg, TakesNothingAndRefusesNonsense) {
  EXPECT_THAT(benjamini_hochberg({}, 0.05), IsEmpty());
  for (const double none : {1.001, -0.001, std::nan("")}) {
    EXPECT_THROW(benjamini_hochberg(std::array{none}, 0.05), std::invalid_argument) << none;
    EXPECT_THROW(benjamini_hochberg(std::array{0.5, none}, 0.05), std::invalid_argument) << none;
  }
}

TEST(BenjaminiHochbergBeyond, DoesNotPayForCasesWellWithinTheBound) {
  std::vector<double> p(100, 0.999);
  p[41] = 0.04;
  EXPECT_FALSE(benjamini_hochberg(p, 0.05)[41]);
  EXPECT_TRUE(benjamini_hochberg_beyond(p, 0.05).rejected[41]);
  EXPECT_FALSE(benjamini_hochberg_beyond(p, 0.05).rejected[0]);
  p[0] = 0.001;
  EXPECT_TRUE(benjamini_hochberg_beyond(p, 0.05).rejected[0]) << "whatever its place";
  p[0] = 0.999;
  p[41] = 0.046;
  EXPECT_THAT(benjamini_hochberg_beyond(p, 0.05).rejected, Each(false))
      << "0.046 / 0.9 is above 0.05";
}

TEST(BenjaminiHochbergBeyond, OfOneTestIsThatTest) {
  for (const double p : {0.0, 0.049, 0.05}) {
    EXPECT_THAT(benjamini_hochberg_beyond(std::array{p}, 0.05).rejected, ElementsAre(true)) << p;
  }
  for (const double p : {0.051, 0.95, 1.0}) {
    const TestsOfABound test = benjamini_hochberg_beyond(std::array{p}, 0.05);
    EXPECT_THAT(test.rejected, ElementsAre(false)) << p;
    EXPECT_DOUBLE_EQ(test.next, 0.05);
  }
}

TEST(BenjaminiHochbergBeyond, TakesThoseThatAreNotPlainlyWithin) {
  const TestsOfABound tests = benjamini_hochberg_beyond(std::array{0.91, 0.9, 1.0, 0.0}, 1.0);
  EXPECT_THAT(tests.in_question, ElementsAre(1U, 3U));
  EXPECT_THAT(tests.rejected, ElementsAre(false, true, false, true));
  EXPECT_THAT(benjamini_hochberg_beyond({}, 0.05).in_question, IsEmpty());
  EXPECT_THAT(benjamini_hochberg_beyond(std::array{1.0, 1.0}, 0.05).in_question, IsEmpty());
  EXPECT_THROW(benjamini_hochberg_beyond(std::array{std::nan("")}, 0.05), std::invalid_argument);
  EXPECT_THROW(benjamini_hochberg_beyond(std::array{std::nan(""), 1.0}, 0.05),
               std::invalid_argument);
}

TEST(BenjaminiHochbergBeyond, KeepsItsRateForUniformValues) {
  std::mt19937 generator(3);
  std::uniform_real_distribution<double> uniform;
  int alarms = 0;
  constexpr int kRuns = 2000;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<double> p(20);
    for (double& each : p) each = uniform(generator);
    const std::vector<bool> rejected = benjamini_hochberg_beyond(p, 0.05).rejected;
    if (std::ranges::find(rejected, true) != rejected.end()) ++alarms;
  }
  EXPECT_NEAR(static_cast<double>(alarms) / kRuns, 0.05, 0.015);
}

TEST(BenjaminiHochbergBeyond, FindsOneMoreAtTheNextValue) {
  for (const int rejected : {0, 1, 2}) {
    std::vector<double> p{0.4, 0.4, 0.4, 0.95};
    for (int i = 0; i < rejected; ++i) p[static_cast<std::size_t>(i)] = 1e-6;
    const double next = benjamini_hochberg_beyond(p, 0.05).next;
    p[2] = next * (1.0 - 1e-9);
    EXPECT_TRUE(benjamini_hochberg_beyond(p, 0.05).rejected[2]) << rejected;
    p[2] = next * (1.0 + 1e-9);
    EXPECT_FALSE(benjamini_hochberg_beyond(p, 0.05).rejected[2]) << rejected;
  }
}

using Launches = std::vector<std::vector<double>>;

/// A quiet machine: launches differ by 1 %, samples of one by `noise`.
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

  /// Draws from Student's t with 5 degrees of freedom, whose tails are heavier, of variance 1.
  void set_heavy_tails() { heavy_ = true; }

  /// Returns how many of `cases` runs have a change of at least `least`.
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
  // At large sizes samples of one launch agree to 0.1 %, at small ones to 1 %; 2 or 10 % matter.
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
    for (const double spike : {0.5, 0.05}) {
      Launches launches = Simulation(0.001).run(6, 4);
      launches[2][place] += spike;
      EXPECT_EQ(find_level_change(launches, 0.02), std::nullopt) << place;
    }
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

/// Takes eight samples, four of 0 and then four of 1, all of them `scatter` off by turns: Student's
/// t of the change is 1 / (scatter sqrt(8 / 6 (1 / 4 + 1 / 4))) with 6 degrees of freedom. With six
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

/// Counts a sample that stands alone on its side from twice the least change on.
TEST(LevelChange, IsFoundFromTheLeastThatCountsOn) {
  const std::vector<double> still(4, 0.0);
  for (const double least : {1.0, 0.0625}) {
    const double twice = 2.0 * least;
    for (const auto& [launch, before] : {std::pair{std::vector{0.0, 0.0, least, least}, 2U},
                                         {{0.0, twice, twice, twice}, 1U},
                                         {{0.0, 0.0, 0.0, -twice}, 3U}}) {
      EXPECT_THAT(find_level_change(Launches{launch, still}, least),
                  Optional(testing::Field(&LevelChange::before, before)));
      EXPECT_EQ(find_level_change(Launches{launch, still}, 1.0001 * least), std::nullopt);
    }
  }
}

/// Repeats the orders of a record from its seed, in any version.
TEST(BalancedOrder, IsTheSameForEver) {
  EXPECT_THAT(BalancedOrder(12, 0).next(), ElementsAre(5, 8, 11, 9, 2, 1, 0, 3, 7, 6, 4, 10));
  EXPECT_THAT(BalancedOrder(12, 4294967295U).next(),
              ElementsAre(4, 10, 6, 5, 1, 8, 9, 11, 2, 3, 0, 7));
}

TEST(BalancedOrder, IsAPermutationAndItsMirrorImageByTurns) {
  BalancedOrder order(4, 7);
  const std::vector<int> forward = order.next();
  EXPECT_THAT(forward, testing::UnorderedElementsAre(0, 1, 2, 3));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(order.next(), std::vector<int>(forward.rbegin(), forward.rend()));
    EXPECT_EQ(order.next(), forward);
  }
}

/// Adds the second and the third, whose mean is the median of four.
TEST(BalancedOrder, GivesAllVariantsTheSameMedianPlaceInFourRounds) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    BalancedOrder order(3, seed);
    std::map<int, std::vector<int>> places;
    for (int place = 0; place < 12;) {
      for (const int variant : order.next()) places[variant].push_back(place++);
    }
    for (const auto& [variant, own] : places) EXPECT_EQ(own[1] + own[2], 11);
  }
}

TEST(BalancedOrder, TakesEveryPermutationEquallyOftenOverTheSeeds) {
  std::map<std::vector<int>, int> counts;
  constexpr int kSeeds = 6000;
  for (int seed = 0; seed < kSeeds; ++seed) {
    ++counts[BalancedOrder(3, static_cast<unsigned>(seed)).next()];
  }
  ASSERT_EQ(counts.size(), 6U);
  double chi_square = 0.0;
  for (const auto& [permutation, count] : counts) {
    chi_square += std::pow(count - kSeeds / 6.0, 2) / (kSeeds / 6.0);
  }
  EXPECT_LT(chi_square, 20.5) << "the 99.9 % point of five degrees of freedom";
}

TEST(BalancedOrder, WorksForOneVariantAndRefusesNone) {
  BalancedOrder order(1, 0);
  EXPECT_THAT(order.next(), testing::ElementsAre(0));
  EXPECT_THAT(order.next(), testing::ElementsAre(0));
  EXPECT_THROW(BalancedOrder(0, 0), std::invalid_argument);
}

std::vector<int> variants_of(const std::vector<Turn>& order) {
  std::vector<int> variants;
  for (const Turn& turn : order) variants.push_back(turn.variant);
  return variants;
}

TEST(ShuffledOrder, HasEachVariantAsOften) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::map<int, std::vector<int>> times;
    for (const auto& [variant, time] : shuffled_order(3, 4, seed)) times[variant].push_back(time);
    ASSERT_EQ(times.size(), 3U);
    for (const auto& [variant, own] : times) EXPECT_THAT(own, testing::ElementsAre(0, 1, 2, 3));
  }
  EXPECT_THAT(variants_of(shuffled_order(1, 2, 0)), testing::ElementsAre(0, 0));
  EXPECT_THROW(shuffled_order(0, 2, 0), std::invalid_argument);
}

TEST(ShuffledOrder, TakesEveryOrderEquallyOftenOverTheSeeds) {
  std::map<std::vector<int>, int> counts;
  constexpr int kSeeds = 6000;
  for (int seed = 0; seed < kSeeds; ++seed) {
    ++counts[variants_of(shuffled_order(2, 2, static_cast<unsigned>(seed)))];
  }
  ASSERT_EQ(counts.size(), 6U);
  double chi_square = 0.0;
  for (const auto& [order, count] : counts) {
    chi_square += std::pow(count - kSeeds / 6.0, 2) / (kSeeds / 6.0);
  }
  EXPECT_LT(chi_square, 20.5) << "the 99.9 % point of five degrees of freedom";
}

}  // namespace
}  // namespace linkgain::test
