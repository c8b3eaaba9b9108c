#include "linkgain/record/evidence.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/evidence_cases.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;

/// `nvlink_share` of two ranks' 256 MiB all-reduce, one operation: 512 MiB are expected.
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

struct PathExpectation {
  Path by_transport;
  double share;
  Path path;
};

class PathByEvidence : public ::testing::TestWithParam<PathExpectation> {};

TEST_P(PathByEvidence, FollowsTheCounters) {
  EXPECT_EQ(path_by_evidence(GetParam().by_transport, with_share(GetParam().share)),
            GetParam().path);
}

INSTANTIATE_TEST_SUITE_P(Shares, PathByEvidence,
                         ::testing::Values(PathExpectation{Path::nvlink, 1.004, Path::nvlink},
                                           PathExpectation{Path::nvlink, 0.91, Path::nvlink},
                                           PathExpectation{Path::nvlink, 0.89, Path::mixed},
                                           PathExpectation{Path::nvlink, 0.002, Path::mixed},
                                           PathExpectation{Path::nvlink, 0.0009, Path::pcie_p2p},
                                           PathExpectation{Path::nvlink, 0.0, Path::pcie_p2p},
                                           PathExpectation{Path::pcie_p2p, 1.0, Path::nvlink},
                                           PathExpectation{Path::pcie_p2p, 0.0, Path::pcie_p2p},
                                           PathExpectation{Path::host_memory, 1.0, Path::nvlink},
                                           PathExpectation{Path::host_memory, 0.5, Path::mixed},
                                           PathExpectation{Path::host_memory, 0.0,
                                                           Path::host_memory},
                                           PathExpectation{Path::network, 0.0, Path::network},
                                           PathExpectation{Path::mixed, 1.0, Path::nvlink},
                                           PathExpectation{Path::mixed, 0.0, Path::mixed},
                                           PathExpectation{Path::unknown, 1.0, Path::nvlink},
                                           PathExpectation{Path::unknown, 0.5, Path::mixed},
                                           PathExpectation{Path::unknown, 0.0, Path::unknown}));

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

}  // namespace
}  // namespace linkgain::test
