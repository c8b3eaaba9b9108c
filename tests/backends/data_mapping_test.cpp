#include "data_mapping.hpp"

#include <gtest/gtest.h>

namespace linkgain {
namespace {

TEST(DataMapping, KeepsSizeAndKindOfEveryType) {
  for (const DataType type : kDataTypes) {
    const kernels::ElementTraits traits = kernels::traits_of(element_type(type));
    EXPECT_EQ(traits.bytes, size_of(type)) << name_of(type);
    const bool is_integer = name_of(type).find("int") != std::string_view::npos;
    EXPECT_EQ(traits.is_integer, is_integer) << name_of(type);
    EXPECT_EQ(traits.is_signed, name_of(type)[0] != 'u') << name_of(type);
  }
}

TEST(DataMapping, KeepsTheOrderOfTypesAndReductions) {
  for (const DataType type : kDataTypes) {
    EXPECT_EQ(static_cast<int>(element_type(type)), static_cast<int>(type)) << name_of(type);
  }
  for (const Reduction reduction : kReductions) {
    EXPECT_EQ(static_cast<int>(reduction_kind(reduction)), static_cast<int>(reduction))
        << name_of(reduction);
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

}  // namespace
}  // namespace linkgain
