#include "linkgain/statistics/false_discovery.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <stdexcept>

namespace linkgain::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

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
  EXPECT_THROW(benjamini_hochberg(std::array{1.5}, 0.05), std::invalid_argument);
  EXPECT_THROW(benjamini_hochberg(std::array{-0.1}, 0.05), std::invalid_argument);
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
    if (std::find(rejected.begin(), rejected.end(), true) != rejected.end()) ++alarms;
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

}  // namespace
}  // namespace linkgain::test
