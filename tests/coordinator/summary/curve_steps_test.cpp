#include "linkgain/summary/curve_steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "linkgain/cases/option_parsers.hpp"
#include "step_curves.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string> kSweeps{"8:1G:x2",  "8:1G:x3",  "8:1G:x4",    "8:1G:x16",
                                       "12:1G:x2", "20:1G:x4", "1M:64M:+1M", "8,64K,1M,3M,1G"};

/// Goes from latency-bound to bandwidth-bound, as on two H200.
double smooth(double bytes) { return 8 * kMicrosecond + bytes / 300e9; }

/// Has a floor, as the CPU's launches put it, and always the better of two protocols.
double best_protocol(double bytes) {
  return std::max(10 * kMicrosecond,
                  std::min(5.5 * kMicrosecond + bytes / 120e9, 14 * kMicrosecond + bytes / 330e9));
}

/// Halves the bandwidth where data drop out of a cache of 32 MiB.
double cached(double bytes) {
  const double outside = bytes / (bytes + 32 * kMebibyte);
  return 8 * kMicrosecond + bytes / (300e9 - 150e9 * outside);
}

/// All-reduce on two H200 with P2P, 256 KiB to 16 MiB, as measured.
const std::vector<double> kMeasured{10.33, 11.10, 15.33, 29.37, 34.72, 49.53, 78.19};

TEST(CurveSteps, ASmoothCurveHasNone) {
  for (const std::string& sizes : kSweeps) {
    for (const double latency : {1.0, 10.0, 50.0}) {
      for (const double bandwidth : {5e9, 50e9, 400e9}) {
        EXPECT_THAT(
            steps_to(curve(
                sizes, [&](double bytes) { return latency * kMicrosecond + bytes / bandwidth; })),
            IsEmpty())
            << sizes << ' ' << latency << " us, " << bandwidth << " B/s";
      }
    }
  }
}

TEST(CurveSteps, AProtocolThatComesWhereItIsBetterMakesNone) {
  for (const std::string& sizes : kSweeps) {
    EXPECT_THAT(steps_to(curve(sizes, best_protocol)), IsEmpty()) << sizes;
  }
}

TEST(CurveSteps, ACacheThatDataOutgrowMakesNone) {
  for (const std::string& sizes : kSweeps) {
    EXPECT_THAT(steps_to(curve(sizes, cached)), IsEmpty()) << sizes;
  }
}

TEST(CurveSteps, FindsTheProtocolStepOfTwoH200) {
  std::vector<CurvePoint> points = doubling(kMeasured);
  points[2].plan = {"RING", "LL"};
  points[3].plan = {"RING", "SIMPLE"};
  const std::vector<CurveStep> steps = find_steps(points);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].from.size, Bytes{std::int64_t{1} << 20});
  EXPECT_EQ(steps[0].to.size, Bytes{std::int64_t{2} << 20});
  EXPECT_FALSE(steps[0].falls());
  EXPECT_NEAR(steps[0].pace_before, 15.33 / 11.10, 1e-9);
  EXPECT_NEAR(steps[0].pace_after, 34.72 / 29.37, 1e-9);
  EXPECT_EQ(steps[0].from.plan.protocol, "LL");
  EXPECT_EQ(steps[0].to.plan.protocol, "SIMPLE");
}

TEST(CurveSteps, FindsItWhereLargerSizesAreFarApart) {
  std::vector<CurvePoint> points;
  const std::vector<double> times{5.38, 6.66, 8.10, 14.44, 28.31, 77.24, 250.54, 898.38, 3266.60};
  const std::vector<Bytes> sizes = parse_sizes("8,64K,256K,1M,2M,16M,64M,256M,1G");
  ASSERT_EQ(sizes.size(), times.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    points.push_back(point(sizes[i], times[i] * kMicrosecond));
  }
  EXPECT_THAT(steps_to(points), ElementsAre("2MiB"));
}

TEST(CurveSteps, ThePaceIsThatOfTheStepsOwnGrowth) {
  std::vector<CurvePoint> points = doubling({10, 10, 11, 33, 36, 48});
  points.erase(points.begin() + 4);  // four times the size after the step, 33 to 48
  const std::vector<CurveStep> steps = find_steps(points);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_NEAR(steps[0].pace_before, 1.1, 1e-9);
  EXPECT_NEAR(steps[0].pace_after, std::sqrt(48.0 / 33.0), 1e-9);
}

TEST(CurveSteps, FindsALatencyThatBeginsAtSomeSizeInEverySweep) {
  for (const auto& [sizes, to] :
       {std::pair{"8:1G:x2", "1KiB"}, std::pair{"8:1G:x4", "2KiB"}, std::pair{"16:1G:x16", "4KiB"},
        std::pair{"8,64,4K,9K", "4KiB"}}) {
    EXPECT_THAT(steps_to(curve(sizes,
                               [](double bytes) {
                                 return smooth(bytes) + (bytes > 512 ? 9 * kMicrosecond : 0.0);
                               })),
                ElementsAre(to))
        << sizes;
  }
}

TEST(CurveSteps, FindsTwo) {
  EXPECT_THAT(steps_to(curve("8:1G:x2",
                             [](double bytes) {
                               return smooth(bytes) + (bytes > 1024 ? 4 * kMicrosecond : 0.0) +
                                      (bytes > kMebibyte ? 12 * kMicrosecond : 0.0);
                             })),
              ElementsAre("2KiB", "2MiB"));
}

TEST(CurveSteps, FindsAFall) {
  // One protocol is kept up to 4 MiB although the next one is better from 1 MiB on.
  const std::vector<CurveStep> steps = find_steps(curve("8:1G:x2", [](double bytes) {
    const double large = bytes / kMebibyte;
    return (large <= 4 ? 6 + 9 * large : 16 + 2 * large) * kMicrosecond;
  }));
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_TRUE(steps[0].falls());
  EXPECT_EQ(exact_bytes(steps[0].from.size), "4MiB");
  EXPECT_EQ(exact_bytes(steps[0].to.size), "8MiB");
}

TEST(CurveSteps, ASizeThatStandsApartIsNone) {
  EXPECT_THAT(steps_to(doubling({9.0, 8.7, 6.4, 8.4, 8.8, 8.7})), IsEmpty());
  EXPECT_THAT(steps_to(doubling({9.0, 8.7, 12.0, 8.4, 8.8, 8.7})), IsEmpty());
  EXPECT_THAT(steps_to(doubling({10, 22, 36, 80, 150, 300})), IsEmpty());
}

TEST(CurveSteps, NoiseIsNone) {
  for (const std::string& sizes : kSweeps) {
    for (const Model& model : {Model{smooth}, Model{best_protocol}, Model{cached}}) {
      const std::vector<CurvePoint> exact = curve(sizes, model);
      for (unsigned seed = 0; seed < 100; ++seed) {
        for (const double deviation : {0.01, 0.02, 0.03}) {
          ASSERT_THAT(steps_to(sampled(exact, deviation, seed)), IsEmpty())
              << sizes << ' ' << deviation << ' ' << seed;
        }
      }
    }
  }
}

TEST(CurveSteps, NoiseThatNoSamplesShowIsNone) {
  for (const std::string& sizes : kSweeps) {
    for (unsigned seed = 0; seed < 200; ++seed) {
      std::vector<CurvePoint> points = sampled(curve(sizes, smooth), 0.08, seed);
      for (CurvePoint& point : points)
        point.middle_half = {point.time.value, point.time.value};  // medians to 2 %
      ASSERT_THAT(steps_to(points), IsEmpty()) << sizes << ' ' << seed;
    }
  }
}

TEST(CurveSteps, NoiseHidesNoStep) {
  const std::vector<CurvePoint> exact = doubling(kMeasured);
  for (unsigned seed = 0; seed < 100; ++seed) {
    EXPECT_THAT(steps_to(sampled(exact, 0.01, seed)), ElementsAre("2MiB")) << seed;
  }
}

TEST(CurveSteps, MiddleHalvesThatOverlapShowNoStep) {
  std::vector<CurvePoint> points = doubling(kMeasured);
  points[2].middle_half.high = 18 * kMicrosecond;
  EXPECT_THAT(steps_to(points), IsEmpty());
}

TEST(CurveSteps, TakesPointsInAnyOrder) {
  std::vector<CurvePoint> points = doubling(kMeasured);
  std::mt19937 generator(1);
  for (int i = 0; i < 10; ++i) {
    std::ranges::shuffle(points, generator);
    EXPECT_THAT(steps_to(points), ElementsAre("2MiB"));
  }
}

TEST(CurveSteps, NeedsANeighbourOnEitherSide) {
  EXPECT_THAT(steps_to({}), IsEmpty());
  EXPECT_THAT(steps_to(doubling({10, 10, 30})), IsEmpty());
  EXPECT_THAT(steps_to(doubling({10, 30, 30, 31})), IsEmpty());
  EXPECT_THAT(steps_to(doubling({10, 10, 30, 30})), ElementsAre("1MiB"));
}

TEST(CurveSteps, LeavesOutPointsWithoutATimeOfTheirOwn) {
  std::vector<CurvePoint> points = doubling({10, 10, 0, 30, 30});
  points.push_back(points.back());
  EXPECT_THAT(steps_to(points), ElementsAre("2MiB"));
}

}  // namespace
}  // namespace linkgain::test
