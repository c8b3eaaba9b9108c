#include "linkgain/telemetry/tuning_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

namespace linkgain {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kBegin = "vm:7:7 [0] NCCL INFO ";

/// One line of rank 0.
std::string line(const std::string& message) { return kBegin + message + "\n"; }

Case all_reduce(std::int64_t size) {
  Case c;
  c.size = Bytes{size};
  return c;
}

Case send_recv(std::int64_t size) {
  Case c = all_reduce(size);
  c.operation = OperationKind::send_recv;
  return c;
}

TunedCall call(OperationKind operation, std::int64_t size, const std::string& algorithm,
               const std::string& protocol) {
  return {.operation = operation,
          .size = Bytes{size},
          .plan = {.algorithm = algorithm, .protocol = protocol}};
}

std::string recorded_log() {
  std::ifstream stream(TEST_DATA "/nccl-tuning-p2p.txt", std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(TuningLog, ReadsEveryCallOfARecordedLog) {
  const std::vector<TunedCall> calls = parse_tuning_lines(recorded_log());
  ASSERT_THAT(calls, SizeIs(9 * 4));  // nine sizes, twice out of place and twice in place
  EXPECT_EQ(calls.front(), call(OperationKind::all_reduce, 8, "RING", "LL"));
  EXPECT_EQ(calls.back(), call(OperationKind::all_reduce, 134217728, "RING", "SIMPLE"));
}

TEST(TuningLog, FindsThePlanOfACaseInARecordedLog) {
  const std::vector<TunedCall> calls = parse_tuning_lines(recorded_log());
  EXPECT_EQ(plan_of(all_reduce(262144), calls), (TransferPlan{"RING", "LL"}));
  EXPECT_EQ(plan_of(all_reduce(2097152), calls), (TransferPlan{"RING", "SIMPLE"}));
  EXPECT_EQ(plan_of(all_reduce(1048576), calls), TransferPlan{});
}

TEST(TuningLog, ReadsALineBehindOtherOutput) {
  const std::vector<TunedCall> calls = parse_tuning_lines(
      "   245.32    0.00    N/Avm:1653:1653 [0] NCCL INFO AllReduce: 8 Bytes -> "
      "Algo RING proto LL channel{Lo..Hi}={0..0}\n");
  EXPECT_THAT(calls, ElementsAre(call(OperationKind::all_reduce, 8, "RING", "LL")));
}

class NoCall : public ::testing::TestWithParam<const char*> {};

TEST_P(NoCall, GivesNothing) { EXPECT_THAT(parse_tuning_lines(line(GetParam())), IsEmpty()); }

INSTANTIATE_TEST_SUITE_P(
    Messages, NoCall,
    ::testing::Values("Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",
                      "  Algorithm   |          Tree            |      Ring       |",
                      "AlltoAll: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}",
                      "AllGather [Copy Engine]: 8 Bytes -> cudaMemcpy",
                      "AllReduce: Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}",
                      "AllReduce: -8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}",
                      "AllReduce: 99999999999999999999 Bytes -> Algo RING proto LL channel",
                      "AllReduce: 8 Bytes -> Algo Unknown proto LL channel{Lo..Hi}={0..0}",
                      "AllReduce: 8 Bytes -> Algo RING proto Unknown channel{Lo..Hi}={0..0}",
                      "AllReduce: 8 Bytes -> Algo 1 proto 2 time 5.3",
                      "8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}",
                      "AllReduce: 8 Bytes -> Algo RING", "AllReduce: 8 Bytes -> Algo RING proto LL",
                      "AllReduce: 8 Bytes -> Algo RING proto LLvm:7:7 [1] and more",
                      "AllReduce [Symmetric]: 8 Bytes -> Kernel AllReduce_AGxLL_R nchannels 1"));

TEST(TuningLog, SkipsALineThatIsStillBeingWritten) {
  EXPECT_THAT(
      parse_tuning_lines("vm:7:7 [0] NCCL INFO AllReduce: 8 Bytes -> Algo RING proto LL ch"),
      IsEmpty());
  EXPECT_THAT(parse_tuning_lines("AllReduce: 8 Bytes -> Algo RING proto LL channel\n"), IsEmpty());
  EXPECT_THAT(parse_tuning_lines(""), IsEmpty());
}

TEST(TuningLog, WritesNamesInCapitalsAndKeepsUnknownOnes) {
  EXPECT_THAT(parse_tuning_lines(line("AllReduce: 8 Bytes -> Algo Ring proto Simple channel") +
                                 line("AllReduce: 8 Bytes -> Algo NEW_ONE proto LL256 channel")),
              ElementsAre(call(OperationKind::all_reduce, 8, "RING", "SIMPLE"),
                          call(OperationKind::all_reduce, 8, "NEW_ONE", "LL256")));
}

TEST(TuningLog, TheLastCallOfTheSizeCounts) {
  const std::vector<TunedCall> calls{call(OperationKind::all_reduce, 8, "RING", "LL"),
                                     call(OperationKind::all_reduce, 16, "TREE", "LL128"),
                                     call(OperationKind::all_reduce, 8, "NVLS", "SIMPLE"),
                                     call(OperationKind::send_recv, 16, "RING", "LL")};
  EXPECT_EQ(plan_of(all_reduce(8), calls), (TransferPlan{"NVLS", "SIMPLE"}));
  EXPECT_EQ(plan_of(all_reduce(16), calls), (TransferPlan{"TREE", "LL128"}));
}

Case of(OperationKind operation, std::int64_t size, int ranks) {
  Case c = all_reduce(size);
  c.operation = operation;
  c.ranks = ranks;
  return c;
}

TEST(TuningLog, ReadsEveryCollectivesName) {
  const std::string rest = ": 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}";
  EXPECT_THAT(parse_tuning_lines(line("AllReduce" + rest) + line("AllGather" + rest) +
                                 line("ReduceScatter" + rest) + line("Broadcast" + rest) +
                                 line("Reduce" + rest)),
              ElementsAre(call(OperationKind::all_reduce, 8, "RING", "LL"),
                          call(OperationKind::all_gather, 8, "RING", "LL"),
                          call(OperationKind::reduce_scatter, 8, "RING", "LL"),
                          call(OperationKind::broadcast, 8, "RING", "LL"),
                          call(OperationKind::reduce, 8, "RING", "LL")));
}

TEST(TuningLog, TheSizeIsThatOfTheCount) {
  // One rank's part of all_gather and reduce_scatter, the whole of the others.
  for (const auto& [name, operation, size] :
       {std::tuple{"AllGather", OperationKind::all_gather, 4096},
        std::tuple{"ReduceScatter", OperationKind::reduce_scatter, 4096},
        std::tuple{"Broadcast", OperationKind::broadcast, 1024},
        std::tuple{"Reduce", OperationKind::reduce, 1024}}) {
    const auto calls = parse_tuning_lines(
        line(std::string(name) + ": 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}"));
    EXPECT_EQ(plan_of(of(operation, size, 4), calls), (TransferPlan{"RING", "LL"})) << name;
    EXPECT_EQ(plan_of(of(operation, 5 * 4096, 4), calls), TransferPlan{}) << name;
  }
}

TEST(TuningLog, WithoutACallTheDefaultPlanHolds) {
  EXPECT_EQ(plan_of(all_reduce(kJudgedSize.value), {}), TransferPlan{});
  EXPECT_EQ(plan_of(send_recv(kJudgedSize.value), {}), (TransferPlan{"", "SIMPLE"}));
  EXPECT_EQ(plan_of(send_recv(8), {}), TransferPlan{});
}

}  // namespace
}  // namespace linkgain
