#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "linkgain/analysis/launch_statistics.hpp"
#include "support/launch_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::Eq;
using ::testing::Optional;

/// Launches whose logs are given.
CaseLaunches logs(const Case& definition, const std::vector<double>& values) {
  std::vector<double> times;
  for (const double value : values) times.push_back(std::exp(value));
  return launches_of(definition, times);
}

TEST(DeviationPool, NamesWhatCasesHaveInCommon) {
  Case definition = sized(16 << 20);
  EXPECT_EQ(deviation_pool(definition, "p2p"), "p2p/all_reduce/stream/16MiB-256MiB");
  definition.launch = LaunchMode::graph;
  definition.kernel = true;
  definition.size = Bytes{8};
  EXPECT_EQ(deviation_pool(definition, "host"), "host/all_reduce/graph/kernel/1B-16B");
}

TEST(DeviationPool, HoldsSizesWithinAFactorOf16) {
  const std::string pool = deviation_pool(sized(1 << 20), "p2p");
  EXPECT_EQ(deviation_pool(sized((16 << 20) - 8), "p2p"), pool);
  EXPECT_NE(deviation_pool(sized(16 << 20), "p2p"), pool);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(deviation_pool(sized(kMost), "p2p"),
            deviation_pool(sized(std::int64_t{1} << 60), "p2p"));
  EXPECT_NE(deviation_pool(sized((1 << 20) - 8), "p2p"), pool);
}

TEST(PooledDeviations, OfOneCaseAreItsStandardDeviation) {
  const std::vector<CaseLaunches> cases{logs(sized(8), {0.0, 0.01, -0.01, 0.0})};
  const auto deviations = pooled_deviations(cases);
  ASSERT_TRUE(deviations[0]);
  EXPECT_NEAR(deviations[0]->deviation, std::sqrt(2e-4 / 3.0), 1e-12);
  EXPECT_EQ(deviations[0]->degrees_of_freedom, 3);
  EXPECT_FALSE(deviations[0]->alone);
}

TEST(PooledDeviations, AreSharedWithinAPoolAndNotAcross) {
  const std::vector<CaseLaunches> cases{logs(sized(16), {0.01, -0.01}), logs(sized(32), {0.0, 0.0}),
                                        logs(sized(64), {0.5}), logs(sized(1 << 20), {0.1, 0.2}),
                                        logs(sized(16 << 20), {0.3})};
  const auto deviations = pooled_deviations(cases);
  EXPECT_NEAR(deviations[0]->deviation, std::sqrt(2e-4 / 2.0), 1e-12);
  EXPECT_EQ(deviations[1], deviations[0]);
  EXPECT_EQ(deviations[2], deviations[0]) << "one launch, but like the others";
  EXPECT_NEAR(deviations[3]->deviation, std::sqrt(0.005), 1e-12);
  EXPECT_EQ(deviations[4], std::nullopt) << "nothing like it has two launches";
}

TEST(PooledDeviations, HaveAsManyDegreesOfFreedomAsCasesThatAreIndependentGive) {
  // Orthogonal to each other: no launch is slow for all.
  const std::vector<CaseLaunches> cases{logs(sized(16), {0.01, -0.01, 0.0, 0.0}),
                                        logs(sized(32), {0.0, 0.0, 0.01, -0.01}),
                                        logs(sized(64), {-0.01, 0.01, 0.0, 0.0})};
  // Between launches: (0 + 0 + 1e-4 + 1e-4) / 3, the rest of 6e-4 inside; by Satterthwaite 7.8.
  EXPECT_EQ(pooled_deviations(cases)[0]->degrees_of_freedom, 7);
}

TEST(PooledDeviations, HaveOnlyTheLaunchesDegreesOfFreedomWhereAllCasesMoveAsOne) {
  std::vector<CaseLaunches> cases;
  for (int i = 0; i < 10; ++i)
    cases.push_back(logs(sized(16 + 8 * i), {0.01, -0.01, 0.005, -0.005}));
  const auto deviations = pooled_deviations(cases);
  EXPECT_EQ(deviations[0]->degrees_of_freedom, 3) << "four launches, however many cases";
  EXPECT_NEAR(deviations[0]->deviation, std::sqrt(2.5e-4 / 3.0), 1e-12);
}

TEST(PooledDeviations, LeaveAnUnsteadyCaseAlone) {
  std::vector<CaseLaunches> cases;
  for (int i = 0; i < 8; ++i) {
    const double sign = i % 2 == 0 ? 1.0 : -1.0;
    cases.push_back(logs(sized(16 + 8 * i), {0.004 * sign, -0.004 * sign, 0.005, -0.005, 0.003}));
  }
  cases.push_back(logs(sized(96), {0.3, 0.0, 0.3, 0.0, 0.0}));
  const auto deviations = pooled_deviations(cases);
  EXPECT_TRUE(deviations[8]->alone);
  EXPECT_NEAR(deviations[8]->deviation, std::sqrt(0.108 / 4.0), 1e-9);
  EXPECT_EQ(deviations[8]->degrees_of_freedom, 4);
  EXPECT_FALSE(deviations[0]->alone);
  EXPECT_LT(deviations[0]->deviation, 0.006) << "the others do not pay for it";
}

TEST(PooledDeviations, OfIdenticalLaunchesAreNotKnown) {
  const std::vector<CaseLaunches> cases{logs(sized(8), {0.0, 0.0, 0.0})};
  EXPECT_EQ(pooled_deviations(cases)[0], std::nullopt) << "zero would make any difference certain";
}

TEST(AssumedDeviation, ChangesAt1MiB) {
  EXPECT_EQ(assumed_deviation(Bytes{(1 << 20) - 1}), kAssumedSmallDeviation);
  EXPECT_EQ(assumed_deviation(Bytes{1 << 20}), kAssumedDeviation);
}

TEST(CombinedDeviations, AreWeightedByDegreesOfFreedom) {
  const std::optional<LaunchDeviation> a = LaunchDeviation{0.01, 30, false};
  const std::optional<LaunchDeviation> b = LaunchDeviation{0.02, 10, false};
  const auto both = combine_deviations(a, b);
  EXPECT_NEAR(both->deviation, std::sqrt((30 * 1e-4 + 10 * 4e-4) / 40.0), 1e-12);
  EXPECT_EQ(both->degrees_of_freedom, 40);
  EXPECT_EQ(combine_deviations(a, {}), a);
  EXPECT_EQ(combine_deviations({}, b), b);
  EXPECT_EQ(combine_deviations({}, {}), std::nullopt);
}

TEST(CombinedDeviations, KeepTheLargerOneThatStandsAlone) {
  const std::optional<LaunchDeviation> pooled = LaunchDeviation{0.01, 30, false};
  const std::optional<LaunchDeviation> alone = LaunchDeviation{0.2, 7, true};
  EXPECT_EQ(combine_deviations(pooled, alone), alone);
  EXPECT_EQ(combine_deviations(alone, pooled), alone);
}

}  // namespace
}  // namespace linkgain::test
