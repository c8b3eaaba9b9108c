#include "linkgain/cases/case_label.hpp"

#include <gtest/gtest.h>

namespace linkgain::test {
namespace {

TEST(CurveLabel, NamesWhatIsNotTheDefault) {
  Case definition;
  EXPECT_EQ(curve_label(definition), "all_reduce");
  EXPECT_EQ(spoken_operation(definition), "all-reduce");
  definition.operation = OperationKind::send_recv;
  definition.type = DataType::float16;
  definition.pair = Pair{0, 1, false};
  EXPECT_EQ(curve_label(definition), "send_recv float16 0->1");
  definition.pair->both = true;
  EXPECT_EQ(curve_label(definition), "send_recv float16 0<->1");
  Case ping;
  ping.operation = OperationKind::ping_pong;
  ping.pair = Pair{1, 0, false};
  EXPECT_EQ(curve_label(ping), "ping_pong 1<->0");
  Case gather;
  gather.operation = OperationKind::gather;
  gather.buffers = Buffers::symmetric;
  gather.root = 2;
  EXPECT_EQ(curve_label(gather), "gather symmetric root 2");
  Case kernel;
  kernel.kernel = true;
  EXPECT_EQ(curve_label(kernel), "all_reduce kernel");
}

}  // namespace
}  // namespace linkgain::test
