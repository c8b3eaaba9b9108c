#include "linkgain/core/run_spread.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/compared_runs.hpp"

namespace linkgain::testing {
namespace {

using ::testing::DoubleNear;

TEST(RunSpread, OfTwoSingleLaunchesIsAnAssumption) {
  const RunSpreads none;
  const RunSpread large = none.between(timed(kLarge, "p2p", {1.0}), timed(kLarge, "p2p", {2.0}));
  EXPECT_FALSE(large.degrees_of_freedom);
  EXPECT_EQ(large.deviation, kAssumedSpread);
  EXPECT_EQ(none.between(timed(kSmall, "p2p", {1.0}), timed(kSmall, "p2p", {1.0})).deviation,
            kAssumedSmallSpread);
  CaseFigures wild = timed(kLarge, "p2p", {1.0});
  wild.sample_error = 0.2;
  EXPECT_EQ(none.between(wild, timed(kLarge, "p2p", {1.0})).deviation, 0.2);
}

TEST(RunSpread, OfManyLaunchesIsNearlyTheirOwn) {
  const CaseFigures before = timed(kLarge, "p2p", launches_around(1.0, 0.01, 8));
  const CaseFigures after = timed(kLarge, "p2p", launches_around(1.2, 0.01, 8));
  RunSpreads spreads;
  spreads.add(before);
  spreads.add(after);
  const RunSpread spread = spreads.between(before, after);
  EXPECT_EQ(spread.degrees_of_freedom, 14) << "its own launches count once, the pool has no others";
  EXPECT_THAT(spread.deviation, DoubleNear(0.01, 1e-9));
}

TEST(RunSpread, OfFewLaunchesBorrowsFromLikeCases) {
  const CaseFigures lucky = timed(kLarge, "p2p", {1.0, 1.0});
  RunSpreads spreads;
  spreads.add(lucky);
  for (int i = 0; i < 9; ++i) {
    spreads.add(timed("all_reduce/float32/sum/64MiB/np2", "p2p", launches_around(1.0, 0.02, 4)));
  }
  // Another operation, size class or variant lends nothing.
  spreads.add(timed("send_recv/float32/64MiB/np2", "p2p", launches_around(1.0, 0.5, 4)));
  spreads.add(timed(kSmall, "p2p", launches_around(1.0, 0.5, 4)));
  spreads.add(timed(kLarge, "host", launches_around(1.0, 0.5, 4)));
  const RunSpread spread = spreads.between(lucky, timed(kLarge, "p2p", {1.0}));
  // Own variance 0 with 1 degree of freedom; the others' 0.02 squared with 4.
  EXPECT_EQ(spread.degrees_of_freedom, 5);
  EXPECT_THAT(spread.deviation, DoubleNear(0.02 * std::sqrt(4.0 / 5.0), 1e-9));
}

TEST(RunSpread, LeavesOutCasesWithoutTimes) {
  CaseFigures wrong = timed(kLarge, "p2p", {1.0, 5.0});
  wrong.no_time = "wrong data";
  RunSpreads spreads;
  spreads.add(wrong);
  EXPECT_FALSE(
      spreads.between(timed(kLarge, "p2p", {1.0}), timed(kLarge, "p2p", {1.0})).degrees_of_freedom);
}

}  // namespace
}  // namespace linkgain::testing
