#include <gtest/gtest.h>

#include "support/evidence_cases.hpp"

namespace linkgain::test {
namespace {

TEST(Growth, IsTheDifferenceOfEveryCounter) {
  const LinkCounters before{
      .nvlink_sent = 100, .nvlink_received = 200, .pcie_sent = 300, .pcie_received = 400};
  const LinkCounters after{
      .nvlink_sent = 101, .nvlink_received = 220, .pcie_sent = 600, .pcie_received = 400};
  const LinkCounters expected{
      .nvlink_sent = 1, .nvlink_received = 20, .pcie_sent = 300, .pcie_received = 0};
  EXPECT_EQ(growth(before, after), expected);
}

TEST(Growth, NvlinkIsNotTakenModulo) {
  const LinkCounters grown = growth(counters(5), counters(5 + 6 * kGiB));
  EXPECT_EQ(grown.nvlink_sent, 6 * kGiB);
  EXPECT_EQ(grown.nvlink_received, 6 * kGiB);
}

TEST(Growth, NvlinkThatWentBackwardsIsNotMeasured) {
  LinkCounters after = counters(1000);
  after.nvlink_sent = 999;
  const LinkCounters grown = growth(counters(1000), after);
  EXPECT_EQ(grown.nvlink_sent, std::nullopt);
  EXPECT_EQ(grown.nvlink_received, 0);
}

TEST(Growth, PcieWrapsAtFourGiB) {
  // As measured: the sent counter of a GPU seemed to shrink by 2376849636.
  const LinkCounters grown = growth(counters(0, 4000000000), counters(0, 1623150364));
  EXPECT_EQ(grown.pcie_sent, 1918117660);
  EXPECT_EQ(grown.pcie_received, 1918117660);
}

TEST(Growth, WithoutEitherEndThereIsNone) {
  EXPECT_EQ(growth({}, counters(1, 1)), LinkCounters{});
  EXPECT_EQ(growth(counters(1, 1), {}), LinkCounters{});
}

TEST(ExpectedBytes, RingAndTreeAllReduceMoveEveryByteTwicePerRankButOne) {
  EXPECT_EQ(expected_bytes(all_reduce(kGiB, 2), kRing), 2147483648.0);
  EXPECT_EQ(expected_bytes(all_reduce(kGiB, 4), kRing), 6442450944.0);
  EXPECT_EQ(expected_bytes(all_reduce(kGiB, 8), kRing), 15032385536.0);
  EXPECT_EQ(expected_bytes(all_reduce(kGiB, 8), {"TREE", "SIMPLE"}), 15032385536.0);
  // Our kernels: the shares and the sums, or everything to everybody.
  EXPECT_EQ(expected_bytes(all_reduce(kGiB, 8), {"TWO_SHOT", "SIMPLE"}), 15032385536.0);
  EXPECT_EQ(expected_bytes(all_reduce(kGiB, 2), {"ONE_SHOT", "SIMPLE"}), 2147483648.0);
  EXPECT_EQ(expected_bytes(all_reduce(kGiB, 4), {"ONE_SHOT", "SIMPLE"}), 12884901888.0);
  EXPECT_EQ(expected_bytes(all_reduce(kGiB, 2), {"ONE_SHOT", "LL"}), 4294967296.0);
}

TEST(ExpectedBytes, AreThoseOfBusBandwidthTimesRanks) {
  const Case c = all_reduce(kGiB, 8);
  EXPECT_DOUBLE_EQ(*expected_bytes(c, kRing),
                   bus_bandwidth_factor(c.operation, c.ranks) * c.ranks * kGiB);
}

TEST(ExpectedBytes, SendRecvMovesEachMessageOnce) {
  EXPECT_EQ(expected_bytes(send_recv(kMiB, 2, Pair{0, 1, false}), kSimpleMessage), 1048576.0);
  EXPECT_EQ(expected_bytes(send_recv(kMiB, 2, Pair{0, 1, true}), kSimpleMessage), 2097152.0);
  EXPECT_EQ(expected_bytes(send_recv(kMiB, 2), kSimpleMessage), 2097152.0);
  EXPECT_EQ(expected_bytes(send_recv(kMiB, 8), kSimpleMessage), 8388608.0);
  EXPECT_EQ(expected_bytes(send_recv(kMiB, 8, Pair{2, 5, false}), kSimpleMessage), 1048576.0);
}

TEST(ExpectedBytes, ProtocolsAddTheirFlags) {
  EXPECT_EQ(expected_bytes(all_reduce(120), {"RING", "LL"}), 480.0);
  EXPECT_DOUBLE_EQ(*expected_bytes(all_reduce(120), {"RING", "LL128"}), 256.0);
  EXPECT_EQ(expected_bytes(send_recv(64), {"", "LL"}), 256.0);
}

TEST(ExpectedBytes, PlaceAndLaunchChangeNothing) {
  Case c = all_reduce(kGiB);
  c.in_place = true;
  c.launch = LaunchMode::graph;
  EXPECT_EQ(expected_bytes(c, kRing), 2147483648.0);
}

TEST(ExpectedBytes, AreAbsentWhereThePlanSaysNothing) {
  EXPECT_EQ(expected_bytes(all_reduce(kGiB), {}), std::nullopt);
  EXPECT_EQ(expected_bytes(all_reduce(kGiB), {"", "SIMPLE"}), std::nullopt);
  EXPECT_EQ(expected_bytes(all_reduce(kGiB), {"RING", ""}), std::nullopt);
  EXPECT_EQ(expected_bytes(all_reduce(kGiB), {"RING", "LL256"}), std::nullopt);
  for (const char* algorithm : {"NVLS", "NVLS_TREE", "COLLNET_DIRECT", "COLLNET_CHAIN", "PAT"}) {
    EXPECT_EQ(expected_bytes(all_reduce(kGiB), {algorithm, "SIMPLE"}), std::nullopt) << algorithm;
  }
  EXPECT_EQ(expected_bytes(send_recv(kGiB), {}), std::nullopt);
}

TEST(DefaultPlan, IsSimpleForLargeMessagesOnly) {
  EXPECT_EQ(default_plan(send_recv(16 * kMiB)), kSimpleMessage);
  EXPECT_EQ(default_plan(send_recv(16 * kMiB - 4)), TransferPlan{});
  EXPECT_EQ(default_plan(all_reduce(kGiB)), TransferPlan{});
}

}  // namespace
}  // namespace linkgain::test
