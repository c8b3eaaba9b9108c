#include "programs.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Refusal {
  std::string label;
  std::vector<std::string> arguments;
  std::string text;  ///< in the one line that tells it
  int status = 2;
  int ranks = 2;
};

void PrintTo(const Refusal& refusal, std::ostream* stream) { *stream << refusal.label; }

class BenchRefuses : public MpiTest, public testing::WithParamInterface<Refusal> {};

TEST_P(BenchRefuses, OnceForAllRanks) {
  const Refusal& refusal = GetParam();
  const Outcome outcome = run_program(bench(refusal.ranks, refusal.arguments));
  EXPECT_EQ(outcome.status, refusal.status) << outcome.error;
  EXPECT_THAT(outcome.output, IsEmpty());
  EXPECT_THAT(own_lines(outcome.error), ElementsAre(HasSubstr(refusal.text))) << outcome.error;
}

INSTANTIATE_TEST_SUITE_P(
    Input, BenchRefuses,
    testing::Values(
        Refusal{"float16", {"--type", "float16"}, "the mpi backend has no type float16"},
        Refusal{"avg", {"--reduction", "avg"}, "the mpi backend has no reduction avg"},
        Refusal{"graph", {"--launch", "graph"}, "the mpi backend has no launch mode graph"},
        Refusal{"graph_of_a_copy",
                {"--only", "copy_push", "--launch", "graph"},
                "--launch goes with all_reduce, all_gather"},
        Refusal{"one_rank", {}, "a link has two ends", 2, 1},
        Refusal{"unknown_option_of_four", {"--bogus"}, "unknown option '--bogus'", 2, 4},
        Refusal{"benchmark_option", {"--benchmark_bogus=1"}, "'--benchmark_bogus=1' is no option"},
        Refusal{"sample", {"--sample", "0"}, "--sample"},
        Refusal{"part_of_a_batch", {"--batch", "1.5"}, "--batch 1.5 is no whole number"},
        Refusal{"no_steps", {"--only", "gpt2_step", "--steps", "0"}, "--steps 0 is outside 1 to"},
        Refusal{"no_tokens",
                {"--only", "gpt2_step", "--tokens", "/nowhere/tokens.bin"},
                "cannot read the token file /nowhere/tokens.bin"},
        Refusal{"load", {"--load", "1e9"}, "--load"},
        Refusal{"bad_file", {"--benchmark_out=/nowhere/x"}, "--benchmark_out=/nowhere/x"}),
    [](const auto& test) { return test.param.label; });

class BenchFault : public MpiTest {};

TEST_F(BenchFault, ThatIsNoneIsRefused) {
  ProgramRequest request = bench(2, {"--sizes", "64"});
  request.environment["LINKGAIN_TEST_FAULT"] = "melt@1";
  const Outcome outcome = run_program(request);
  EXPECT_EQ(outcome.status, 2) << outcome.error;
  EXPECT_THAT(own_lines(outcome.error),
              ElementsAre(AllOf(HasSubstr("LINKGAIN_TEST_FAULT"), HasSubstr("'melt'"))));
}

TEST_F(BenchFault, OfADyingRankEndsTheOthers) {
  ProgramRequest request = bench(4, {"--sizes", "64", "--benchmark_min_time=5"});
  request.environment["LINKGAIN_TEST_FAULT"] = "die@2:3";
  Program program(request);
  const Outcome outcome = program.finish(30.0);
  EXPECT_NE(outcome.status, 0);
  EXPECT_TRUE(comes_true([&] { return program.processes().empty(); }, 5.0));
}

TEST(BenchWithoutGpus, RefusesTheNcclBackendOnce) {
  if (!is_on_path("mpirun")) GTEST_SKIP() << "no mpirun on PATH";
  ProgramRequest request = bench(2, {"--backend", "nccl", "--sizes", "64"});
  std::erase(request.arguments, "mpi");
  request.arguments.erase(
      std::find(request.arguments.begin(), request.arguments.end(), "--backend"));
  request.environment["CUDA_VISIBLE_DEVICES"] = "";
  const Outcome outcome = run_program(request);
  EXPECT_EQ(outcome.status, 3) << outcome.error;
  EXPECT_EQ(own_lines(outcome.error).size(), 1U) << outcome.error;
}

}  // namespace
}  // namespace linkgain::test
