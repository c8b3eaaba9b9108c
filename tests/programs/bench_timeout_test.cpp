#include <fmt/format.h>
#include <sys/stat.h>

#include <regex>

#include "harmed_run.hpp"
#include "programs.hpp"
#include "support/golden.hpp"

/// What linkgain-bench does by itself where its ranks wait in vain.
namespace linkgain::test {
namespace {

class BenchTimeout : public MpiTest {
 protected:
  /// Returns what `rank` says before all ranks leave with status 6, without the seconds that it
  /// took. Asks the ranks alone: Open MPI 4.1's mpirun, which tells of their status, now and then
  /// hangs or crashes at its own end where a rank left without MPI_Finalize (one of 20 on a busy
  /// machine).
  static std::string words_at_the_end(const Words& words, const std::string& fault, double seconds,
                                      int rank = 0) {
    ProgramRequest request = bench(2, words);
    if (!fault.empty()) request.environment["LINKGAIN_TEST_FAULT"] = fault;
    const Program program(request);
    const auto told = [&] { return program.error().find("Exit code:    6") != std::string::npos; };
    const auto gone = [&] { return program.processes_named("linkgain-bench").empty(); };
    EXPECT_TRUE(comes_true(told, seconds)) << fault << program.error();
    EXPECT_TRUE(comes_true(gone, 2.0)) << fault;
    std::string text;
    for (const std::string& line : lines_of(program.error())) {
      if (!line.starts_with(fmt::format("linkgain-bench: rank {}: ", rank))) continue;
      text += std::regex_replace(line, std::regex("[0-9]+ s were"), "N s were") + "\n";
    }
    return text;
  }
};

TEST_F(BenchTimeout, SaysWhoWaitsWhereAndForWhom) {
  std::string said;
  for (const char* fault : {"hang@1:1", "stop@1:1"}) {
    said +=
        words_at_the_end({"--only", "all_reduce", "--sizes", "1K", "--timeout", "1"}, fault, 6.0);
  }
  said += words_at_the_end({"-b", "8", "-e", "8", "-n", "2000000", "-T", "1"}, {}, 30.0);
  expect_golden(said, "bench_timeouts.txt");
}

TEST_F(BenchTimeout, BoundsRowsOfNcclTests) {
  std::string said;
  for (const char* fault : {"hang@1/connect", "hang@1/open", "hang@1/warm-up", "hang@1:2",
                            "hang@1:2/operation", "hang@1/verify"}) {
    said += words_at_the_end({"-b", "8", "-e", "1K", "-T", "2"}, fault, 8.0);
  }
  expect_golden(said, "bench_rows.txt");
}

/// Covers a rank that is stopped while it is at nothing, before the other one has a command for it.
TEST_F(BenchTimeout, BoundsTheWaitForACommand) {
  std::string said;
  for (const int stopped : {0, 1}) {
    said += words_at_the_end({"--only", "all_reduce", "--sizes", "1K", "--timeout", "2"},
                             fmt::format("stop@{}/connect", stopped), 8.0, 1 - stopped);
  }
  expect_golden(said, "bench_commands.txt");
}

TEST_F(BenchTimeout, BoundsTheStartAndTheEndOfMpi) {
  std::string said;
  for (const char* fault : {"stop@1/launch", "hang@1/end"}) {
    said += words_at_the_end(
        {"--only", "all_reduce", "--sizes", "1K", "--timeout", "2", "--benchmark_min_time=0.0001"},
        fault, 8.0);
  }
  expect_golden(said, "bench_deadlines.txt");
}

/// Covers a library of that name, which is read when GPUs are asked for.
TEST_F(BenchTimeout, BoundsWhatIsAskedOfTheMachineWithoutMpi) {
  const ScratchFolder folder;
  const std::string pipe = folder / "libnccl.so.2";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const Outcome outcome =
      run_program({.arguments = {LINKGAIN_BENCH, "--describe", "--timeout", "1"},
                   .environment = {{"LINKGAIN_NCCL", pipe}}});
  if (outcome.status == 0) GTEST_SKIP() << "built without CUDA and NCCL";
  EXPECT_EQ(outcome.status, 6) << outcome.error;
  EXPECT_EQ(outcome.output, "");
  expect_golden(outcome.error, "bench_describe.txt");
}

TEST_F(BenchTimeout, LetsWorkTakeItsTime) {
  // The longest sample is 10 s. Short ones end late where others begin to work meanwhile.
  const double slower = std::clamp(slowdown(), 4.0, 10.0);
  with_status(0, run_program(bench(2, {"--only", "all_reduce", "--sizes", "1K", "--timeout",
                                       std::to_string(0.5 * slower), "--sample",
                                       std::to_string(slower), "--benchmark_min_time=0.0001"})));
}

}  // namespace
}  // namespace linkgain::test
