#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

#include "linkgain/core/record.hpp"
#include "linkgain/telemetry/nvml.hpp"

/// The two programs on two real GPUs, with P2P and without.
namespace linkgain {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Outcome {
  int status = -1;
  std::string output;  ///< standard output and error together
};

Outcome run_shell(const std::string& command) {
  Outcome outcome;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    outcome.output.append(buffer.data(), count);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
  return outcome;
}

int count_of(const std::string& text, const std::string& word) {
  int count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

const std::string kP2p;
const std::string kHost = "-x NCCL_P2P_DISABLE=1 -x NCCL_NVLS_ENABLE=0 ";
const std::string kAllTypes =
    "--type float32,float16,bfloat16,float64,int8,uint8,int32,uint32,int64,uint64,float8e4m3,"
    "float8e5m2 ";
const std::string kAllReductions = "--reduction sum,prod,min,max,avg ";
constexpr int kTypes = 12;
constexpr int kReductions = 5;

/// Two ranks of the worker as a Google Benchmark program, every case as briefly as possible.
Outcome run_worker(const std::string& mpirun_options, const std::string& options) {
  return run_shell("mpirun -np 2 --allow-run-as-root --bind-to none " + mpirun_options +
                   LINKGAIN_BENCH +
                   " --backend nccl --benchmark_min_time=0.001 --benchmark_format=json " + options);
}

class GpuPrograms : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::string reason;
    const auto nvml = Nvml::open(&reason);
    if (!nvml) GTEST_SKIP() << "no GPU: " << reason;
    if (nvml->device_count() < 2) GTEST_SKIP() << "this test needs two GPUs";
  }
};

INSTANTIATE_TEST_SUITE_P(Variants, GpuPrograms, ::testing::Values(kP2p, kHost),
                         [](const auto& instance) {
                           return instance.param.empty() ? "p2p" : "host";
                         });

TEST_P(GpuPrograms, AllReduceIsRightForEveryTypeReductionAndLaunchMode) {
  const Outcome outcome =
      run_worker(GetParam(), "--only all_reduce --sizes 1K,1M --launch stream,graph " + kAllTypes +
                                 kAllReductions);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, Not(HasSubstr("error_occurred")));
  EXPECT_EQ(count_of(outcome.output, "\"busbw\""), kTypes * kReductions * 2 * 2);
}

TEST_P(GpuPrograms, AllReduceIsRightInPlace) {
  const Outcome outcome =
      run_worker(GetParam(),
                 "--only all_reduce --sizes 64K,16M --launch stream,graph --in-place " + kAllTypes);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, Not(HasSubstr("error_occurred")));
  EXPECT_EQ(count_of(outcome.output, "\"busbw\""), kTypes * 2 * 2);
}

TEST_P(GpuPrograms, SendRecvIsRightForEveryTypePatternAndLaunchMode) {
  const Outcome outcome = run_worker(GetParam(),
                                     "--only send_recv --sizes 1K,4M --launch stream,graph "
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
      run_worker(GetParam() + fault, "--only all_reduce --sizes 64K --launch stream,graph " +
                                         kAllTypes + kAllReductions);
  EXPECT_EQ(reduced.status, 4);
  EXPECT_EQ(count_of(reduced.output, "WRONG DATA: 1 of "), kTypes * kReductions * 2)
      << reduced.output;
  EXPECT_THAT(reduced.output, HasSubstr("rank 1, element"));
  const Outcome sent = run_worker(
      GetParam() + fault, "--only send_recv --sizes 64K --launch stream,graph " + kAllTypes);
  EXPECT_EQ(sent.status, 4);
  EXPECT_EQ(count_of(sent.output, "WRONG DATA: 1 of "), kTypes * 2) << sent.output;
}

/// A fresh directory below the system's temporary one, removed at the end.
class RunOnGpus : public GpuPrograms {
 protected:
  std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("linkgain-gpu-test-" + std::to_string(::getpid()));
  void TearDown() override { std::filesystem::remove_all(directory_); }

  Outcome run_linkgain(const std::string& options) {
    return run_shell(std::string(LINKGAIN) + " run --backend nccl --np 2 --quiet --out " +
                     directory_.string() + " " + options);
  }
  Record record() const { return read_record(directory_ / "record.json"); }
};

TEST_F(RunOnGpus, TheTwoVariantsTakeTheirOwnRoads) {
  const Outcome outcome = run_linkgain("--only all_reduce,send_recv --sizes 8,1M,64M");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  const Record record = this->record();
  EXPECT_EQ(record.status, "complete");
  ASSERT_EQ(record.cases.size(), 6U);
  const bool nvlink = all_pairs(record.machine.links, &PairLink::nvlink).value_or(false);
  for (const CaseResult& result : record.cases) {
    if (nvlink) {
      EXPECT_EQ(result.variants[0].path, Path::nvlink) << case_name(result.definition);
    }
    EXPECT_NE(result.variants[1].path, Path::nvlink) << case_name(result.definition);
    EXPECT_NE(result.variants[1].path, Path::pcie_p2p) << case_name(result.definition);
    EXPECT_GE(result.ratios.at(0).ratio.rounds, 20);
  }
  if (nvlink) {
    EXPECT_THAT(outcome.output, HasSubstr("| NVLink | all_reduce 64 MiB |"));
  }
}

TEST_F(RunOnGpus, ADyingRankCostsOnlyItsVariant) {
  const Outcome outcome = run_linkgain(
      "--only all_reduce --sizes 1M --variant p2p "
      "--variant dying:NCCL_P2P_DISABLE=1,LINKGAIN_TEST_FAULT=die@1:5 --deadline 20");
  EXPECT_EQ(outcome.status, 6) << outcome.output;
  const Record record = this->record();
  EXPECT_EQ(record.status, "job lost");
  EXPECT_TRUE(record.cases.at(0).variants.at(0).time.has_value());
  EXPECT_THAT(outcome.output, HasSubstr("dying"));
}

TEST_F(RunOnGpus, AHangingRankIsEndedAtItsDeadline) {
  const Outcome outcome = run_linkgain(
      "--only all_reduce --sizes 1M --variant p2p "
      "--variant hanging:NCCL_P2P_DISABLE=1,LINKGAIN_TEST_FAULT=hang@1:5 --deadline 5");
  EXPECT_EQ(outcome.status, 6) << outcome.output;
  EXPECT_TRUE(record().cases.at(0).variants.at(0).time.has_value());
  EXPECT_EQ(run_shell("pgrep -f 'linkgain-benc[h] --serve'").status, 1) << "processes are left";
}

TEST_F(RunOnGpus, SequentialScheduleGivesRatiosToo) {
  const Outcome outcome = run_linkgain("--only all_reduce --sizes 16M --schedule sequential");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  const Record record = this->record();
  EXPECT_EQ(record.settings.schedule, "sequential");
  EXPECT_EQ(record.cases.at(0).ratios.size(), 1U);
}

}  // namespace
}  // namespace linkgain
