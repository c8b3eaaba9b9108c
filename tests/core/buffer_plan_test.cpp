#include "linkgain/core/buffer_plan.hpp"

#include <gtest/gtest.h>

namespace linkgain {
namespace {

constexpr Bytes kCache{std::int64_t{60} << 20};

Case of_size(std::int64_t size) {
  Case c;
  c.size = Bytes{size};
  return c;
}

TEST(BufferPlan, PoolsHoldTwiceTheCacheTogether) {
  for (const std::int64_t size : {256LL << 10, 1000000LL, 50LL << 20}) {
    for (const bool in_place : {false, true}) {
      Case c = of_size(size);
      c.in_place = in_place;
      const BufferPlan plan = plan_buffers(c, kCache);
      const std::int64_t round = plan.slot_bytes * plan.pools;
      EXPECT_TRUE(plan.cold) << size;
      EXPECT_GE(plan.total_bytes(), 2 * kCache.value) << size;
      EXPECT_LT(plan.total_bytes() - round, 2 * kCache.value) << "no slot more than needed";
      EXPECT_EQ(plan.pools, in_place ? 1 : 2);
      EXPECT_EQ(plan.operations_per_graph, 0);
    }
  }
}

TEST(BufferPlan, DataIsWarmWhereABatchCannotWalkTwiceTheCache) {
  for (const std::int64_t size : {4LL, 128LL, 64LL << 10}) {
    const BufferPlan plan = plan_buffers(of_size(size), kCache);
    EXPECT_FALSE(plan.cold) << size;
    EXPECT_GT(plan.slots, 1) << size;
    EXPECT_LT(plan.total_bytes(), kCache.value / 4) << size;
  }
  EXPECT_TRUE(plan_buffers(of_size(128 << 10), kCache).cold) << "480 slots: a batch walks them";
}

TEST(BufferPlan, ExactlyTwiceTheCacheIsEnough) {
  const BufferPlan plan = plan_buffers(of_size(1 << 20), kCache);
  EXPECT_EQ(plan.slots, 60);
  EXPECT_EQ(plan.total_bytes(), 2 * kCache.value);
  EXPECT_TRUE(plan.cold);
}

TEST(BufferPlan, ALargeCaseHasOneSlotAndIsColdByItself) {
  const BufferPlan plan = plan_buffers(of_size(1 << 30), kCache);
  EXPECT_EQ(plan.slots, 1);
  EXPECT_EQ(plan.total_bytes(), std::int64_t{2} << 30);
  EXPECT_TRUE(plan.cold);
}

TEST(BufferPlan, TheCallersRotationCounts) {
  Case c = of_size(1000);
  c.launch = LaunchMode::graph;
  const BufferPlan plan = plan_buffers(c, kCache, Rotation{3, 20});
  EXPECT_EQ(plan.slots, 3);
  EXPECT_EQ(plan.operations_per_graph, 20);
  EXPECT_EQ(plan.slot_bytes, 1024);
  EXPECT_FALSE(plan.cold);
}

TEST(BufferPlan, SlotsAreAlignedAndHoldTheCase) {
  EXPECT_EQ(plan_buffers(of_size(4), kCache).slot_bytes, 128);
  EXPECT_EQ(plan_buffers(of_size(128), kCache).slot_bytes, 128);
  EXPECT_EQ(plan_buffers(of_size(132), kCache).slot_bytes, 256);
}

TEST(BufferPlan, WithoutACacheOneSlotIsEnough) {
  const BufferPlan plan = plan_buffers(of_size(1024), Bytes{0});
  EXPECT_EQ(plan.slots, 1);
  EXPECT_TRUE(plan.cold);
}

TEST(BufferPlan, AGraphHasASlotForEachOfItsOperations) {
  const auto operations = [](std::int64_t size) {
    Case c = of_size(size);
    c.launch = LaunchMode::graph;
    const BufferPlan plan = plan_buffers(c, kCache);
    EXPECT_EQ(plan.slots, plan.operations_per_graph);
    return plan.operations_per_graph;
  };
  EXPECT_EQ(operations(8), 64);
  EXPECT_EQ(operations(1 << 20), 64);
  EXPECT_EQ(operations(2 << 20), 32);
  EXPECT_EQ(operations(48 << 20), 1);
  EXPECT_EQ(operations(1 << 30), 1);
}

TEST(BufferPlan, AGraphIsWarmWhereItsBuffersFitIntoTheCache) {
  Case c = of_size(64 << 10);
  c.launch = LaunchMode::graph;
  EXPECT_FALSE(plan_buffers(c, kCache).cold);
  c.size = Bytes{1 << 20};
  EXPECT_TRUE(plan_buffers(c, kCache).cold) << "64 operations on 2 MiB each";
  c.in_place = true;
  EXPECT_FALSE(plan_buffers(c, kCache).cold) << "64 operations on 1 MiB each";
}

}  // namespace
}  // namespace linkgain
