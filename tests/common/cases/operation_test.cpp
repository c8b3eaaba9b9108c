#include "linkgain/cases/operation.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/cases/backend.hpp"
#include "linkgain/cases/traffic.hpp"
#include "support/situations.hpp"

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

/// Names the operations of which `has` is true.
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
  EXPECT_THAT(those(has_hidden), ElementsAre("all_reduce", "product_norm"));
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
                                       operation == OperationKind::device_to_host ||
                                       operation == OperationKind::product_norm);
  }
  EXPECT_THAT(those([](OperationKind each) { return !moves_its_size(each); }),
              ElementsAre("load_latency", "product_norm", "gpt2_step"));
  EXPECT_THAT(those([](OperationKind each) { return has_type(each) && !calls_library(each); }),
              ElementsAre("product_norm"));
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

TEST(Backend, NamesParseBack) {
  for (const BackendKind backend : {BackendKind::nccl, BackendKind::mpi}) {
    EXPECT_EQ(parse_backend(name_of(backend)), backend);
    EXPECT_EQ(from_name<BackendKind>(name_of(backend)), backend);
  }
  EXPECT_EQ(from_name<BackendKind>(name_of(BackendKind::exec)), BackendKind::exec);
  EXPECT_THROW(parse_backend("exec"), UsageError) << "in records alone";
}

TEST(Backend, MpiLacksTheTypesThatMpiLacks) {
  const std::set<DataType> lacking{DataType::float16, DataType::bfloat16, DataType::float8e4m3,
                                   DataType::float8e5m2};
  for (const DataType type : kValues<DataType>) {
    EXPECT_TRUE(supports(BackendKind::nccl, type)) << name_of(type);
    EXPECT_NE(supports(BackendKind::mpi, type), lacking.contains(type)) << name_of(type);
  }
}

TEST(Backend, MpiLacksAvgMulsumAndGraphs) {
  for (const Reduction reduction : kValues<Reduction>) {
    EXPECT_TRUE(supports(BackendKind::nccl, reduction));
    const bool lacking = reduction == Reduction::avg || reduction == Reduction::mulsum;
    EXPECT_NE(supports(BackendKind::mpi, reduction), lacking);
  }
  EXPECT_TRUE(supports(BackendKind::nccl, LaunchMode::graph));
  EXPECT_FALSE(supports(BackendKind::mpi, LaunchMode::graph));
  EXPECT_TRUE(supports(BackendKind::mpi, LaunchMode::stream));
}

TEST(Backend, NoneHasAlltoallAndSendRecvInPlace) {
  for (const OperationKind operation : kOperations) {
    const bool aliases =
        operation == OperationKind::alltoall || operation == OperationKind::send_recv;
    EXPECT_EQ(supports_in_place(operation), has_in_place_form(operation) && !aliases)
        << name_of(operation);
  }
}

TEST(RequireSupported, SaysWhatTheBackendLacksAndWhatThereIsInstead) {
  Situations answers;
  const auto ask = [&](BackendKind backend, const Case& c, std::string_view what) {
    answers.refuse(fmt::format("{}: {}", name_of(backend), what),
                   [&] { require_supported(backend, c); });
  };
  Case c;
  c.size = Bytes{1024};
  c.in_place = true;
  EXPECT_NO_THROW(require_supported(BackendKind::nccl, c));
  EXPECT_NO_THROW(require_supported(BackendKind::mpi, c));
  c.operation = OperationKind::alltoall;
  ask(BackendKind::nccl, c, "alltoall in place");
  ask(BackendKind::mpi, c, "alltoall in place");

  Case half;
  half.size = Bytes{1024};
  EXPECT_NO_THROW(require_supported(BackendKind::mpi, half));
  half.type = DataType::float16;
  EXPECT_NO_THROW(require_supported(BackendKind::nccl, half));
  ask(BackendKind::mpi, half, name_of(half.type));

  Case other;
  other.size = Bytes{1024};
  for (const Buffers buffers : {Buffers::allocated, Buffers::registered, Buffers::symmetric}) {
    other.buffers = buffers;
    EXPECT_NO_THROW(require_supported(BackendKind::nccl, other));
    ask(BackendKind::mpi, other, name_of(buffers));
  }

  const auto ask_name = [&](BackendKind backend, const char* name) {
    ask(backend, parse_case_name(name), name);
  };
  EXPECT_NO_THROW(require_supported(BackendKind::nccl, parse_case_name("gpt2_step/tf32/tiny/np2")));
  EXPECT_NO_THROW(require_supported(BackendKind::mpi, parse_case_name("gpt2_step/fp64/tiny/np2")));
  ask_name(BackendKind::nccl, "gpt2_step/fp64/tiny/np2");
  ask_name(BackendKind::mpi, "gpt2_step/fp32/tiny/np2");
  ask_name(BackendKind::mpi, "gpt2_step/fp64/gpt2/np2");
  for (const char* name :
       {"latency/8B/np2/pair=0-1", "copy_push/1KiB/np2/kernel",
        "all_reduce/float32/sum/1KiB/np2/kernel", "all_reduce/float32/avg/1KiB/np2",
        "all_reduce/float32/sum/8B/np2/graph"}) {
    EXPECT_NO_THROW(require_supported(BackendKind::nccl, parse_case_name(name)));
    ask_name(BackendKind::mpi, name);
  }
  answers.expect_golden("backend_lacks.txt");
}

TEST(RequireSupported, AsksForAReductionOnlyWhereThereIsOne) {
  Case c;
  c.size = Bytes{1024};
  c.reduction = Reduction::avg;
  EXPECT_THROW(require_supported(BackendKind::mpi, c), UsageError);
  c.operation = OperationKind::send_recv;
  EXPECT_NO_THROW(require_supported(BackendKind::mpi, c));
  c.launch = LaunchMode::graph;
  EXPECT_THROW(require_supported(BackendKind::mpi, c), UsageError);
}

// Leaves what is expected of each operation to record's evidence_expected_test.
TEST(Algorithm, IsThatOfTheNameInNcclsLog) {
  EXPECT_EQ(algorithm_called("RING"), Algorithm::ring);
  EXPECT_EQ(algorithm_called("TREE"), Algorithm::tree);
  EXPECT_EQ(algorithm_called("PAT"), Algorithm::pat);
  EXPECT_EQ(algorithm_called("ONE_SHOT"), Algorithm::one_shot);
  EXPECT_EQ(algorithm_called("TWO_SHOT"), Algorithm::two_shot);
  EXPECT_EQ(algorithm_called("NVLS"), Algorithm::nvls);
  EXPECT_EQ(algorithm_called("NVLSTREE"), Algorithm::nvls);
}

TEST(Algorithm, MayBeUnnamedOrNotKnown) {
  EXPECT_EQ(algorithm_called(""), Algorithm::unnamed);
  EXPECT_EQ(algorithm_called("COLLNET_DIRECT"), Algorithm::other);
  EXPECT_EQ(algorithm_called("ring"), Algorithm::other) << "NCCL has capitals";
  EXPECT_FALSE(is_known(OperationKind::all_reduce, Algorithm::nvls));
  EXPECT_FALSE(is_known(OperationKind::all_reduce, Algorithm::unnamed));
  EXPECT_TRUE(is_known(OperationKind::send_recv, Algorithm::unnamed)) << "of messages none matters";
}

TEST(Protocol, SaysWhatTheLinkCarriesForEachByte) {
  const auto per_byte = [](const char* name) { return link_bytes_per_byte(protocol_called(name)); };
  EXPECT_EQ(per_byte("SIMPLE"), 1.0);
  EXPECT_EQ(per_byte("LL"), 2.0);
  EXPECT_EQ(per_byte("LL16"), 16.0 / 12.0);
  EXPECT_EQ(per_byte("LL128"), 128.0 / 120.0);
  EXPECT_EQ(per_byte(""), std::nullopt);
  EXPECT_EQ(per_byte("LL256"), std::nullopt);
  EXPECT_EQ(protocol_called(""), Protocol::unnamed);
}

double largest_payload(const char* name, Algorithm algorithm = Algorithm::unnamed) {
  return largest_payload_of_a_rank(parse_case_name(name), algorithm);
}

TEST(LargestPayloadOfARank, IsByTheAlgorithmWhereItMatters) {
  const char* const reduce = "all_reduce/float32/sum/4KiB/np4";
  EXPECT_EQ(largest_payload(reduce, Algorithm::ring), 6144.0) << "2 (n - 1) / n S";
  EXPECT_EQ(largest_payload(reduce, Algorithm::two_shot), 6144.0);
  EXPECT_EQ(largest_payload(reduce, Algorithm::one_shot), 12288.0) << "S to every other rank";
  EXPECT_EQ(largest_payload(reduce, Algorithm::tree), 8192.0) << "up and down";
  EXPECT_EQ(largest_payload(reduce, Algorithm::nvls), 8192.0) << "as much as can be";
  for (const char* name : {"all_gather/float32/4KiB/np4", "reduce_scatter/float32/sum/4KiB/np4"}) {
    EXPECT_EQ(largest_payload(name, Algorithm::pat), 3072.0) << name;
    EXPECT_EQ(largest_payload(name, Algorithm::nvls), 4096.0) << name << ", not known";
  }
}

TEST(LargestPayloadOfARank, OfARootIsThatOfAllOthers) {
  for (const char* name :
       {"gather/float32/4KiB/np4", "scatter/float32/4KiB/np4", "alltoall/float32/4KiB/np4"}) {
    EXPECT_EQ(largest_payload(name), 3072.0) << name;
  }
  for (const char* name : {"all_to_one/4KiB/np4", "one_to_all/4KiB/np4"}) {
    EXPECT_EQ(largest_payload(name), 12288.0) << name << ": each sends all of S";
  }
  for (const char* name :
       {"broadcast/float32/4KiB/np4", "reduce/float32/sum/4KiB/np4", "send_recv/float32/4KiB/np4",
        "copy_pull/4KiB/np4/pair=0-1", "host_to_device/4KiB/np4"}) {
    EXPECT_EQ(largest_payload(name), 4096.0) << name;
  }
}

TEST(LargestPayloadOfARank, OfMessagesToAndFroIsHalf) {
  EXPECT_EQ(largest_payload("ping_pong/float32/4KiB/np2/pair=0-1"), 2048.0);
  EXPECT_EQ(largest_payload("latency/8B/np2/pair=0-1"), 4.0);
  EXPECT_EQ(largest_payload("load_latency/64KiB/np2/pair=0-1"), kLoadLatencyLine);
  EXPECT_EQ(largest_payload("gpt2_step/fp32/gpt2/np2"), 497'759'232.0) << "2 (n - 1) / n S";
}

TEST(MessageSize, IsARanksPartWhereEveryRankHasOne) {
  const auto message = [](const char* name) { return message_size(parse_case_name(name)).value; };
  EXPECT_EQ(message("alltoall/float32/4KiB/np4"), 1024);
  EXPECT_EQ(message("gather/float32/4KiB/np4"), 1024);
  EXPECT_EQ(message("all_gather/float32/4KiB/np4"), 4096);
  EXPECT_EQ(message("load_latency/64KiB/np2/pair=0-1"), kLoadLatencyLine);
}

TEST(ExpectedBytes, AreThoseOfEveryMessage) {
  const auto expected = [](const char* name) {
    return expected_bytes(parse_case_name(name), {"", std::string(kSimple)});
  };
  EXPECT_EQ(expected("copy_push/4KiB/np4"), 16384.0) << "of four ranks";
  EXPECT_EQ(expected("copy_push/4KiB/np4/pair=0-1"), 4096.0);
  EXPECT_EQ(expected("copy_push/4KiB/np4/pair=0-1/both"), 8192.0);
  EXPECT_EQ(expected("all_to_one/4KiB/np4"), 12288.0);
  EXPECT_EQ(expected("host_to_device/4KiB/np4"), std::nullopt) << "over no link between GPUs";
  EXPECT_EQ(expected("load_latency/64KiB/np2/pair=0-1"), std::nullopt);
  EXPECT_EQ(expected_bytes(program_case({}), {"", std::string(kSimple)}), std::nullopt);
}

}  // namespace
}  // namespace linkgain::test
