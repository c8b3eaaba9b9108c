#include "linkgain/workloads/collective_sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/cases/case.hpp"

namespace linkgain::test {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

TEST(SweepCounters, AreBandwidthsAndTime) {
  EXPECT_THAT(sweep_counters(parse_case_name("all_reduce/float32/sum/1GiB/np4"), Seconds{1.0}),
              ElementsAre(::testing::Pair("algbw", DoubleEq(1.073741824)),
                          ::testing::Pair("busbw", DoubleEq(1.073741824 * 1.5)),
                          ::testing::Pair("latency_us", 1e6)));
}

TEST(SweepCounters, HaveNoBandwidthWhereTheSizeIsNotWhatIsMoved) {
  const Case definition = parse_case_name("load_latency/64MiB/np2/pair=0-1");
  EXPECT_THAT(sweep_counters(definition, Seconds{1e-6}),
              ElementsAre(::testing::Pair("latency_us", 1.0)));
}

}  // namespace
}  // namespace linkgain::test
