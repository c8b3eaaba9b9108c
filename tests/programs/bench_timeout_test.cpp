#include <chrono>
#include <regex>

#include "harmed_run.hpp"
#include "programs.hpp"
#include "support/golden.hpp"

/// What linkgain-bench does by itself where its ranks wait in vain.
namespace linkgain::test {
namespace {

class BenchTimeout : public MpiTest {
 protected:
  static Outcome run(const std::vector<std::string>& words, const std::string& fault = {}) {
    ProgramRequest request = bench(2, words);
    if (!fault.empty()) request.environment["LINKGAIN_TEST_FAULT"] = fault;
    return run_program(request);
  }

  /// What rank 0 says, with the seconds that it took left out.
  static std::string words_of_rank_0(const Outcome& outcome) {
    std::string text;
    for (const std::string& line : lines_of(outcome.error)) {
      if (!line.starts_with("linkgain-bench: rank 0: ")) continue;
      text += std::regex_replace(line, std::regex("[0-9]+ s were"), "N s were") + "\n";
    }
    return text;
  }
};

TEST_F(BenchTimeout, SaysWhoWaitsWhereAndForWhom) {
  std::string said;
  for (const char* fault : {"hang@1:1", "stop@1:1"}) {
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = run({"--only", "all_reduce", "--sizes", "1K", "--timeout", "1"}, fault);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(outcome.status, 6) << fault << outcome.output << outcome.error;
    EXPECT_LT(time.count(), 6.0 * slowdown()) << fault;
    said += words_of_rank_0(outcome);
  }
  const Outcome as_nccl_tests = run({"-b", "8", "-e", "8", "-n", "2000000", "-T", "1"});
  EXPECT_EQ(as_nccl_tests.status, 6) << as_nccl_tests.error;
  expect_golden(said + words_of_rank_0(as_nccl_tests), "bench_timeouts.txt");
}

TEST_F(BenchTimeout, BoundsTheStartAndTheEndOfMpi) {
  std::string said;
  for (const char* fault : {"stop@1/launch", "hang@1/end"}) {
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = run(
        {"--only", "all_reduce", "--sizes", "1K", "--timeout", "2", "--benchmark_min_time=0.0001"},
        fault);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(outcome.status, 6) << fault << outcome.output << outcome.error;
    EXPECT_LT(time.count(), 8.0 * slowdown()) << fault;
    said += words_of_rank_0(outcome);
  }
  expect_golden(said, "bench_deadlines.txt");
}

TEST_F(BenchTimeout, LetsWorkTakeItsTime) {
  const Outcome outcome = run({"--only", "all_reduce", "--sizes", "1K", "--timeout", "0.5",
                               "--sample", "1", "--benchmark_min_time=0.0001"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
}

}  // namespace
}  // namespace linkgain::test
