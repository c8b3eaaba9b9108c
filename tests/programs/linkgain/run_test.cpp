#include "bench/programs/linkgain/run.cpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "parsing.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RunOptions run_with(const std::vector<std::string>& arguments) {
  return options_of<RunOptions>({"run"}, arguments);
}

TEST(CommandLine, OfRunAloneAsksForNothing) {
  const RunOptions options = run_with({});
  EXPECT_THAT(options.argv, ElementsAre("linkgain", "run"));
  EXPECT_FALSE(options.backend);
  EXPECT_EQ(options.profile, Profile::standard);
  EXPECT_THAT(options.operations, IsEmpty());
  EXPECT_THAT(options.sizes, IsEmpty());
  EXPECT_THAT(options.variants, IsEmpty());
  EXPECT_FALSE(options.ranks || options.budget || options.launches || options.schedule ||
               options.out || options.hostfile || options.pair || options.in_place);
  EXPECT_FALSE(options.json || options.quiet || options.require_healthy);
  EXPECT_TRUE(options.color);
  EXPECT_FALSE(options.ci_width);
  EXPECT_EQ(options.timeout, Seconds{60});
  EXPECT_EQ(options.launcher, "mpirun");
}

TEST(CommandLine, SelectsWhatIsMeasured) {
  const RunOptions options = run_with({"--only",        "send_recv,all_reduce",
                                       "--sizes",       "8:1K:x4",
                                       "--type",        "int8,float16",
                                       "--reduction",   "max",
                                       "--launch-mode", "stream,auto,graph",
                                       "--pattern",     "one-way",
                                       "--pair",        "1-0",
                                       "--root",        "0,2",
                                       "--buffers",     "plain,symmetric",
                                       "--in-place",    "--profile",
                                       "full"});
  EXPECT_THAT(options.operations, ElementsAre(OperationKind::send_recv, OperationKind::all_reduce));
  EXPECT_EQ(options.sizes.size(), 5U);
  EXPECT_THAT(options.types, ElementsAre(DataType::int8, DataType::float16));
  EXPECT_THAT(options.reductions, ElementsAre(Reduction::max));
  EXPECT_THAT(options.launch_modes,
              ElementsAre(LaunchChoice::stream, LaunchChoice::automatic, LaunchChoice::graph));
  EXPECT_THAT(options.patterns, ElementsAre(Pattern::one_way));
  EXPECT_EQ(options.pair, (Pair{1, 0, false}));
  EXPECT_THAT(options.roots, ElementsAre(0, 2));
  EXPECT_THAT(options.buffers, ElementsAre(Buffers::plain, Buffers::symmetric));
  EXPECT_TRUE(options.in_place);
  EXPECT_EQ(options.profile, Profile::full);
}

TEST(CommandLine, SaysHowJobsAreRun) {
  const RunOptions options = run_with({"--backend",  "mpi",
                                       "--gpus",     "2,0",
                                       "--np",       "4",
                                       "--variant",  "p2p",
                                       "--variant",  "two:NCCL_ALGO=Ring,Tree,NCCL_PROTO=LL",
                                       "--launches", "3",
                                       "--schedule", "sequential",
                                       "--launcher", "/opt/mpirun",
                                       "--hostfile", "hosts",
                                       "--timeout",  "5.5"});
  EXPECT_EQ(options.backend, BackendKind::mpi);
  EXPECT_THAT(options.gpus, ElementsAre(2, 0));
  EXPECT_EQ(options.ranks, 4);
  EXPECT_THAT(options.variants, ElementsAre("p2p", "two:NCCL_ALGO=Ring,Tree,NCCL_PROTO=LL"));
  EXPECT_EQ(options.launches, 3);
  EXPECT_EQ(options.schedule, Schedule::sequential);
  EXPECT_EQ(options.launcher, "/opt/mpirun");
  EXPECT_EQ(options.hostfile, "hosts");
  EXPECT_EQ(options.timeout, Seconds{5.5});
  EXPECT_EQ(run_with({"--schedule", "paired"}).schedule, Schedule::paired);
}

TEST(CommandLine, SaysWhatComesOut) {
  const RunOptions options = run_with({"--budget", "90.5", "--ci-width", "0.02", "--out", "here",
                                       "--json", "--quiet", "--no-color", "--require-healthy"});
  EXPECT_EQ(options.budget, Seconds{90.5});
  EXPECT_EQ(options.ci_width, 0.02);
  EXPECT_EQ(options.out, "here");
  EXPECT_TRUE(options.json && options.quiet && options.require_healthy);
  EXPECT_FALSE(options.color);
}

TEST(CommandLine, TakesAProfileFromAFile) {
  const std::string file = testing::TempDir() + "profile-" + std::to_string(::getpid()) + ".toml";
  std::ofstream(file) << "profile = \"node\"\nbudget = \"5m\"\nci-width = 5%\nquiet = true\n"
                         "type = \"int8,int32\"\nlaunches = 3\nbatch = 2\n";
  const RunOptions options = run_with({"--profile", file, "--launches", "4"});
  EXPECT_EQ(options.profile, Profile::node);
  EXPECT_EQ(options.profile_file, file);
  EXPECT_EQ(options.budget, Seconds{300});
  EXPECT_EQ(options.ci_width, 0.05);
  EXPECT_TRUE(options.quiet);
  EXPECT_THAT(options.types, ElementsAre(DataType::int8, DataType::int32));
  EXPECT_EQ(options.launches, 4);
  EXPECT_EQ(options.training.samples, 2);
  std::ofstream(file) << "budget = \"8d\"\n";
  EXPECT_THAT(refusal({"run", "--profile", file}), HasSubstr("'8d'"));
  std::filesystem::remove(file);
}

TEST(CommandLine, KeepsZeroAndBelowForThePlanToRefuse) {
  EXPECT_EQ(run_with({"--np", "-1"}).ranks, -1);
  EXPECT_EQ(run_with({"--launches", "0"}).launches, 0);
}

/// A script's `--out="$folder" --dry-run` starts nothing where the variable is empty.
TEST(CommandLine, TakesNoOptionForTheValueOfAnother) {
  for (const std::string option : {"--out", "--sizes", "--label"}) {
    EXPECT_THAT(refusal({"run", option + "=", "--dry-run"}), HasSubstr("empty")) << option;
  }
  EXPECT_NE(refusal({"run", "--quiet=", "--dry-run"}), "accepted");
}

/// In words of CLI11's, which differ by its version.
TEST(CommandLine, RefusesAnOptionWithoutItsValueOrGivenTwice) {
  EXPECT_THAT(refusal({"run", "--out"}), HasSubstr("--out"));
  EXPECT_THAT(refusal({"run", "--np", "2", "--np", "3"}), HasSubstr("--np"));
}

}  // namespace
}  // namespace linkgain::test
