#include "gpu_programs.hpp"

#include "nccl_tests_table.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;
using testing::Not;

// The two programs on two real GPUs, with P2P and without.

const std::string kAllTypes =
    "--type float32,float16,bfloat16,float64,int8,uint8,int32,uint32,int64,uint64,float8e4m3,"
    "float8e5m2 ";
const std::string kAllReductions = "--reduction sum,prod,min,max,avg,mulsum ";
constexpr std::size_t kTypes = 12;
constexpr std::size_t kReductions = 6;

/// Runs two ranks of the worker as a Google Benchmark program, every case as briefly as possible.
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
  const Outcome outcome = with_status(
      0, run_worker(GetParam(), "--only all_reduce --sizes 1K,1M --launch-mode stream,graph " +
                                    kAllTypes + kAllReductions));
  EXPECT_THAT(outcome.output, Not(HasSubstr("error_occurred")));
  EXPECT_EQ(count_of(outcome.output, "\"busbw\""), kTypes * kReductions * 2 * 2);
}

TEST_P(GpuPrograms, AllReduceIsRightInPlace) {
  const Outcome outcome = with_status(
      0, run_worker(GetParam(),
                    "--only all_reduce --sizes 64K,16M --launch-mode stream,graph --in-place " +
                        kAllTypes));
  EXPECT_THAT(outcome.output, Not(HasSubstr("error_occurred")));
  EXPECT_EQ(count_of(outcome.output, "\"busbw\""), kTypes * 2 * 2);
}

TEST_P(GpuPrograms, SendRecvIsRightForEveryTypePatternAndLaunchMode) {
  const Outcome outcome =
      with_status(0, run_worker(GetParam(),
                                "--only send_recv --sizes 1K,4M --launch-mode stream,graph "
                                "--pattern ring,one-way,both-ways " +
                                    kAllTypes));
  EXPECT_THAT(outcome.output, Not(HasSubstr("error_occurred")));
  // The ring, both one-way pairs, and the pair with both ways at once.
  EXPECT_EQ(count_of(outcome.output, "\"busbw\""), kTypes * 4 * 2 * 2);
}

TEST_P(GpuPrograms, OneCorruptElementOnOneRankIsFound) {
  const std::string fault = "-x LINKGAIN_TEST_FAULT=corrupt@1 ";
  const Outcome reduced = with_status(
      4,
      run_worker(GetParam() + fault, "--only all_reduce --sizes 64K --launch-mode stream,graph " +
                                         kAllTypes + kAllReductions));
  EXPECT_EQ(count_of(reduced.output, "WRONG DATA: 1 of "), kTypes * kReductions * 2)
      << reduced.output;
  EXPECT_THAT(reduced.output, HasSubstr("rank 1, element"));
  const Outcome sent = with_status(
      4, run_worker(GetParam() + fault,
                    "--only send_recv --sizes 64K --launch-mode stream,graph " + kAllTypes));
  EXPECT_EQ(count_of(sent.output, "WRONG DATA: 1 of "), kTypes * 2) << sent.output;
}

// Every operation on two real GPUs, with P2P and without: its data in every form, and that wrong
// data is found. One start of the ranks checks many cases, each as briefly as possible.

const std::string kAll =
    "all_reduce,all_gather,reduce_scatter,broadcast,reduce,alltoall,gather,scatter,send_recv,"
    "ping_pong ";
const std::string kInPlace =
    "all_reduce,all_gather,reduce_scatter,broadcast,reduce,gather,scatter ";
const std::string kBothLaunches = "--launch-mode stream,graph ";
constexpr std::size_t kOperationsInAll = 10;
constexpr std::size_t kOperationsInPlace = 7;

class GpuOperations : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { require_gpus(2); }

  /// Runs two ranks of the worker as a Google Benchmark program.
  static Outcome run_worker(const std::string& options, const std::string& mpirun_options = {}) {
    return run_shell("mpirun -np 2 --allow-run-as-root --bind-to none -x NCCL_NVLS_ENABLE=0 " +
                     GetParam() + mpirun_options + LINKGAIN_BENCH +
                     " --backend nccl --sample 0.001 --benchmark_min_time=0.0001 "
                     "--benchmark_format=json " +
                     options);
  }

  static void expect_right(const std::string& options, std::size_t cases) {
    const Outcome outcome = run_worker(options);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_THAT(outcome.output, Not(HasSubstr("error_occurred")));
    EXPECT_EQ(count_of(outcome.output, "\"busbw\""), cases) << outcome.output;
  }

  static void expect_found(const std::string& options, std::size_t cases) {
    const Outcome outcome = run_worker(options, "-x LINKGAIN_TEST_FAULT=corrupt@1 ");
    EXPECT_EQ(outcome.status, 4) << outcome.output;
    EXPECT_EQ(count_of(outcome.output, "WRONG DATA: 1 of "), cases) << outcome.output;
  }
};

INSTANTIATE_TEST_SUITE_P(
    Variants, GpuOperations,
    ::testing::Values("", "-x NCCL_P2P_DISABLE=1 -x NCCL_NVLS_ENABLE=0 -x NCCL_WIN_ENABLE=0 "),
    [](const auto& instance) { return instance.param.empty() ? "p2p" : "host"; });

TEST_P(GpuOperations, AreRightInEveryLaunchModeAtManySizes) {
  // Every rank's part is a whole number of elements, and not always one of cache lines.
  expect_right("--only " + kAll + "--sizes 16,48,1008,64K,1000000,32M --type float32,float64 " +
                   kBothLaunches,
               kOperationsInAll * 6 * 2 * 2);
}

TEST_P(GpuOperations, AreRightForEveryType) {
  expect_right(
      "--only all_gather,broadcast,alltoall,gather,scatter,ping_pong,reduce_scatter,"
      "reduce --sizes 64K " +
          kBothLaunches +
          "--type float32,float16,bfloat16,float64,int8,uint8,int32,uint32,int64,uint64,"
          "float8e4m3,float8e5m2",
      8 * 2 * 12);
}

TEST_P(GpuOperations, ReduceRightlyInEveryReduction) {
  expect_right(
      "--only reduce_scatter,reduce --sizes 1K,1M --type float32,bfloat16,int32 "
      "--reduction sum,prod,min,max,avg,mulsum " +
          kBothLaunches,
      2 * 2 * 3 * 6 * 2);
}

TEST_P(GpuOperations, AreRightInPlaceAndFromAnotherRoot) {
  // Operations with a root count twice.
  expect_right("--only " + kInPlace + "--in-place --sizes 16,1M --root 0,1 " + kBothLaunches,
               (kOperationsInPlace + 4) * 2 * 2);
  expect_right("--only broadcast,reduce,gather,scatter --sizes 16,1M --root 1 " + kBothLaunches,
               4 * 2 * 2);
}

/// Covers many slots and one.
TEST_P(GpuOperations, AreWrongWhereAnOutputWasSpoilt) {
  for (const std::string kind : {"stale", "element", "last", "wrong-rank", "swapped"}) {
    const Outcome outcome =
        run_worker("--only all_reduce,send_recv,all_gather --sizes 64K,256M " + kBothLaunches,
                   "-x LINKGAIN_TEST_FAULT=" + kind + "@1 ");
    EXPECT_EQ(outcome.status, 4) << kind << ": " << outcome.output;
    EXPECT_EQ(count_of(outcome.output, "WRONG DATA: "), 3 * 2 * 2) << kind << outcome.output;
  }
}

TEST_P(GpuOperations, AreRightInBuffersThatNcclAllocated) {
  expect_right("--only " + kAll + "--buffers allocated --sizes 16,64K,16M " + kBothLaunches,
               kOperationsInAll * 3 * 2);
}

TEST_P(GpuOperations, AreRightInRegisteredBuffers) {
  expect_right("--only " + kAll + "--buffers registered --sizes 16,64K,16M " + kBothLaunches,
               kOperationsInAll * 3 * 2);
  expect_right(
      "--only " + kInPlace + "--in-place --buffers registered --root 1 --sizes 1M " + kBothLaunches,
      kOperationsInPlace * 2);
}

/// Makes every case's memory as large as the one's before: at the same addresses NCCL still knows
/// those from the graph before, with peers' addresses of memory that is gone.
TEST_P(GpuOperations, AreRightWhereMemoryIsMadeAnewForEveryGraph) {
  expect_right(
      "--only all_reduce,all_gather --buffers registered,allocated --sizes 2M:64M:x2 --launch-mode "
      "graph",
      2 * 2 * 6);
}

/// Fails where NCCL 2.28.3 to 2.28.6 show their defect in small all-reduces on symmetric memory,
/// which doctor names.
TEST_P(GpuOperations, AreRightInSymmetricBuffers) {
  const Outcome first = run_worker("--only all_gather --buffers symmetric --sizes 64K");
  if (first.output.find("symmetric buffers need NCCL 2.27") != std::string::npos) {
    GTEST_SKIP() << "this NCCL has no windows";
  }
  expect_right("--only " + kAll + "--buffers symmetric --sizes 16,64K,16M " + kBothLaunches,
               kOperationsInAll * 3 * 2);
  expect_right(
      "--only " + kInPlace + "--in-place --buffers symmetric --root 1 --sizes 1M " + kBothLaunches,
      kOperationsInPlace * 2);
}

TEST_P(GpuOperations, OneWrongElementIsFound) {
  // Rank 1 is the root, as only the root of a reduce or gather has an output.
  expect_found("--only " + kAll + "--sizes 64K --root 1 " + kBothLaunches, kOperationsInAll * 2);
  expect_found("--only " + kInPlace + "--in-place --sizes 64K --root 1 " + kBothLaunches,
               kOperationsInPlace * 2);
  expect_found("--only all_gather,alltoall,scatter --buffers registered --sizes 64K", 3);
}

class OperationEvidence : public RunOnGpus {
 protected:
  /// Tells whether the NCCL built with and the one loaded have alltoall, gather and scatter (2.28).
  bool has_exchanges() {
    const Software& software = record().machine.software;
    const auto has = [](const std::string& version) {
      return version.starts_with("2.") && std::stoi(version.substr(2)) >= 28;
    };
    return has(software.nccl_header.value()) && has(software.nccl_library.value());
  }
};

TEST_F(OperationEvidence, NvlinkCarriesWhatIsExpectedOfEveryOperation) {
  const Outcome outcome =
      with_status(0, run_linkgain("--only " + kAll + "--sizes 256M --budget 60"));
  for (const CaseResult& result : record().cases) {
    const std::string name = case_name(result.definition);
    const VariantResult& p2p = result.variants.at(0);
    const VariantResult& host = result.variants.at(1);
    ASSERT_TRUE(p2p.evidence && host.evidence) << name;
    if (p2p.path != Path::nvlink) GTEST_SKIP() << "no NVLink joins the first two GPUs";
    EXPECT_TRUE(p2p.evidence->judged) << name << ": " << p2p.evidence->reason;
    EXPECT_TRUE(host.evidence->judged) << name << ": " << host.evidence->reason;
    EXPECT_THAT(p2p.evidence->nvlink_share().value_or(0.0), AllOf(Ge(0.99), Le(1.02))) << name;
    EXPECT_LT(host.evidence->nvlink_share().value_or(1.0), 0.001) << name;
    const bool grouped = is_exchange(result.definition.operation) && !has_exchanges();
    EXPECT_EQ(p2p.execution.form, grouped ? kGroupedForm : "") << name;
  }
}

// nccl-tests' flags on two real GPUs.

class GpuNcclTests : public ::testing::Test {
 protected:
  void SetUp() override { require_gpus(2); }

  static test::NcclTestsTable table(const std::string& options) {
    const Outcome outcome = run_shell(
        std::string("mpirun -np 2 --allow-run-as-root --bind-to none -x NCCL_NVLS_ENABLE=0 ") +
        LINKGAIN_BENCH + " --backend nccl " + options);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    return test::parse_nccl_tests_table(outcome.output);
  }

  static void expect_right(const test::NcclTestsTable& table, bool in_place = true) {
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      EXPECT_EQ(nccl_tests_line(table.rows[i]), table.lines[i] + "\n");
      EXPECT_EQ(table.rows[i].out_of_place.wrong, 0) << table.lines[i];
      EXPECT_EQ(table.rows[i].in_place.wrong.has_value(), in_place) << table.lines[i];
      EXPECT_EQ(table.rows[i].in_place.wrong.value_or(0), 0) << table.lines[i];
    }
  }
};

TEST_F(GpuNcclTests, AllReduceIsRightOnStreamAndAsGraph) {
  for (const std::string graph : {"0", "3"}) {
    // At the largest sizes the operations of a graph share their buffers.
    const auto table = this->table("-b 8 -e 64M -f 8 -G " + graph);
    EXPECT_EQ(table.rows.size(), 8U);
    expect_right(table);
    EXPECT_THAT(table.head[0], HasSubstr(" nccl-headers="));
    EXPECT_THAT(table.head[5], HasSubstr(" device  0 [0000:"));
    EXPECT_GT(table.rows.back().in_place.bus_bandwidth_gb_per_s,
              table.rows.front().in_place.bus_bandwidth_gb_per_s);
  }
}

/// Relies on NCCL, which names settings that are not its own.
TEST_F(GpuNcclTests, TheCommunicatorHasTheSettingsOfNcclTests) {
  const Outcome outcome = with_status(
      0,
      run_shell(std::string("mpirun -np 2 --allow-run-as-root --bind-to none -x NCCL_DEBUG=INFO ") +
                LINKGAIN_BENCH + " --backend nccl -b 64K -e 64K"));
  if (outcome.output.find("nccl-headers=228") == std::string::npos) {
    GTEST_SKIP() << "asked of NCCL 2.28 only";
  }
  EXPECT_THAT(outcome.output, HasSubstr("nvlinkCentricSched set to 1"));
}

TEST_F(GpuNcclTests, AllTypesAndReductionsAreRight) {
  const auto table = this->table("-b 64K -e 64K -d all -o all");
  EXPECT_GE(table.rows.size(), 10U * 6U);
  expect_right(table);
}

TEST_F(GpuNcclTests, SendReceiveIsRightOutOfPlace) {
  const auto table = this->table("--only send_recv -b 8 -e 64M -f 8 -G 1");
  EXPECT_EQ(table.rows.size(), 8U);
  expect_right(table, false);
}

}  // namespace
}  // namespace linkgain::test
