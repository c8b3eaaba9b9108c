#include "linkgain/cases/operation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string_view>
#include <vector>

namespace linkgain::test {
namespace {

using testing::ElementsAre;

TEST(Operations, AreReadBackFromTheirNames) {
  for (const OperationKind operation : kOperations) {
    EXPECT_EQ(parse_operation(name_of(operation)), operation);
  }
  EXPECT_EQ(name_of(OperationKind::all_reduce), "all_reduce");
  EXPECT_EQ(name_of(OperationKind::send_recv), "send_recv");
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
  EXPECT_THAT(those(has_root),
              ElementsAre("broadcast", "reduce", "gather", "scatter", "all_to_one", "one_to_all"));
  EXPECT_THAT(those(has_pair), ElementsAre("send_recv", "ping_pong", "copy_push", "copy_pull",
                                           "latency", "load_latency"));
  EXPECT_THAT(those(needs_pair), ElementsAre("ping_pong", "latency", "load_latency"));
  EXPECT_THAT(those(is_latency), ElementsAre("latency", "load_latency"));
  EXPECT_THAT(those(has_in_place_form),
              ElementsAre("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
                          "alltoall", "gather", "scatter", "send_recv"));
  EXPECT_THAT(those(is_split_over_ranks),
              ElementsAre("all_gather", "reduce_scatter", "alltoall", "gather", "scatter"));
  EXPECT_THAT(those(goes_to_root), ElementsAre("gather", "all_to_one"));
  EXPECT_THAT(those(comes_from_root), ElementsAre("scatter", "one_to_all"));
  EXPECT_THAT(those(is_exchange), ElementsAre("alltoall", "gather", "scatter"));
  EXPECT_THAT(those(has_algorithm),
              ElementsAre("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"));
}

TEST(Operations, OnMemoryAreNoCallsOfALibrary) {
  EXPECT_THAT(those(is_copy), ElementsAre("copy_push", "copy_pull", "all_to_one", "one_to_all",
                                          "host_to_device", "device_to_host"));
  EXPECT_THAT(those(works_on_memory),
              ElementsAre("copy_push", "copy_pull", "all_to_one", "one_to_all", "latency",
                          "load_latency", "host_to_device", "device_to_host"));
  for (const OperationKind operation : kOperations) {
    EXPECT_NE(has_type(operation), works_on_memory(operation) || is_training(operation))
        << name_of(operation);
    EXPECT_EQ(is_local(operation), operation == OperationKind::host_to_device ||
                                       operation == OperationKind::device_to_host);
    EXPECT_EQ(moves_its_size(operation),
              operation != OperationKind::load_latency && operation != OperationKind::gpt2_step);
  }
}

TEST(Operations, AProgramHasNothingOfTheirs) {
  const OperationKind program = OperationKind::program;
  EXPECT_EQ(name_of(program), "exec");
  for (const auto has : {has_type, has_reduction, has_root, has_pair, has_in_place_form,
                         is_split_over_ranks, has_algorithm, works_on_memory, moves_its_size}) {
    EXPECT_FALSE(has(program));
  }
}

TEST(BusBandwidthFactor, IsWhatTheRootsLinkCarriesOfCopiesToOrFromOne) {
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(OperationKind::all_to_one, 2), 1.0);
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(OperationKind::all_to_one, 8), 7.0);
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(OperationKind::one_to_all, 4), 3.0);
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(OperationKind::copy_push, 8), 1.0);
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
}  // namespace linkgain::test
