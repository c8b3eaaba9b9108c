#include "linkgain/record/evidence.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstddef>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/record/record_members.hpp"
#include "support/evidence_cases.hpp"
#include "support/full_record.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;

/// Gives two ranks' 256 MiB all-reduce this `nvlink_share`, in one operation: 512 MiB are expected.
TrafficEvidence with_share(double share) {
  const auto bytes = static_cast<std::int64_t>(share * static_cast<double>(256 * kMiB));
  return assess(all_reduce(256 * kMiB), kRing, 1, {counters(bytes), counters(bytes)}, false);
}

TEST(Assess, AMeasuredAllReduceIsAllOverNvlink) {
  // 42 operations of 1 GiB on two H200: each GPU's counter grew by 44041583 KiB.
  const std::int64_t sent = std::int64_t{44041583} * 1024;
  const TrafficEvidence evidence =
      assess(all_reduce(kGiB), kRing, 42, {counters(sent), counters(sent)}, false);
  EXPECT_EQ(evidence.plan, kRing);
  EXPECT_EQ(evidence.operations, 42);
  EXPECT_EQ(evidence.nvlink_sent, 90197161984);
  EXPECT_EQ(evidence.nvlink_received, 90197161984);
  EXPECT_EQ(evidence.expected, 90194313216.0);
  EXPECT_NEAR(*evidence.nvlink_share(), 1.0000316, 1e-7);
  EXPECT_TRUE(evidence.judged);
  EXPECT_EQ(evidence.reason, "");
}

TEST(Assess, AMeasuredAllReduceThroughTheHostUsesNoNvlink) {
  const TrafficEvidence evidence =
      assess(all_reduce(kGiB), kRing, 42, {counters(0), counters(0)}, false);
  EXPECT_EQ(evidence.nvlink_share(), 0.0);
  EXPECT_TRUE(evidence.judged);
}

TEST(Assess, IdleRanksAddNothing) {
  const Case c = send_recv(64 * kMiB, 4, Pair{1, 3, false});
  const TrafficEvidence evidence = assess(
      c, kSimpleMessage, 10, {counters(0), counters(640 * kMiB), counters(0), counters(0)}, false);
  EXPECT_EQ(evidence.nvlink_share(), 1.0);
  EXPECT_EQ(evidence.judged_share(), 1.0);
  EXPECT_TRUE(evidence.judged);
}

TEST(Assess, OneGpuWithoutCountersLeavesTheSumAbsent) {
  LinkCounters without = counters(1, 2);
  without.nvlink_sent.reset();
  const TrafficEvidence evidence =
      assess(all_reduce(256 * kMiB), kRing, 1, {counters(1, 2), without}, false);
  EXPECT_EQ(evidence.nvlink_sent, std::nullopt);
  EXPECT_EQ(evidence.nvlink_received, 2);
  EXPECT_EQ(evidence.pcie_sent, 4);
  EXPECT_EQ(evidence.nvlink_share(), std::nullopt);
  EXPECT_FALSE(evidence.judged);
  EXPECT_THAT(evidence.reason, HasSubstr("rank 1"));
}

TEST(Assess, NoGpuWithCountersIsSaidAsSuch) {
  const TrafficEvidence evidence = assess(all_reduce(256 * kMiB), kRing, 1, {{}, {}}, false);
  EXPECT_EQ(evidence.expected, 536870912.0);
  EXPECT_EQ(evidence.pcie_sent, std::nullopt);
  EXPECT_FALSE(evidence.judged);
}

TEST(Assess, CountersOfSomeRanksAreNoSum) {
  const TrafficEvidence evidence =
      assess(all_reduce(256 * kMiB), kRing, 1, {counters(1, 1)}, false);
  EXPECT_EQ(evidence.nvlink_sent, std::nullopt);
  EXPECT_EQ(evidence.pcie_sent, std::nullopt);
  EXPECT_THAT(evidence.reason, HasSubstr("1 of 2"));
  EXPECT_THAT(evidence.pcie_reason, HasSubstr("1 of 2"));
  EXPECT_FALSE(evidence.judged);
}

TEST(Assess, NothingIsExpectedOfRanksOnSeveralHosts) {
  const TrafficEvidence evidence =
      assess(all_reduce(256 * kMiB), kRing, 1, {counters(7), counters(7)}, true);
  EXPECT_EQ(evidence.nvlink_sent, 14);
  EXPECT_EQ(evidence.expected, std::nullopt);
  EXPECT_FALSE(evidence.judged);
}

TEST(Assess, NothingIsExpectedOfNoOperation) {
  const TrafficEvidence evidence =
      assess(all_reduce(256 * kMiB), kRing, 0, {counters(0), counters(0)}, false);
  EXPECT_EQ(evidence.expected, std::nullopt);
  EXPECT_EQ(evidence.nvlink_share(), std::nullopt);
  EXPECT_FALSE(evidence.judged);
}

TEST(NotJudged, SaysWhy) {
  Situations answers;
  const auto ask = [&](const std::string& what, const TrafficEvidence& evidence) {
    EXPECT_FALSE(evidence.judged) << what;
    answers.add(what, evidence.reason);
  };
  answers.about("by the plan");
  const auto ask_plan = [&](const Case& definition, const TransferPlan& plan, bool expected) {
    const TrafficEvidence evidence =
        assess(definition, plan, 1, {counters(1 << 20), counters(1 << 20)}, false);
    const std::string what =
        fmt::format("{} by '{}' and '{}'", case_name(definition), plan.algorithm, plan.protocol);
    EXPECT_EQ(evidence.expected.has_value(), expected) << what;
    ask(what, evidence);
  };
  ask_plan(all_reduce(kGiB), {}, false);
  ask_plan(all_reduce(8), {}, false);
  ask_plan(all_reduce(kGiB), {"NVLS", "SIMPLE"}, false);
  ask_plan(all_reduce(kGiB), {"RING", ""}, false);
  ask_plan(send_recv(kGiB), {}, false);
  ask_plan(all_reduce(kGiB), {"RING", "LL256"}, false);
  ask_plan(all_reduce(16 * kMiB), {"RING", "LL"}, true);
  ask_plan(all_reduce(kGiB), {"TREE", "LL128"}, true);
  ask_plan(send_recv(8), {}, false);
  ask_plan(all_reduce(16 * kMiB - 4), {"RING", "SIMPLE"}, true);

  answers.about("by what was counted");
  const auto ask_counted = [&](const std::string& what, const std::vector<LinkCounters>& ranks,
                               std::int64_t operations = 1, bool several_hosts = false) {
    const TrafficEvidence evidence =
        assess(all_reduce(256 * kMiB), kRing, operations, ranks, several_hosts);
    ask(what, evidence);
    if (!evidence.pcie_reason.empty()) answers.add(what + ", PCIe", evidence.pcie_reason);
  };
  ask_counted("one GPU of two", {counters(1), {}});
  ask_counted("no GPU", {{}, {}});
  ask_counted("one rank of two", {counters(1)});
  ask_counted("several hosts", {counters(7), counters(7)}, 1, true);
  ask_counted("no operation", {counters(0), counters(0)}, 0);
  answers.expect_golden("not_judged.txt");
}

TEST(Assess, JudgesFromSixteenMiBOn) {
  const std::vector<LinkCounters> ranks{counters(0), counters(0)};
  EXPECT_TRUE(assess(all_reduce(16 * kMiB), kRing, 1, ranks, false).judged);
}

TEST(Assess, PcieIsAbsentWhereItsCountersMayHaveWrapped) {
  // 4 GiB less a third for PCIe's headers and flags: 2.67 GiB, with two ranks 2 operations of 1
  // GiB.
  const std::vector<LinkCounters> ranks{counters(0, 100), counters(0, 23)};
  const TrafficEvidence two = assess(all_reduce(kGiB), kRing, 2, ranks, false);
  EXPECT_EQ(two.pcie_sent, 123);
  EXPECT_EQ(two.pcie_received, 123);
  const TrafficEvidence three = assess(all_reduce(kGiB), kRing, 3, ranks, false);
  EXPECT_EQ(three.pcie_sent, std::nullopt);
  EXPECT_EQ(three.pcie_received, std::nullopt);
  EXPECT_TRUE(three.judged);
}

TEST(Assess, PcieOfFlaggedAndUnknownPlansWrapsEarlier) {
  const std::vector<LinkCounters> ranks{counters(0, 1), counters(0, 1)};
  EXPECT_EQ(assess(all_reduce(kGiB), {"RING", "LL"}, 1, ranks, false).pcie_sent, 2);
  EXPECT_EQ(assess(all_reduce(kGiB), {"RING", "LL"}, 2, ranks, false).pcie_sent, std::nullopt);
  EXPECT_EQ(assess(all_reduce(kGiB), {"TREE", "SIMPLE"}, 1, ranks, false).pcie_sent, 2);
  EXPECT_EQ(assess(all_reduce(kGiB), {"TREE", "SIMPLE"}, 2, ranks, false).pcie_sent, std::nullopt);
  EXPECT_EQ(assess(send_recv(kGiB), kSimpleMessage, 2, ranks, false).pcie_sent, 2);
  EXPECT_EQ(assess(send_recv(kGiB), kSimpleMessage, 3, ranks, false).pcie_sent, std::nullopt);
}

TEST(Combine, AddsWhatBothKnow) {
  const Case c = all_reduce(256 * kMiB);
  const TrafficEvidence a = assess(c, kRing, 2, {counters(1, 2), counters(3, 4)}, false);
  const TrafficEvidence b = assess(c, kRing, 3, {counters(10, 20), counters(30, 40)}, false);
  const TrafficEvidence sum = combine(a, b);
  EXPECT_EQ(sum.plan, kRing);
  EXPECT_EQ(sum.operations, 5);
  EXPECT_EQ(sum.nvlink_sent, 44);
  EXPECT_EQ(sum.nvlink_received, 44);
  EXPECT_EQ(sum.pcie_sent, 66);
  EXPECT_EQ(sum.pcie_received, 66);
  EXPECT_EQ(sum.expected, 5 * 536870912.0);
  EXPECT_TRUE(sum.judged);
  EXPECT_EQ(sum.reason, "");
}

TEST(Combine, WhatOneLacksIsAbsentWithItsReason) {
  const Case c = all_reduce(256 * kMiB);
  const TrafficEvidence a = with_share(1.0);
  const TrafficEvidence b = assess(c, kRing, 1, {counters(1), {}}, false);
  for (const TrafficEvidence& sum : {combine(a, b), combine(b, a)}) {
    EXPECT_EQ(sum.operations, 2);
    EXPECT_EQ(sum.nvlink_sent, std::nullopt);
    EXPECT_EQ(sum.expected, 2 * 536870912.0);
    EXPECT_FALSE(sum.judged);
    EXPECT_EQ(sum.reason, b.reason);
  }
}

TEST(Combine, KeepsOfThePlansWhatTheyShare) {
  const Case c = all_reduce(256 * kMiB);
  const std::vector<LinkCounters> ranks{counters(256 * kMiB), counters(256 * kMiB)};
  const TrafficEvidence sum =
      combine(assess(c, kRing, 1, ranks, false), assess(c, {"TREE", "SIMPLE"}, 1, ranks, false));
  EXPECT_EQ(sum.plan, kSimpleMessage);
  EXPECT_EQ(sum.nvlink_share(), 1.0);
  EXPECT_TRUE(sum.judged);
}

TEST(Combine, ADefaultAddsNothing) {
  const TrafficEvidence evidence = with_share(0.5);
  EXPECT_EQ(combine({}, evidence), evidence);
  EXPECT_EQ(combine(evidence, {}), evidence);
}

TEST(PathByEvidence, FollowsTheCounters) {
  struct Row {
    Path by_transport;
    double share;
    Path path;
  };
  for (const Row& row :
       {Row{Path::nvlink, 1.004, Path::nvlink}, Row{Path::nvlink, 0.91, Path::nvlink},
        Row{Path::nvlink, 0.89, Path::mixed}, Row{Path::nvlink, 0.002, Path::mixed},
        Row{Path::nvlink, 0.0009, Path::pcie_p2p}, Row{Path::nvlink, 0.0, Path::pcie_p2p},
        Row{Path::pcie_p2p, 1.0, Path::nvlink}, Row{Path::pcie_p2p, 0.0, Path::pcie_p2p},
        Row{Path::host_memory, 1.0, Path::nvlink}, Row{Path::host_memory, 0.5, Path::mixed},
        Row{Path::host_memory, 0.0, Path::host_memory}, Row{Path::network, 0.0, Path::network},
        Row{Path::mixed, 1.0, Path::nvlink}, Row{Path::mixed, 0.0, Path::mixed},
        Row{Path::unknown, 1.0, Path::nvlink}, Row{Path::unknown, 0.5, Path::mixed},
        Row{Path::unknown, 0.0, Path::unknown}}) {
    EXPECT_EQ(path_by_evidence(row.by_transport, with_share(row.share)), row.path)
        << "share " << row.share;
  }
}

TEST(PathByEvidence, WithoutJudgementTheTransportLinesHold) {
  const TrafficEvidence small =
      assess(all_reduce(kMiB), kRing, 1, {counters(0), counters(0)}, false);
  EXPECT_EQ(small.nvlink_share(), 0.0);
  EXPECT_EQ(small.judged_share(), std::nullopt);
  for (const Path path : {Path::nvlink, Path::pcie_p2p, Path::host_memory, Path::network,
                          Path::mixed, Path::unknown}) {
    EXPECT_EQ(path_by_evidence(path, small), path);
    EXPECT_EQ(path_by_evidence(path, {}), path);
  }
}

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

// What is expected of the operations beside all_reduce and send_recv, against sums by hand.

const TransferPlan kPat{"PAT", "SIMPLE"};
const TransferPlan kTree{"TREE", "SIMPLE"};

Case of(OperationKind operation, std::int64_t size, int ranks) {
  Case c = all_reduce(size, ranks);
  c.operation = operation;
  if (operation == OperationKind::ping_pong) c.pair = Pair{};
  return c;
}

TEST(ExpectedBytes, EveryPartOfAnAllGatherCrossesEveryLinkButOne) {
  for (const OperationKind operation : {OperationKind::all_gather, OperationKind::reduce_scatter}) {
    // Four parts of 256 MiB, three steps each: 3 GiB.
    EXPECT_EQ(expected_bytes(of(operation, kGiB, 4), kRing), 3221225472.0) << name_of(operation);
    EXPECT_EQ(expected_bytes(of(operation, kGiB, 4), kPat), 3221225472.0);
    EXPECT_EQ(expected_bytes(of(operation, kGiB, 2), kRing), 1073741824.0);
    EXPECT_EQ(expected_bytes(of(operation, kGiB, 2), {"RING", "LL"}), 2147483648.0);
    EXPECT_EQ(expected_bytes(of(operation, kGiB, 2), kTree), std::nullopt);
    EXPECT_EQ(expected_bytes(of(operation, kGiB, 2), {"NVLS", "SIMPLE"}), std::nullopt);
    EXPECT_EQ(expected_bytes(of(operation, kGiB, 2), {}), std::nullopt);
  }
}

TEST(ExpectedBytes, AChainPassesTheWholeOn) {
  for (const OperationKind operation : {OperationKind::broadcast, OperationKind::reduce}) {
    EXPECT_EQ(expected_bytes(of(operation, kGiB, 2), kRing), 1073741824.0) << name_of(operation);
    EXPECT_EQ(expected_bytes(of(operation, kGiB, 8), kRing), 7516192768.0);
    EXPECT_EQ(expected_bytes(of(operation, kGiB, 8), kPat), std::nullopt);
    EXPECT_EQ(expected_bytes(of(operation, kGiB, 8), kTree), std::nullopt);
  }
}

TEST(ExpectedBytes, GroupedMessagesToOneselfCrossNothing) {
  // Four ranks send 256 MiB to three others each.
  EXPECT_EQ(expected_bytes(of(OperationKind::alltoall, kGiB, 4), kSimpleMessage), 3221225472.0);
  // Three ranks send 256 MiB to the root, or it sends to three.
  EXPECT_EQ(expected_bytes(of(OperationKind::gather, kGiB, 4), kSimpleMessage), 805306368.0);
  EXPECT_EQ(expected_bytes(of(OperationKind::scatter, kGiB, 4), kSimpleMessage), 805306368.0);
  EXPECT_EQ(expected_bytes(of(OperationKind::gather, kGiB, 2), kSimpleMessage), 536870912.0);
}

TEST(ExpectedBytes, APingPongIsOneMessageAnOperation) {
  EXPECT_EQ(expected_bytes(of(OperationKind::ping_pong, kGiB, 2), kSimpleMessage), 1073741824.0);
  EXPECT_EQ(expected_bytes(of(OperationKind::ping_pong, kGiB, 8), kSimpleMessage), 1073741824.0);
}

TEST(DefaultPlan, OfGroupedOperationsIsThatOfTheirMessages) {
  for (const OperationKind operation :
       {OperationKind::alltoall, OperationKind::gather, OperationKind::scatter}) {
    EXPECT_EQ(default_plan(of(operation, 64 * kMiB, 4)), kSimpleMessage) << name_of(operation);
    EXPECT_EQ(default_plan(of(operation, 32 * kMiB, 4)), TransferPlan{}) << "8 MiB each";
  }
  EXPECT_EQ(default_plan(of(OperationKind::ping_pong, 16 * kMiB, 4)), kSimpleMessage);
  EXPECT_EQ(default_plan(of(OperationKind::ping_pong, 8 * kMiB, 4)), TransferPlan{});
  for (const OperationKind operation : {OperationKind::all_gather, OperationKind::reduce_scatter,
                                        OperationKind::broadcast, OperationKind::reduce}) {
    EXPECT_EQ(default_plan(of(operation, kGiB, 2)), TransferPlan{}) << name_of(operation);
  }
}

std::string reason(const Case& c, const TransferPlan& plan) {
  const std::vector<LinkCounters> ranks(static_cast<std::size_t>(c.ranks), counters(0));
  return assess(c, plan, 2, ranks, false).reason;
}

TEST(Assess, JudgesEveryOperationOnceItsPlanIsSure) {
  for (const OperationKind operation : kOperations) {
    if (!calls_library(operation)) continue;
    const bool logged = has_algorithm(operation);
    EXPECT_EQ(reason(of(operation, kGiB, 4), logged ? kRing : kSimpleMessage), "")
        << name_of(operation);
  }
  Situations answers;
  const auto ask = [&](const Case& c, const TransferPlan& plan) {
    answers.add(fmt::format("{} by '{}' and '{}'", case_name(c), plan.algorithm, plan.protocol),
                reason(c, plan));
  };
  ask(of(OperationKind::all_gather, kGiB, 4), {});
  ask(of(OperationKind::broadcast, kGiB, 4), kTree);
  ask(of(OperationKind::alltoall, 32 * kMiB, 4), {});
  ask(of(OperationKind::all_gather, 8 * kMiB, 4), kRing);
  ask(of(OperationKind::ping_pong, 8, 2), {});
  ask(parse_case_name("gpt2_step/fp32/tiny/np2"), kSimpleMessage);
  answers.expect_golden("not_judged_operations.txt");
}

/// Says whether PCIe counters of so many operations of 1 GiB on four ranks are kept. They wrap at 4
/// GiB, which with PCIe's own bytes is 2.67 GiB of payload on one GPU.
bool kept(OperationKind operation, const TransferPlan& plan, std::int64_t operations) {
  const std::vector<LinkCounters> ranks(4, counters(0, 1));
  const TrafficEvidence found = assess(of(operation, kGiB, 4), plan, operations, ranks, false);
  EXPECT_EQ(found.pcie_reason.empty(), found.pcie_sent.has_value()) << found.pcie_reason;
  return found.pcie_sent.has_value();
}

TEST(Assess, PcieIsAbsentByTheLargestShareOfOneRank) {
  for (const OperationKind three_quarters :
       {OperationKind::all_gather, OperationKind::reduce_scatter}) {
    EXPECT_TRUE(kept(three_quarters, kRing, 3));
    EXPECT_FALSE(kept(three_quarters, kRing, 4));
    EXPECT_FALSE(kept(three_quarters, {"NVLS", "SIMPLE"}, 3)) << "taken for all of it";
  }
  for (const OperationKind exchange :
       {OperationKind::alltoall, OperationKind::gather, OperationKind::scatter}) {
    EXPECT_TRUE(kept(exchange, kSimpleMessage, 3));
    EXPECT_FALSE(kept(exchange, kSimpleMessage, 4));
  }
  for (const OperationKind whole : {OperationKind::broadcast, OperationKind::reduce}) {
    EXPECT_TRUE(kept(whole, kRing, 2));
    EXPECT_FALSE(kept(whole, kRing, 3));
  }
  EXPECT_TRUE(kept(OperationKind::ping_pong, kSimpleMessage, 4)) << "two each way";
  EXPECT_FALSE(kept(OperationKind::ping_pong, kSimpleMessage, 6));
}

RunEvidence full() {
  RunEvidence evidence;
  evidence.no_gpus = "no driver";
  GpuEvidence& gpu = evidence.gpus.emplace_back();
  gpu.gpu = 3;
  gpu.traffic = {.nvlink_sent = 7, .nvlink_received{}, .pcie_sent{}, .pcie_received{}};
  gpu.nvlink_reason = "half of it";
  gpu.pcie_reason = "not read";
  Health sample;
  sample.temperature_c = 45;
  sample.clock_event_reasons = 0x24;
  add_sample(gpu.health, {sample});
  gpu.used = true;
  evidence.nccl = {{"/opt/libnccl.so.2", "2.28.9+cuda13.0", true, 2}};
  evidence.processes_looked = 5;
  evidence.neighbours.looks = 4;
  evidence.neighbours.seen = {{.gpu = 3, .after_s = 1.5, .processes = {{.pid = 12}}}};
  evidence.cost_s = 0.25;
  return evidence;
}

RunEvidence read(const std::string& text) {
  return json::read<RunEvidence>(text, json::Source{"record", ""});
}

TEST(RunEvidence, IsReadAsItWasWritten) {
  EXPECT_EQ(read(json::dump(json::write(full()))), full());
  EXPECT_EQ(read(json::dump(json::write(RunEvidence{}))), RunEvidence{});
}

TEST(RunEvidence, OfAnOlderRecordSaysNothingOfTheGpusThatTheCommandUsed) {
  std::string text = json::dump(json::write(full()));
  const std::string used = ",\"used\":true";
  ASSERT_NE(text.find(used), std::string::npos) << text;
  text.erase(text.find(used), used.size());
  EXPECT_FALSE(read(text).gpus.at(0).used);
}

TEST(RunEvidence, IsKeptInTheRecordThatFollowsItsSchema) {
  Record record = full_record();
  record.runs = {{.variant = "host", .round = 2, .seconds = 1.5, .evidence = full()},
                 {.variant = "p2p", .warm_up = true, .failure = "SIGSEGV"}};
  EXPECT_EQ(parse_record(to_json(record), "it").runs, record.runs);
  record.runs[0].evidence.nccl[0].processes = 0;
  EXPECT_THROW(parse_record(to_json(record), "it"), UsageError);
}

}  // namespace
}  // namespace linkgain::test
