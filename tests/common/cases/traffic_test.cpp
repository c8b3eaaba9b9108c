#include "linkgain/cases/traffic.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace linkgain::test {
namespace {

// What is expected of each operation is in record's evidence_expected_test.
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
