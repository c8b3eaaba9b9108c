#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/evidence_cases.hpp"
#include "support/situations.hpp"

/// What is expected of the operations beside all_reduce and send_recv, against sums by hand.
namespace linkgain::test {
namespace {

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
    if (!has_type(operation)) continue;
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

/// Whether PCIe counters of so many operations of 1 GiB on four ranks are kept. They wrap at
/// 4 GiB, which with PCIe's own bytes is 2.67 GiB of payload on one GPU.
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

}  // namespace
}  // namespace linkgain::test
