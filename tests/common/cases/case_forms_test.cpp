#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "linkgain/base/errors.hpp"
#include "linkgain/cases/case.hpp"

/// Roots, kinds of buffers, kernels, ping_pong and sizes that are split over the ranks.
namespace linkgain {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(std::string_view name) {
  try {
    parse_case_name(name);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

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

TEST(CaseForms, OtherOrdersAndRepetitionsAreRefused) {
  const std::string reduce = "reduce/float32/sum/1KiB/np2";
  EXPECT_THAT(refusal(reduce + "/root=1/registered"),
              HasSubstr("did you mean reduce/float32/sum/1KiB/np2/registered/root=1?"));
  EXPECT_THAT(refusal(reduce + "/registered/registered"), HasSubstr("was given before"));
  EXPECT_THAT(refusal(reduce + "/registered/symmetric"), HasSubstr("registered already"));
  EXPECT_THAT(refusal(reduce + "/root=1/root=1"), HasSubstr("root was given before"));
  EXPECT_THAT(refusal(reduce + "/root=0"), HasSubstr("'root=0': rank 0 is meant without it"));
  EXPECT_THAT(refusal(reduce + "/root=01"), HasSubstr("did you mean " + reduce + "/root=1?"));
  EXPECT_THAT(refusal(reduce + "/root=-1"), HasSubstr("write a rank as root=1"));
  EXPECT_THAT(refusal(reduce + "/plain"), HasSubstr("unknown field 'plain'"));
  EXPECT_THAT(refusal("all_reduce/float32/sum/1KiB/np2/kernel/kernel"),
              HasSubstr("kernel was given before"));
}

TEST(CaseForms, AreRefusedWhereTheOperationLacksThem) {
  EXPECT_THAT(refusal("all_reduce/float32/sum/1KiB/np2/root=1"),
              HasSubstr("all_reduce has no root; broadcast, reduce, gather, scatter, "));
  EXPECT_THAT(refusal("gather/float32/1KiB/np2/root=2"), HasSubstr("ranks of np2 are 0 to 1"));
  for (const char* name :
       {"reduce/float32/sum/1KiB/np2/kernel", "all_reduce/int32/sum/1KiB/np2/kernel",
        "all_reduce/float32/max/1KiB/np2/kernel", "all_reduce/float32/sum/1KiB/np9/kernel",
        "all_reduce/float32/sum/1KiB/np2/symmetric/kernel"}) {
    EXPECT_THAT(refusal(name), HasSubstr("field 'kernel'")) << name;
  }
  EXPECT_EQ(refusal("alltoall/float32/1KiB/np2/inplace"), "accepted") << "in older records";
  EXPECT_THAT(refusal("ping_pong/float32/8B/np2/inplace/pair=0-1"),
              HasSubstr("cannot work in place"));
  EXPECT_THAT(refusal("broadcast/float32/1KiB/np2/pair=0-1"),
              HasSubstr("only send_recv, ping_pong, copies and latencies have pairs"));
  EXPECT_THAT(refusal("broadcast/float32/sum/1KiB/np2"), HasSubstr("broadcast has no reduction"));
}

TEST(CaseForms, PingPongNeedsItsTwoRanksAndNoMore) {
  EXPECT_THAT(refusal("ping_pong/float32/8B/np2"), HasSubstr("name them as pair=0-1"));
  EXPECT_THAT(refusal("ping_pong/float32/8B/np2/pair=0-1/both"),
              HasSubstr("no form with both directions at once"));
  EXPECT_THAT(refusal("ping_pong/float32/8B/np2/pair=0-2"), HasSubstr("ranks of np2"));
  EXPECT_EQ(refusal("ping_pong/float32/8B/np2/pair=1-0"), "accepted");
}

TEST(CaseForms, ASplitSizeHasWholeElementsForEveryRank) {
  EXPECT_EQ(refusal("all_gather/float32/24B/np3"), "accepted");
  EXPECT_THAT(refusal("all_gather/float32/16B/np3"),
              HasSubstr("size 16B: no multiple of the 12 bytes of one float32 for each of "
                        "all_gather's 3 ranks, the nearest is 12B"));
  EXPECT_THAT(refusal("scatter/float64/4KiB/np3"), HasSubstr("the nearest is 4104B"));
  EXPECT_THAT(refusal("alltoall/int8/1B/np4"), HasSubstr("the nearest is 4B"));
  EXPECT_THAT(refusal("reduce_scatter/float64/sum/9223372036854775807B/np8"),
              HasSubstr("the nearest is 9223372036854775744B"));
  EXPECT_EQ(refusal("broadcast/float32/16B/np3"), "accepted") << "not split";
  EXPECT_EQ(size_granule(of(OperationKind::gather, 64, 8)), 32);
  EXPECT_EQ(size_granule(of(OperationKind::reduce, 64, 8)), 4);
  EXPECT_EQ(of(OperationKind::gather, 64, 8).elements_per_rank(), 2);
}

TEST(BuffersNames, AreReadBackAndSuggested) {
  for (const Buffers buffers : kBuffers) EXPECT_EQ(parse_buffers(name_of(buffers)), buffers);
  try {
    parse_buffers("symetric");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("kind of buffers 'symetric'"),
                                    HasSubstr("did you mean symmetric?")));
  }
}

}  // namespace
}  // namespace linkgain
