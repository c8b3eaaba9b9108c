#include "linkgain/cases/buffer_plan.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace linkgain::test {
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
      const SlotBytes slot = slot_bytes(c, 0);
      const std::int64_t round = slot.first + slot.second;
      EXPECT_TRUE(plan.cold) << size;
      EXPECT_GE(most_bytes(c, plan), 2 * kCache.value) << size;
      EXPECT_LT(most_bytes(c, plan) - round, 2 * kCache.value) << "no slot more than needed";
      EXPECT_EQ(slot.second, in_place ? 0 : slot.first);
      EXPECT_EQ(plan.operations_per_graph, 0);
    }
  }
}

TEST(BufferPlan, DataIsWarmWhereABatchCannotWalkTwiceTheCache) {
  for (const std::int64_t size : {4LL, 128LL, 64LL << 10}) {
    const BufferPlan plan = plan_buffers(of_size(size), kCache);
    EXPECT_FALSE(plan.cold) << size;
    EXPECT_EQ(plan.slots, 64) << size;
    EXPECT_LT(total_bytes(of_size(size), plan), kCache.value / 2) << size << ", of two ranks";
  }
  EXPECT_TRUE(plan_buffers(of_size(128 << 10), kCache).cold) << "480 slots: a batch walks them";
}

TEST(BufferPlan, ExactlyTwiceTheCacheIsEnough) {
  const BufferPlan plan = plan_buffers(of_size(1 << 20), kCache);
  EXPECT_EQ(plan.slots, 60);
  EXPECT_EQ(most_bytes(of_size(1 << 20), plan), 2 * kCache.value);
  EXPECT_TRUE(plan.cold);
}

TEST(BufferPlan, ALargeCaseHasOneSlotAndIsColdByItself) {
  const BufferPlan plan = plan_buffers(of_size(1 << 30), kCache);
  EXPECT_EQ(plan.slots, 1);
  EXPECT_EQ(most_bytes(of_size(1 << 30), plan), std::int64_t{2} << 30);
  EXPECT_EQ(total_bytes(of_size(1 << 30), plan), std::int64_t{4} << 30) << "on two ranks";
  EXPECT_TRUE(plan.cold);
}

TEST(BufferPlan, TheCallersRotationCounts) {
  Case c = of_size(1000);
  c.launch = LaunchMode::graph;
  const BufferPlan plan = plan_buffers(c, kCache, Rotation{3, 20});
  EXPECT_EQ(plan.slots, 3);
  EXPECT_EQ(plan.operations_per_graph, 20);
  EXPECT_FALSE(plan.cold);
}

TEST(BufferPlan, SlotsAreAlignedAndHoldTheCase) {
  EXPECT_EQ(slot_bytes(of_size(4), 0), (SlotBytes{128, 128}));
  EXPECT_EQ(slot_bytes(of_size(128), 0), (SlotBytes{128, 128}));
  EXPECT_EQ(slot_bytes(of_size(132), 0), (SlotBytes{256, 256}));
}

/// Returns where each slot begins, as a share of the pool.
std::vector<double> places_of(const Case& c, const BufferPlan& plan) {
  std::vector<double> places;
  const std::int64_t stride = slot_strides(c, plan, 0).first;
  for (std::int64_t slot = 0; slot < plan.slots; ++slot) {
    places.push_back(static_cast<double>(slot * stride) / (64 << 20));
  }
  return places;
}

TEST(BufferPlan, SmallOperationsWalkManyPlacesOfAPool) {
  for (const std::int64_t size : {4LL, 8LL, 1000LL, 64LL << 10, 512LL << 10}) {
    for (const LaunchMode launch : {LaunchMode::stream, LaunchMode::graph}) {
      Case c = of_size(size);
      c.launch = launch;
      const BufferPlan plan = plan_buffers(c, kCache);
      if (plan.cold) continue;  // the pools are large as they are
      EXPECT_EQ(plan.slots, 64) << size;
      EXPECT_NEAR(places_of(c, plan).back(), 63.0 / 64.0, 0.01) << size;
      EXPECT_EQ(slot_strides(c, plan, 0).first / 128 % 2, 1) << size << ": an odd number of lines";
      EXPECT_GE(slot_strides(c, plan, 0).second, slot_bytes(c, 0).second) << size;
      EXPECT_EQ(most_bytes(c, plan), 2 * plan.slots * slot_strides(c, plan, 0).first) << size;
    }
  }
}

TEST(BufferPlan, KernelsAndVariantsHaveTheSamePlaces) {
  for (const LaunchMode launch : {LaunchMode::stream, LaunchMode::graph}) {
    Case c = of_size(4096);
    c.launch = launch;
    Case kernel = c;
    kernel.kernel = true;
    EXPECT_EQ(places_of(c, plan_buffers(c, kCache)),
              places_of(kernel, plan_buffers(kernel, kCache)));
  }
}

TEST(BufferPlan, OtherSlotsLieSideBySide) {
  const auto lies_close = [](const Case& c, const BufferPlan& plan) {
    EXPECT_EQ(slot_strides(c, plan, 0), slot_bytes(c, 0)) << case_name(c);
  };
  Case c = of_size(256 << 10);
  lies_close(c, plan_buffers(c, kCache));
  c.launch = LaunchMode::graph;
  c.size = Bytes{1 << 20};
  c.in_place = true;
  lies_close(c, plan_buffers(c, kCache));
  c.size = Bytes{8};
  lies_close(c, plan_buffers(c, kCache, Rotation{16, 16}));
  c = parse_case_name("latency/8B/np2/pair=0-1");
  lies_close(c, plan_buffers(c, kCache));
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

Case of_operation(OperationKind operation, std::int64_t size, int ranks, int root = 0) {
  Case c = of_size(size);
  c.operation = operation;
  c.ranks = ranks;
  c.root = root;
  if (operation == OperationKind::ping_pong) c.pair = Pair{};
  return c;
}

RankBuffers sizes(std::int64_t input, std::int64_t output) {
  return {.input = Bytes{input}, .output = Bytes{output}};
}

TEST(RankBuffers, OutOfPlaceAreTwo) {
  for (int rank = 0; rank < 4; ++rank) {
    const auto of = [&](OperationKind operation) {
      return rank_buffers(of_operation(operation, 1024, 4, 2), rank);
    };
    for (const OperationKind whole :
         {OperationKind::all_reduce, OperationKind::broadcast, OperationKind::reduce,
          OperationKind::alltoall, OperationKind::send_recv, OperationKind::ping_pong}) {
      EXPECT_EQ(of(whole), sizes(1024, 1024)) << name_of(whole);
    }
    EXPECT_EQ(of(OperationKind::all_gather), sizes(256, 1024));
    EXPECT_EQ(of(OperationKind::reduce_scatter), sizes(1024, 256));
    EXPECT_EQ(of(OperationKind::gather), sizes(256, rank == 2 ? 1024 : 0));
    EXPECT_EQ(of(OperationKind::scatter), sizes(rank == 2 ? 1024 : 0, 256));
    EXPECT_EQ(of(OperationKind::all_to_one), sizes(1024, rank == 2 ? 4096 : 0));
    EXPECT_EQ(of(OperationKind::one_to_all), sizes(rank == 2 ? 1024 : 0, 1024));
    EXPECT_EQ(of(OperationKind::gpt2_step), sizes(0, 0)) << "a model instead";
  }
}

TEST(RankBuffers, InPlaceARanksPartIsThatOfItsNumber) {
  for (int rank = 0; rank < 4; ++rank) {
    const auto of = [&](OperationKind operation) {
      Case c = of_operation(operation, 1024, 4, 2);
      c.in_place = true;
      return rank_buffers(c, rank);
    };
    const Bytes part{rank * 256};
    for (const OperationKind whole :
         {OperationKind::all_reduce, OperationKind::broadcast, OperationKind::reduce,
          OperationKind::alltoall, OperationKind::send_recv}) {
      EXPECT_EQ(of(whole), sizes(1024, 1024)) << name_of(whole);
    }
    EXPECT_EQ(of(OperationKind::all_gather), (RankBuffers{Bytes{256}, Bytes{1024}, part, {}}));
    EXPECT_EQ(of(OperationKind::reduce_scatter), (RankBuffers{Bytes{1024}, Bytes{256}, {}, part}));
    const bool root = rank == 2;
    EXPECT_EQ(of(OperationKind::gather),
              root ? (RankBuffers{Bytes{256}, Bytes{1024}, part, {}}) : sizes(256, 0));
    EXPECT_EQ(of(OperationKind::scatter),
              root ? (RankBuffers{Bytes{1024}, Bytes{256}, {}, part}) : sizes(0, 256));
  }
}

TEST(SlotBytes, InPlaceAreOfOnePool) {
  for (const OperationKind operation : {OperationKind::alltoall, OperationKind::send_recv}) {
    Case c = of_operation(operation, 1000, 4);
    EXPECT_EQ(slot_bytes(c, 1), (SlotBytes{1024, 1024})) << name_of(operation);
    c.in_place = true;
    EXPECT_EQ(slot_bytes(c, 1), (SlotBytes{1024, 0})) << name_of(operation);
  }
}

TEST(SlotBytes, AreThoseOfTheRankButAlikeWhereSymmetric) {
  Case c = of_operation(OperationKind::gather, 4096, 4, 1);
  EXPECT_EQ(slot_bytes(c, 0), (SlotBytes{1024, 0}));
  EXPECT_EQ(slot_bytes(c, 1), (SlotBytes{1024, 4096}));
  c.buffers = Buffers::symmetric;
  EXPECT_EQ(slot_bytes(c, 0), slot_bytes(c, 1));
  c.in_place = true;
  EXPECT_EQ(slot_bytes(c, 0), (SlotBytes{4096, 0}));
  c.buffers = Buffers::registered;
  EXPECT_EQ(slot_bytes(c, 0), (SlotBytes{1024, 0}));
}

TEST(BufferPlan, CountsTheBytesOfEveryRank) {
  const Case gather = of_operation(OperationKind::gather, 1 << 30, 4);
  const BufferPlan plan = plan_buffers(gather, Bytes{0});
  EXPECT_EQ(plan.slots, 1);
  EXPECT_EQ(most_bytes(gather, plan), std::int64_t{5} << 28) << "a GiB and its own quarter";
  EXPECT_EQ(total_bytes(gather, plan), std::int64_t{8} << 28);
}

TEST(BufferPlan, CountsWhatRanksLeaveEachOtherForAKernel) {
  Case c = of_size(1 << 30);
  const BufferPlan plan = plan_buffers(c, Bytes{0});
  const std::int64_t without = most_bytes(c, plan);
  c.kernel = true;
  EXPECT_EQ(most_bytes(c, plan), without + (std::int64_t{2} << 30)) << "two sets of messages";
  Case copy = of_operation(OperationKind::copy_push, 1 << 30, 2);
  const std::int64_t of_copy = most_bytes(copy, plan);
  copy.kernel = true;
  EXPECT_EQ(most_bytes(copy, plan), of_copy) << "a copy goes to its place";
}

TEST(BufferPlan, ALaunchOfLatenciesStaysInOneSlot) {
  for (const OperationKind operation : {OperationKind::latency, OperationKind::load_latency}) {
    const BufferPlan plan = plan_buffers(of_operation(operation, 64 << 10, 2), kCache);
    EXPECT_EQ(plan.slots, 1) << name_of(operation);
    EXPECT_EQ(plan.operations_per_slot, 1024) << name_of(operation);
  }
}

TEST(BufferPlan, TheRankWithLeastWalksTwiceTheCacheToo) {
  const Case gather = of_operation(OperationKind::gather, 16 << 20, 8, 3);
  const BufferPlan plan = plan_buffers(gather, kCache);
  EXPECT_EQ(plan.slots, 60) << "of 2 MiB";
  EXPECT_TRUE(plan.cold);
  EXPECT_EQ(most_bytes(gather, plan), std::int64_t{60 * 18} << 20);
  const Case wide = of_operation(OperationKind::gather, 16 << 20, 16);
  EXPECT_EQ(plan_buffers(wide, kCache).slots, 8) << "of 17 MiB: more would need too much memory";
  EXPECT_FALSE(plan_buffers(wide, kCache).cold);
}

TEST(BufferPlan, APingAndItsPongUseOneSlot) {
  Case c = of_operation(OperationKind::ping_pong, 1 << 20, 2);
  EXPECT_EQ(plan_buffers(c, kCache).operations_per_slot, 2);
  EXPECT_EQ(plan_buffers(c, kCache).granularity(), 2);
  c.launch = LaunchMode::graph;
  for (const auto& [size, slots] :
       {std::pair{std::int64_t{8}, 32}, std::pair{std::int64_t{20} << 20, 1},
        std::pair{std::int64_t{1} << 30, 1}}) {
    c.size = Bytes{size};
    const BufferPlan plan = plan_buffers(c, kCache);
    EXPECT_EQ(plan.slots, slots) << size;
    EXPECT_EQ(plan.operations_per_graph, 2 * slots) << size;
    EXPECT_EQ(plan.granularity(), 2 * slots) << size;
  }
  EXPECT_EQ(plan_buffers(of_size(1 << 20), kCache).granularity(), 1);
}

}  // namespace
}  // namespace linkgain::test
