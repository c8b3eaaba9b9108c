#include "linkgain/cases/case_label.hpp"

#include <gtest/gtest.h>

#include "support/situations.hpp"

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
  Case other;
  other.reduction = Reduction::max;
  other.launch = LaunchMode::graph;
  EXPECT_EQ(curve_label(other), "all_reduce max graph");
  Case in_place;
  in_place.in_place = true;
  EXPECT_EQ(curve_label(in_place), "all_reduce in place");
  EXPECT_EQ(curve_label(parse_case_name("latency/8B/np2/pair=0-1")), "latency 0<->1");
  EXPECT_EQ(curve_label(parse_case_name("load_latency/64KiB/np2/pair=0-1")), "load_latency 0->1");
}

TEST(CaseLabel, HasTheSizeOfWhatHasOne) {
  EXPECT_EQ(case_label(parse_case_name("all_gather/float32/1GiB/np2")), "all_gather 1 GiB");
  EXPECT_EQ(case_label(parse_case_name("gpt2_step/bf16/gpt2/np2/zero2/batch=8")),
            "gpt2_step bf16 gpt2 zero2 batch=8");
  EXPECT_EQ(case_label(program_case({.name = "loss"})), "loss");
}

TEST(ReadableResult, IsATimeUnlessAProgramPrintedANumber) {
  EXPECT_EQ(readable_result(Case{}, Seconds{0.039}), "39.00 ms");
  EXPECT_EQ(readable_result(program_case({.name = "loss"}), Seconds{0.039}), "0.039");
  EXPECT_EQ(readable_result(program_case({}), Seconds{0.039}), "39.00 ms");
}

TEST(SpokenOperation, OfAProgramAndOfATrainingIsNoName) {
  EXPECT_EQ(spoken_operation(program_case({})), "program");
  EXPECT_EQ(spoken_operation(parse_case_name("gpt2_step/fp32/gpt2/np2")), "training");
}

TEST(CommandForLaunches, OfAProgramAsksForRounds) {
  EXPECT_EQ(command_for_launches(Case{}), "linkgain run --launches 8");
  EXPECT_EQ(command_for_launches(program_case({})), "linkgain exec --rounds 8");
}

TEST(ReadablePlan, HasWhatIsKnown) {
  EXPECT_EQ(readable_plan({"RING", "LL"}), "RING LL");
  EXPECT_EQ(readable_plan({"", "SIMPLE"}), "SIMPLE");
  EXPECT_EQ(readable_plan({"NVLS", ""}), "NVLS");
  EXPECT_EQ(readable_plan({}), "");
}

TEST(TrainingSentence, NamesModelStrategyAndBuckets) {
  Situations sentences;
  for (const char* name :
       {"gpt2_step/fp32/gpt2/np2", "gpt2_step/fp64/tiny/np2/zero2", "gpt2_step/bf16/gpt2/np4/zero3",
        "gpt2_step/fp32/gpt2/np2/none", "gpt2_step/fp32/gpt2/np2/buckets=legacy",
        "gpt2_step/tf32/gpt2/np8/bucket-mb=50/batch=8/sequence=512/dropout=0",
        "gpt2_step/fp32/gpt2/np2/buckets=legacy/bucket-mb=5"}) {
    sentences.add(name, training_sentence(parse_case_name(name)));
  }
  sentences.expect_golden("training_sentences.txt");
}

}  // namespace
}  // namespace linkgain::test
