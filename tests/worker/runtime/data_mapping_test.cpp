#include "linkgain/runtime/data_mapping.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernels/verify/number_format.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DataMapping, KeepsSizeAndKindOfEveryType) {
  for (const DataType type : kValues<DataType>) {
    const kernels::ElementTraits traits = kernels::traits_of(element_type(type));
    EXPECT_EQ(traits.bytes, size_of(type)) << name_of(type);
    const bool is_integer = name_of(type).find("int") != std::string_view::npos;
    EXPECT_EQ(traits.is_integer, is_integer) << name_of(type);
    EXPECT_EQ(traits.is_signed, name_of(type)[0] != 'u') << name_of(type);
  }
}

TEST(DataMapping, KeepsTheOrderOfTypesAndReductions) {
  for (const DataType type : kValues<DataType>) {
    EXPECT_EQ(static_cast<int>(element_type(type)), static_cast<int>(type)) << name_of(type);
  }
  for (const Reduction reduction : kValues<Reduction>) {
    EXPECT_EQ(static_cast<int>(reduction_kind(reduction)), static_cast<int>(reduction))
        << name_of(reduction);
  }
}

TEST(DataMapping, FactorsAreElementsOfTheType) {
  for (const DataType type : kValues<DataType>) {
    for (const int rank : {0, 1, 2, 7}) {
      EXPECT_EQ(kernels::decode(element_type(type), factor_bits(type, rank)),
                kernels::factor_of(rank))
          << name_of(type) << ", rank " << rank;
    }
  }
}

TEST(DataMapping, WhatIsOnlyMovedHasTheWidestRange) {
  Case c;
  c.operation = OperationKind::send_recv;
  EXPECT_EQ(verification_pattern(c).reduction, kernels::ReductionKind::max);
  c.operation = OperationKind::all_reduce;
  c.reduction = Reduction::prod;
  EXPECT_EQ(verification_pattern(c).reduction, kernels::ReductionKind::prod);
  EXPECT_EQ(verification_pattern(c).ranks, c.ranks);
}

TEST(DataMapping, EveryOperationHasDataOfItsOwn) {
  Case c;
  c.size = Bytes{1 << 10};
  Case other = c;
  other.size = Bytes{c.size.value * 2};
  std::set<std::uint32_t> seeds;
  for (std::int64_t operation = 0; operation < 100; ++operation) {
    EXPECT_EQ(verification_pattern(c, operation).seed,
              later_pattern(verification_pattern(c), operation).seed);
    seeds.insert(verification_pattern(c, operation).seed);
    seeds.insert(verification_pattern(other, operation).seed);
  }
  EXPECT_EQ(seeds.size(), 200u);
}

TEST(DataMapping, DelaysDifferBetweenRanksAndAreOftenNone) {
  constexpr int kOperations = 1000;
  int none = 0;
  int alike = 0;
  double longest = 0.0;
  for (std::int64_t operation = 0; operation < kOperations; ++operation) {
    const kernels::Pattern pattern = verification_pattern(Case{}, operation);
    const double first = verification_delay(pattern, 0).value;
    if (first == 0.0) ++none;
    if (first == verification_delay(pattern, 1).value) ++alike;
    longest = std::max(longest, first);
  }
  EXPECT_NEAR(none, kOperations / 2, 100);
  EXPECT_NEAR(alike, kOperations / 4, 100);  // where neither waits
  EXPECT_GT(longest, 190e-6);
  EXPECT_LE(longest, 200e-6);
}

TEST(DataMapping, ABurstHasAsManySlotsAsAreWorthFilling) {
  Case c;
  c.size = Bytes{1 << 10};
  EXPECT_EQ(verified_burst(c, BufferPlan{.slots = 16}), 8);
  EXPECT_EQ(verified_burst(c, BufferPlan{.slots = 3}), 3);
  c.size = Bytes{4 << 20};
  EXPECT_EQ(verified_burst(c, BufferPlan{.slots = 16}), 2);
  c.size = Bytes{1 << 30};
  EXPECT_EQ(verified_burst(c, BufferPlan{.slots = 1}), 1);
}

Case sending(int ranks, std::optional<Pair> pair) {
  Case c;
  c.operation = OperationKind::send_recv;
  c.ranks = ranks;
  c.pair = pair;
  return c;
}

TEST(DataMapping, InARingEveryRankSendsToTheNext) {
  const Case ring = sending(4, std::nullopt);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(receiver_from(ring, rank), (rank + 1) % 4);
    EXPECT_EQ(sender_to(ring, rank), (rank + 3) % 4);
  }
}

TEST(DataMapping, OneWayOnlyTwoRanksTakePart) {
  const Case one_way = sending(4, Pair{2, 1, false});
  EXPECT_EQ(receiver_from(one_way, 2), 1);
  EXPECT_EQ(sender_to(one_way, 1), 2);
  for (const int rank : {0, 1, 3}) EXPECT_EQ(receiver_from(one_way, rank), -1) << rank;
  for (const int rank : {0, 2, 3}) EXPECT_EQ(sender_to(one_way, rank), -1) << rank;
}

TEST(DataMapping, BothWaysEachSendsToTheOther) {
  const Case both = sending(4, Pair{1, 3, true});
  EXPECT_EQ(receiver_from(both, 1), 3);
  EXPECT_EQ(receiver_from(both, 3), 1);
  EXPECT_EQ(sender_to(both, 1), 3);
  EXPECT_EQ(sender_to(both, 3), 1);
  for (const int rank : {0, 2}) {
    EXPECT_EQ(receiver_from(both, rank), -1);
    EXPECT_EQ(sender_to(both, rank), -1);
  }
}

TEST(DataMapping, APingPongGoesBothWays) {
  Case c = sending(4, Pair{1, 3, false});
  c.operation = OperationKind::ping_pong;
  EXPECT_EQ(receiver_from(c, 1), 3);
  EXPECT_EQ(receiver_from(c, 3), 1);
  EXPECT_EQ(sender_to(c, 1), 3);
  EXPECT_EQ(sender_to(c, 3), 1);
  for (const int rank : {0, 2}) EXPECT_FALSE(takes_part(c, rank)) << rank;
  for (const int rank : {1, 3}) EXPECT_TRUE(takes_part(c, rank)) << rank;
}

TEST(DataMapping, EveryRankTakesPartInWhatHasNoPair) {
  for (const OperationKind operation : kOperations) {
    Case c = sending(3, std::nullopt);
    c.operation = operation;
    if (operation == OperationKind::ping_pong) c.pair = Pair{};
    const bool left_out = operation == OperationKind::ping_pong;
    EXPECT_EQ(takes_part(c, 2), !left_out) << name_of(operation);
  }
}

/// Returns the parts of 32 float32 elements on four ranks, so 8 for each.
std::vector<ExpectedPart> parts_of(OperationKind operation, int rank, int root = 0) {
  Case c;
  c.operation = operation;
  c.size = Bytes{128};
  c.ranks = 4;
  c.root = root;
  if (operation == OperationKind::ping_pong) c.pair = Pair{0, 1, false};
  return expected_parts(c, rank);
}

TEST(ExpectedParts, OfReductionsAreTheReduction) {
  EXPECT_THAT(parts_of(OperationKind::all_reduce, 3),
              ElementsAre(ExpectedPart{0, 32, 0, kReduced}));
  EXPECT_THAT(parts_of(OperationKind::reduce, 2, 2), ElementsAre(ExpectedPart{0, 32, 0, kReduced}));
  EXPECT_THAT(parts_of(OperationKind::reduce, 1, 2), IsEmpty()) << "the root alone has it";
  EXPECT_THAT(parts_of(OperationKind::reduce_scatter, 3),
              ElementsAre(ExpectedPart{0, 8, 24, kReduced}));
}

TEST(ExpectedParts, OfWhatTheRootGivesAreItsInput) {
  EXPECT_THAT(parts_of(OperationKind::broadcast, 3, 1), ElementsAre(ExpectedPart{0, 32, 0, 1}));
  EXPECT_THAT(parts_of(OperationKind::broadcast, 1, 1), ElementsAre(ExpectedPart{0, 32, 0, 1}));
  EXPECT_THAT(parts_of(OperationKind::scatter, 2, 1), ElementsAre(ExpectedPart{0, 8, 16, 1}));
}

TEST(ExpectedParts, OfWhatIsCollectedAreEveryRanks) {
  const auto from_each = ElementsAre(ExpectedPart{0, 8, 0, 0}, ExpectedPart{8, 8, 0, 1},
                                     ExpectedPart{16, 8, 0, 2}, ExpectedPart{24, 8, 0, 3});
  EXPECT_THAT(parts_of(OperationKind::all_gather, 3), from_each);
  EXPECT_THAT(parts_of(OperationKind::gather, 1, 1), from_each);
  EXPECT_THAT(parts_of(OperationKind::gather, 0, 1), IsEmpty());
  EXPECT_THAT(parts_of(OperationKind::alltoall, 3),
              ElementsAre(ExpectedPart{0, 8, 24, 0}, ExpectedPart{8, 8, 24, 1},
                          ExpectedPart{16, 8, 24, 2}, ExpectedPart{24, 8, 24, 3}));
}

TEST(ExpectedParts, OfMessagesAreTheSenders) {
  EXPECT_THAT(parts_of(OperationKind::send_recv, 0), ElementsAre(ExpectedPart{0, 32, 0, 3}));
  EXPECT_THAT(parts_of(OperationKind::ping_pong, 0), ElementsAre(ExpectedPart{0, 32, 0, 1}));
  EXPECT_THAT(parts_of(OperationKind::ping_pong, 1), ElementsAre(ExpectedPart{0, 32, 0, 0}));
  EXPECT_THAT(parts_of(OperationKind::ping_pong, 2), IsEmpty());
}

constexpr Bytes kMebibyte{std::int64_t{1} << 20};

std::vector<Transfer> of(const std::string& name) { return transfers_of(parse_case_name(name)); }

TEST(Transfers, GoByPairRingOrRoot) {
  EXPECT_THAT(of("copy_push/1MiB/np4/pair=2-1"), ElementsAre(Transfer{2, 1, {}}));
  EXPECT_THAT(of("copy_pull/1MiB/np4/pair=2-1/both"),
              ElementsAre(Transfer{2, 1, {}}, Transfer{1, 2, {}}));
  EXPECT_THAT(of("copy_push/1MiB/np3"),
              ElementsAre(Transfer{0, 1, {}}, Transfer{1, 2, {}}, Transfer{2, 0, {}}));
  EXPECT_THAT(of("all_to_one/1MiB/np3/root=1"),
              ElementsAre(Transfer{0, 1, {}}, Transfer{2, 1, Bytes{2 * kMebibyte.value}}));
  EXPECT_THAT(of("one_to_all/1MiB/np3"), ElementsAre(Transfer{0, 1, {}}, Transfer{0, 2, {}}));
  EXPECT_THAT(of("host_to_device/1MiB/np3"), IsEmpty());
  EXPECT_THAT(of("latency/8B/np3/pair=0-1"), IsEmpty());
}

TEST(Transfers, GiveEachRankOneMessageToMoveAtMost) {
  for (const char* name :
       {"copy_push/1MiB/np4", "copy_pull/1MiB/np4", "copy_push/1MiB/np4/pair=0-1/both",
        "copy_pull/1MiB/np4/pair=0-1", "all_to_one/1MiB/np4/root=2", "one_to_all/1MiB/np4"}) {
    const Case c = parse_case_name(name);
    std::vector<int> moved(4);
    for (const Transfer& transfer : transfers_of(c)) {
      ++moved[static_cast<std::size_t>(executor_of(c, transfer))];
    }
    for (const int each : moved) EXPECT_LE(each, 1) << name;
  }
}

TEST(Transfers, APushIsTheSendersAndAPullTheReceivers) {
  const auto executor = [](const char* name) {
    const Case c = parse_case_name(name);
    return executor_of(c, transfers_of(c).front());
  };
  EXPECT_EQ(executor("copy_push/1MiB/np4/pair=3-1"), 3);
  EXPECT_EQ(executor("copy_pull/1MiB/np4/pair=3-1"), 1);
  EXPECT_EQ(executor("all_to_one/1MiB/np4/root=2"), 0) << "others push";
  EXPECT_EQ(executor("one_to_all/1MiB/np4/root=2"), 0) << "others pull";
}

/// Checks that every transfer's place holds all of the sender's input: what arrives is checked.
TEST(Transfers, ArriveWhereTheCheckLooks) {
  for (const char* name : {"copy_push/1MiB/np4", "copy_pull/1MiB/np4/pair=3-1/both",
                           "all_to_one/1MiB/np4/root=2", "one_to_all/1MiB/np4/root=1"}) {
    const Case c = parse_case_name(name);
    for (int rank = 0; rank < c.ranks; ++rank) {
      std::vector<ExpectedPart> arriving;
      for (const Transfer& transfer : transfers_of(c)) {
        if (transfer.to != rank) continue;
        arriving.push_back(
            {transfer.offset.value / size_of(c.type), c.elements(), 0, transfer.from});
      }
      EXPECT_EQ(arriving, expected_parts(c, rank)) << name << ", rank " << rank;
    }
  }
}

}  // namespace
}  // namespace linkgain::test
