#include <sys/stat.h>

#include "programs.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A wrong command line of linkgain-bench, and how many ranks are given it.
struct Wrong {
  Words arguments;
  int ranks = 2;
};

class BenchRefuses : public MpiTest {};

TEST_F(BenchRefuses, OnceForAllRanks) {
  const std::vector<Wrong> all{
      {{"--type", "float16"}},
      {{"--reduction", "avg"}},
      {{"--launch-mode", "graph"}},
      {{"--only", "copy_push", "--launch-mode", "graph"}},
      {{}, 1},
      {{"--bogus"}, 4},
      {{"--size=8"}},
      {{"-q"}},
      {{"-x"}},
      {{"-b"}},
      {{"--benchmark_bogus=1"}},

      {{"--batch", "1.5"}},
      {{"--np="}},
      {{"--pair="}},
      {{"--tokens="}},
      {{"--only", "gpt2_step", "--steps", "0"}},
      {{"--only", "gpt2_step", "--tokens", "/nowhere/tokens.bin"}},
      {{"--tokens", "/nowhere/t", "--benchmark_out=/nowhere/./t"}},

      {{"--benchmark_repetitions=2", "--benchmark_enable_random_interleaving=true"}},
      {{"--benchmark_min_time=nan"}},
      {{"--benchmark_out=/nowhere/x"}},
      {{"--benchmark_out=pipe"}},
      {{"--buffers", "registered"}},
      {{"--only", "gather", "--buffers", "symmetric"}},
      {{"--only", "all_gather", "--root", "1"}},
      {{"--only", "gather", "--root", "2"}},
      {{"--only", "gather", "--sizes", "4"}}};
  const ScratchFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  Situations refusals;
  for (const Wrong& wrong : all) {
    ProgramRequest request = bench(wrong.ranks, wrong.arguments);
    request.directory = folder.path();
    const Outcome outcome = run_program(request);
    const std::string command = line_of("linkgain-bench", wrong.arguments);
    EXPECT_EQ(outcome.status, 2) << command << outcome.error;
    EXPECT_THAT(outcome.output, IsEmpty()) << command;
    const Words lines = own_lines(outcome.error);
    ASSERT_THAT(lines, SizeIs(1)) << command << outcome.error;
    refusals.add(command + " of " + std::to_string(wrong.ranks), lines[0]);
  }
  expect_golden(refusals.text(), "bench_refusals.txt");
}

/// Advises the flag of nccl-tests to whoever uses these.
TEST_F(BenchRefuses, OneRankAndNamesTheOptionOfTheCallersWords) {
  EXPECT_THAT(run_program(bench(1, {"-g", "1", "-b", "8"})).error, HasSubstr("-g 2 "));
  EXPECT_THAT(run_program(bench(1, {"--only", "all_reduce"})).error, HasSubstr("--np 2 "));
}

/// Leaves the words to CLI11: they differ by its version.
TEST_F(BenchRefuses, ValuesOutOfRange) {
  for (const auto& [option, value] : {std::pair{"--sample", "0"}, {"--load", "1e9"}}) {
    const Outcome outcome = run_program(bench(2, {option, value}));
    EXPECT_EQ(outcome.status, 2) << outcome.error;
    EXPECT_THAT(own_lines(outcome.error), ElementsAre(HasSubstr(option))) << outcome.error;
  }
}

class BenchFault : public MpiTest {};

TEST_F(BenchFault, ThatIsNoneIsRefused) {
  ProgramRequest request = bench(2, {"--sizes", "64"});
  request.environment["LINKGAIN_TEST_FAULT"] = "melt@1";
  const Outcome outcome = with_status(2, run_program(request));
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

/// Keeps CPUs' figures from passing for GPUs'.
TEST(BenchWithoutGpus, MeasuresNothingUnlessAskedForMpi) {
  if (!is_on_path("mpirun")) GTEST_SKIP() << "no mpirun on PATH";
  const Words mpirun{"mpirun",      "-np", "2", "--oversubscribe", "--allow-run-as-root",
                     LINKGAIN_BENCH};
  for (const Words& words :
       {Words{LINKGAIN_BENCH, "-g", "2"}, Words{LINKGAIN_BENCH, "--np", "auto"},
        Words{LINKGAIN_BENCH, "--np", "2", "-b", "8", "-e", "8"}, Words{LINKGAIN, "bench"},
        joined(mpirun, {"-b", "8", "-e", "8"}), joined(mpirun, {"--sizes", "64"}),
        joined(mpirun, {"--backend", "nccl", "--sizes", "64"})}) {
    const Outcome outcome = with_status(
        3, run_program({.arguments = words, .environment = {{"CUDA_VISIBLE_DEVICES", ""}}}));
    EXPECT_EQ(own_lines(outcome.error).size(), 1U) << outcome.error;
    EXPECT_THAT(outcome.error,
                AllOf(testing::AnyOf(HasSubstr("needs two GPUs: "), HasSubstr("no nccl backend: ")),
                      HasSubstr("--backend mpi")));
    EXPECT_EQ(outcome.output, "");
  }
}

}  // namespace
}  // namespace linkgain::test
