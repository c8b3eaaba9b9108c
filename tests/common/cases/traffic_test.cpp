#include "linkgain/cases/traffic.hpp"

#include <gtest/gtest.h>

#include <optional>

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

}  // namespace
}  // namespace linkgain::test
