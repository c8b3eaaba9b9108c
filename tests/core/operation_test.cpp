#include "linkgain/core/operation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string_view>
#include <vector>

#include "linkgain/core/errors.hpp"

namespace linkgain {
namespace {

using testing::ElementsAre;
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
                                        "(all_reduce, all_gather, reduce_scatter, broadcast, "
                                        "reduce, alltoall, gather, scatter, send_recv, "
                                        "ping_pong)"));
  EXPECT_THROW(parse_operation("ALL_REDUCE"), UsageError);
}

/// The names of the operations of which `has` is true.
std::vector<std::string_view> those(bool (*has)(OperationKind)) {
  std::vector<std::string_view> names;
  for (const OperationKind operation : kOperations) {
    if (has(operation)) names.push_back(name_of(operation));
  }
  return names;
}

TEST(Operations, HaveWhatTheyHave) {
  EXPECT_THAT(those(has_reduction), ElementsAre("all_reduce", "reduce_scatter", "reduce"));
  EXPECT_THAT(those(has_root), ElementsAre("broadcast", "reduce", "gather", "scatter"));
  EXPECT_THAT(those(has_pair), ElementsAre("send_recv", "ping_pong"));
  EXPECT_THAT(those(has_in_place_form), ElementsAre("all_reduce", "all_gather", "reduce_scatter",
                                                    "broadcast", "reduce", "gather", "scatter"));
  EXPECT_THAT(those(is_split_over_ranks),
              ElementsAre("all_gather", "reduce_scatter", "alltoall", "gather", "scatter"));
  EXPECT_THAT(those(is_grouped), ElementsAre("alltoall", "gather", "scatter"));
  EXPECT_THAT(those(has_algorithm),
              ElementsAre("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"));
}

TEST(BusBandwidthFactor, IsTwoTimesTheOtherRanksShareForAllReduce) {
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(OperationKind::all_reduce, 2), 1.0);
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(OperationKind::all_reduce, 3), 4.0 / 3.0);
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(OperationKind::all_reduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(OperationKind::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(OperationKind::all_reduce, 1), 0.0);
}

TEST(BusBandwidthFactor, IsTheOtherRanksShareWhereTheSizeIsSplit) {
  for (const OperationKind operation :
       {OperationKind::all_gather, OperationKind::reduce_scatter, OperationKind::alltoall,
        OperationKind::gather, OperationKind::scatter}) {
    EXPECT_DOUBLE_EQ(bus_bandwidth_factor(operation, 2), 0.5) << name_of(operation);
    EXPECT_DOUBLE_EQ(bus_bandwidth_factor(operation, 3), 2.0 / 3.0) << name_of(operation);
    EXPECT_DOUBLE_EQ(bus_bandwidth_factor(operation, 8), 0.875) << name_of(operation);
  }
}

TEST(BusBandwidthFactor, IsOneForTheOthers) {
  for (const OperationKind operation : {OperationKind::broadcast, OperationKind::reduce,
                                        OperationKind::send_recv, OperationKind::ping_pong}) {
    EXPECT_DOUBLE_EQ(bus_bandwidth_factor(operation, 2), 1.0) << name_of(operation);
    EXPECT_DOUBLE_EQ(bus_bandwidth_factor(operation, 8), 1.0) << name_of(operation);
  }
}

TEST(BusBandwidthFactor, NeedsARank) {
  EXPECT_THROW(bus_bandwidth_factor(OperationKind::all_reduce, 0), std::invalid_argument);
}

}  // namespace
}  // namespace linkgain
