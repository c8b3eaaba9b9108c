#include <gtest/gtest.h>

#include <cstdint>

#include "kernels/all_reduce/all_reduce.hpp"

namespace linkgain::kernels {
namespace {

constexpr int kMultiprocessors = 132;

using enum AllReducePath;

AllReduceChoice choice_of(std::int64_t bytes, int ranks, AllReducePath path = p2p_atomics,
                          ElementType type = ElementType::float32) {
  return choose_all_reduce(bytes, type, ranks, kMultiprocessors, path);
}

AllReduceMethod method_of(std::int64_t bytes, int ranks, AllReducePath path = p2p_atomics) {
  return choice_of(bytes, ranks, path).method;
}

int blocks_of(std::int64_t bytes, int ranks, AllReducePath path = p2p_atomics) {
  return choice_of(bytes, ranks, path).blocks;
}

constexpr std::int64_t kKibibyte = 1 << 10;
constexpr std::int64_t kMebibyte = 1 << 20;

/// Puts each pair of sizes on two sides of a crossover that was measured.
TEST(AllReduceChoice, IsTheFastestOfPeersThatWasMeasured) {
  using enum AllReduceMethod;
  for (int ranks = 2; ranks <= 8; ++ranks) {
    EXPECT_EQ(method_of(8, ranks), ll);
    EXPECT_EQ(method_of(512, ranks), ll);
    EXPECT_EQ(method_of(1024, ranks), sentinel);
    EXPECT_EQ(method_of(8 * kMebibyte, ranks), sentinel);
    EXPECT_EQ(method_of(16 * kMebibyte, ranks), two_shot);
    EXPECT_EQ(method_of(64 * kMebibyte, ranks), ring);
  }
}

/// Avoids partial sums of half precision, which would be rounded at every rank.
TEST(AllReduceChoice, SendsNoPartialSumsOfHalfPrecision) {
  for (const ElementType type : {ElementType::float16, ElementType::bfloat16}) {
    EXPECT_EQ(choice_of(1024 * kMebibyte, 4, p2p_atomics, type).method, AllReduceMethod::two_shot);
  }
}

/// Avoids flags that come behind the data before them.
TEST(AllReduceChoice, WaitsForTheDataThemselvesWherePeersHaveNoAtomics) {
  for (int ranks = 2; ranks <= 8; ++ranks) {
    for (std::int64_t bytes = 8; bytes <= 1024 * kMebibyte; bytes *= 2) {
      EXPECT_TRUE(traits_of(method_of(bytes, ranks, p2p)).has(kFlagsInData))
          << bytes << ' ' << ranks;
    }
  }
}

TEST(AllReduceChoice, IsTheFastestThroughTheHostThatWasMeasured) {
  using enum AllReduceMethod;
  EXPECT_EQ(method_of(8, 2, host_memory), ll);
  EXPECT_EQ(method_of(64 * kKibibyte, 2, host_memory), sentinel);
  EXPECT_EQ(method_of(512 * kKibibyte, 2, host_memory), sentinel);
  EXPECT_EQ(method_of(kMebibyte, 2, host_memory), staged_two_shot);
  EXPECT_EQ(method_of(16 * kKibibyte, 4, host_memory), sentinel);
  EXPECT_EQ(method_of(64 * kKibibyte, 4, host_memory), sentinel);
  EXPECT_EQ(method_of(256 * kKibibyte, 4, host_memory), staged_two_shot);
}

TEST(AllReduceChoice, TakesAsManyBlocksAsThereIsWorkFor) {
  EXPECT_EQ(blocks_of(8, 2), 1);
  EXPECT_EQ(blocks_of(kMebibyte, 2), 132);
  EXPECT_EQ(blocks_of(2 * kMebibyte, 2), 264);
  EXPECT_EQ(blocks_of(2 * kMebibyte, 3), 132);
  EXPECT_EQ(blocks_of(16 * kMebibyte, 2), 132);
  EXPECT_EQ(blocks_of(1024 * kMebibyte, 8), 132);
  EXPECT_EQ(choice_of(1024 * kMebibyte, 2, p2p_atomics, ElementType::float16).blocks, 264);
  EXPECT_EQ(blocks_of(8, 2, host_memory), 1);
  EXPECT_EQ(blocks_of(32 * kKibibyte, 4, host_memory), 16);
  EXPECT_EQ(blocks_of(256 * kKibibyte, 3, host_memory), 6);
  EXPECT_EQ(blocks_of(512 * kKibibyte, 4, host_memory), 4);
  EXPECT_EQ(blocks_of(kMebibyte, 4, host_memory), 8);
  EXPECT_EQ(blocks_of(2 * kMebibyte, 2, host_memory), 16);
  EXPECT_EQ(blocks_of(16 * kMebibyte, 2, host_memory), 16);
  EXPECT_EQ(blocks_of(20 * kMebibyte, 2, host_memory), 32);
  EXPECT_EQ(blocks_of(32 * kMebibyte, 4, host_memory), 16);
  EXPECT_EQ(blocks_of(32 * kMebibyte, 2, host_memory), 32);
}

}  // namespace
}  // namespace linkgain::kernels
