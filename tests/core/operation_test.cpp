#include "linkgain/core/operation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "linkgain/core/errors.hpp"

namespace linkgain {
namespace {

using testing::ThrowsMessage;

TEST(Operations, AreReadBackFromTheirNames) {
  for (const OperationKind operation : kOperations) {
    EXPECT_EQ(parse_operation(name_of(operation)), operation);
  }
  EXPECT_EQ(name_of(OperationKind::all_reduce), "all_reduce");
  EXPECT_EQ(name_of(OperationKind::send_recv), "send_recv");
}

TEST(Operations, RefuseOtherNamesWithTheNearest) {
  EXPECT_THAT([] { parse_operation("all_reduc"); },
              ThrowsMessage<UsageError>("unknown operation 'all_reduc': did you mean all_reduce? "
                                        "(all_reduce, send_recv)"));
  EXPECT_THROW(parse_operation("ALL_REDUCE"), UsageError);
}

TEST(Operations, OnlyAllReduceCombinesElements) {
  EXPECT_TRUE(has_reduction(OperationKind::all_reduce));
  EXPECT_FALSE(has_reduction(OperationKind::send_recv));
}

TEST(BusBandwidthFactor, IsTwoTimesTheOtherRanksShareForAllReduce) {
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(OperationKind::all_reduce, 2), 1.0);
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(OperationKind::all_reduce, 3), 4.0 / 3.0);
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(OperationKind::all_reduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(OperationKind::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(OperationKind::all_reduce, 1), 0.0);
}

TEST(BusBandwidthFactor, IsOneForSendRecv) {
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(OperationKind::send_recv, 2), 1.0);
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(OperationKind::send_recv, 8), 1.0);
}

TEST(BusBandwidthFactor, NeedsARank) {
  EXPECT_THROW(bus_bandwidth_factor(OperationKind::all_reduce, 0), std::invalid_argument);
}

}  // namespace
}  // namespace linkgain
