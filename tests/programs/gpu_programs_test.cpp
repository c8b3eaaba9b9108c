#include "gpu_programs.hpp"

/// The two programs on two real GPUs, with P2P and without.
namespace linkgain::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kAllTypes =
    "--type float32,float16,bfloat16,float64,int8,uint8,int32,uint32,int64,uint64,float8e4m3,"
    "float8e5m2 ";
const std::string kAllReductions = "--reduction sum,prod,min,max,avg,mulsum ";
constexpr std::size_t kTypes = 12;
constexpr std::size_t kReductions = 6;

/// Two ranks of the worker as a Google Benchmark program, every case as briefly as possible.
Outcome run_worker(const std::string& mpirun_options, const std::string& options) {
  return run_shell("mpirun -np 2 --allow-run-as-root --bind-to none " + mpirun_options +
                   LINKGAIN_BENCH +
                   " --backend nccl --benchmark_min_time=0.001 --benchmark_format=json " + options);
}

class GpuPrograms : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { require_gpus(2); }
};

INSTANTIATE_TEST_SUITE_P(Variants, GpuPrograms,
                         ::testing::Values("", "-x NCCL_P2P_DISABLE=1 -x NCCL_NVLS_ENABLE=0 "),
                         [](const auto& instance) {
                           return instance.param.empty() ? "p2p" : "host";
                         });

TEST_P(GpuPrograms, AllReduceIsRightForEveryTypeReductionAndLaunchMode) {
  const Outcome outcome =
      run_worker(GetParam(), "--only all_reduce --sizes 1K,1M --launch-mode stream,graph " +
                                 kAllTypes + kAllReductions);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, Not(HasSubstr("error_occurred")));
  EXPECT_EQ(count_of(outcome.output, "\"busbw\""), kTypes * kReductions * 2 * 2);
}

TEST_P(GpuPrograms, AllReduceIsRightInPlace) {
  const Outcome outcome = run_worker(
      GetParam(),
      "--only all_reduce --sizes 64K,16M --launch-mode stream,graph --in-place " + kAllTypes);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, Not(HasSubstr("error_occurred")));
  EXPECT_EQ(count_of(outcome.output, "\"busbw\""), kTypes * 2 * 2);
}

TEST_P(GpuPrograms, SendRecvIsRightForEveryTypePatternAndLaunchMode) {
  const Outcome outcome = run_worker(GetParam(),
                                     "--only send_recv --sizes 1K,4M --launch-mode stream,graph "
                                     "--pattern ring,one-way,both-ways " +
                                         kAllTypes);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, Not(HasSubstr("error_occurred")));
  // The ring, both one-way pairs, and the pair with both ways at once.
  EXPECT_EQ(count_of(outcome.output, "\"busbw\""), kTypes * 4 * 2 * 2);
}

TEST_P(GpuPrograms, OneCorruptElementOnOneRankIsFound) {
  const std::string fault = "-x LINKGAIN_TEST_FAULT=corrupt@1 ";
  const Outcome reduced =
      run_worker(GetParam() + fault, "--only all_reduce --sizes 64K --launch-mode stream,graph " +
                                         kAllTypes + kAllReductions);
  EXPECT_EQ(reduced.status, 4);
  EXPECT_EQ(count_of(reduced.output, "WRONG DATA: 1 of "), kTypes * kReductions * 2)
      << reduced.output;
  EXPECT_THAT(reduced.output, HasSubstr("rank 1, element"));
  const Outcome sent = run_worker(
      GetParam() + fault, "--only send_recv --sizes 64K --launch-mode stream,graph " + kAllTypes);
  EXPECT_EQ(sent.status, 4);
  EXPECT_EQ(count_of(sent.output, "WRONG DATA: 1 of "), kTypes * 2) << sent.output;
}

}  // namespace
}  // namespace linkgain::test
