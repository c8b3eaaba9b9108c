#include <gtest/gtest.h>

#include <cstdint>

#include "linkgain/cases/case.hpp"

/// Roots, kinds of buffers, kernels, ping_pong and sizes that are split over the ranks.
namespace linkgain::test {
namespace {

Case of(OperationKind operation, std::int64_t size, int ranks = 2) {
  Case c;
  c.operation = operation;
  c.size = Bytes{size};
  c.ranks = ranks;
  return c;
}

TEST(CaseForms, StandInTheNameInTheOneOrder) {
  Case c = of(OperationKind::broadcast, 1024, 4);
  EXPECT_EQ(case_name(c), "broadcast/float32/1KiB/np4");
  c.root = 3;
  EXPECT_EQ(case_name(c), "broadcast/float32/1KiB/np4/root=3");
  c.buffers = Buffers::registered;
  c.launch = LaunchMode::graph;
  c.in_place = true;
  EXPECT_EQ(case_name(c), "broadcast/float32/1KiB/np4/inplace/graph/registered/root=3");
  EXPECT_EQ(curve_name(c), "broadcast/float32/np4/inplace/graph/registered/root=3");
  Case kernel = of(OperationKind::all_reduce, 1024);
  kernel.kernel = true;
  kernel.launch = LaunchMode::graph;
  EXPECT_EQ(case_name(kernel), "all_reduce/float32/sum/1KiB/np2/graph/kernel");
  Case ping = of(OperationKind::ping_pong, 8);
  ping.pair = Pair{1, 0, false};
  ping.buffers = Buffers::symmetric;
  EXPECT_EQ(case_name(ping), "ping_pong/float32/8B/np2/symmetric/pair=1-0");
  ping.buffers = Buffers::allocated;
  EXPECT_EQ(case_name(ping), "ping_pong/float32/8B/np2/allocated/pair=1-0");
}

TEST(CaseForms, AreReadBack) {
  for (const OperationKind operation : kOperations) {
    if (is_training(operation)) continue;  // training_parameters_test has their names
    for (const Buffers buffers : kBuffers) {
      for (const int root : {0, 1, 3}) {
        for (const bool kernel : {false, true}) {
          Case c = of(operation, 4096, 4);
          if (!works_on_memory(operation)) c.buffers = buffers;
          if (has_root(operation)) c.root = root;
          c.kernel = kernel && has_kernel(c);
          if (needs_pair(operation)) c.pair = Pair{3, 1, false};
          EXPECT_EQ(parse_case_name(case_name(c)), c) << case_name(c);
        }
      }
    }
  }
}

TEST(CaseForms, AreAccepted) {
  for (const char* name :
       {"ping_pong/float32/8B/np2/pair=1-0", "all_gather/float32/24B/np3",
        "broadcast/float32/16B/np3", "alltoall/float32/1KiB/np2/inplace" /* in older records */}) {
    EXPECT_NO_THROW(parse_case_name(name)) << name;
  }
}

TEST(CaseForms, ASplitSizeHasWholeElementsForEveryRank) {
  EXPECT_EQ(size_granule(of(OperationKind::gather, 64, 8)), 32);
  EXPECT_EQ(size_granule(of(OperationKind::reduce, 64, 8)), 4);
  EXPECT_EQ(of(OperationKind::gather, 64, 8).elements_per_rank(), 2);
}

TEST(BuffersNames, AreReadBack) {
  for (const Buffers buffers : kBuffers) EXPECT_EQ(parse_buffers(name_of(buffers)), buffers);
}

}  // namespace
}  // namespace linkgain::test
