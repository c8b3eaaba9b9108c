#include <gmock/gmock.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "gpu_programs.hpp"
#include "linkgain/base/errors.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Gt;
using testing::HasSubstr;
using testing::Le;
using testing::Lt;
using testing::StartsWith;

// `linkgain run` on two real GPUs.

TEST_F(RunOnGpus, TheTwoVariantsTakeTheirOwnPaths) {
  const Outcome outcome =
      with_status(0, run_linkgain("--only all_reduce,send_recv --sizes 8,1M,64M"));
  const Record record = this->record();
  EXPECT_EQ(record.status, RunStatus::complete);
  ASSERT_EQ(record.cases.size(), 6U);
  const bool nvlink = all_pairs(record.machine.links, joined_by_nvlink).value_or(false);
  for (const CaseResult& result : record.cases) {
    if (nvlink) {
      EXPECT_EQ(result.variants[0].path, Path::nvlink) << case_name(result.definition);
    }
    EXPECT_NE(result.variants[1].path, Path::nvlink) << case_name(result.definition);
    EXPECT_NE(result.variants[1].path, Path::pcie_p2p) << case_name(result.definition);
    EXPECT_GE(result.ratios.at(0).ratio.replicates, 2);
  }
  if (nvlink) {
    EXPECT_THAT(outcome.output, HasSubstr("NVLink makes "));
  }
}

TEST_F(RunOnGpus, SmallOperationsGoByGraphOverManySlots) {
  const Outcome outcome = with_status(
      0, run_linkgain("--only all_reduce,ping_pong --sizes 8,64K,1M --launches 2 --kernels"));
  const Record record = this->record();
  ASSERT_EQ(record.cases.size(), 9U) << "NCCL's and our all-reduce, NCCL's ping_pong";
  for (const CaseResult& result : record.cases) {
    const std::string name = case_name(result.definition);
    const bool small = result.definition.size < kLaunchBoundBelow;
    EXPECT_EQ(result.definition.launch, small ? LaunchMode::graph : LaunchMode::stream) << name;
    for (const VariantResult& variant : result.variants) {
      EXPECT_EQ(variant.execution.operations_per_graph, small ? 64 : 0) << name;
      if (!small) continue;
      const bool twice = result.definition.operation == OperationKind::ping_pong;
      EXPECT_EQ(variant.execution.buffer_slots, twice ? 32 : 64) << name;
      EXPECT_EQ(variant.verification.value().wrong, 0) << name;
    }
  }
  const std::string report = std::string(LINKGAIN) + " report " + directory_.string();
  EXPECT_THAT(run_shell(report).output, HasSubstr("| Launch |"));
}

TEST_F(RunOnGpus, AllReducesBetweenAProductAndANormAreRight) {
  with_status(0, run_linkgain("--only all_reduce,product_norm --hidden 4096 --sizes 8K,4M "
                              "--launches 2 --kernels"));
  const Record record = this->record();
  ASSERT_EQ(record.cases.size(), 6U) << "NCCL's, our kernel's, and the two alone";
  for (const CaseResult& result : record.cases) {
    const std::string name = case_name(result.definition);
    const VariantResult& first = result.variants[0];
    EXPECT_EQ(first.verification.value().wrong, 0) << name;
    EXPECT_GT(first.verification.value().checked, 0) << name;
    const double time = first.time.value().value;
    EXPECT_GT(time, 1e-6) << name;
    EXPECT_LT(time, 1e-3) << name;
    EXPECT_EQ(result.variants[1].skipped.has_value(), !uses_link(result.definition)) << name;
  }
}

TEST_F(RunOnGpus, SequentialScheduleGivesRatiosToo) {
  const Outcome outcome =
      with_status(0, run_linkgain("--only all_reduce --sizes 16M --schedule sequential"));
  const Record record = this->record();
  EXPECT_EQ(record.settings.schedule, Schedule::sequential);
  EXPECT_EQ(record.cases.at(0).ratios.size(), 1U);
}

// Copies, latencies and host copies on two real GPUs.

class MemoryOperationsOnGpus : public RunOnGpus {
 protected:
  void expect_right_data() const {
    for (const CaseResult& result : record().cases) {
      const std::string name = case_name(result.definition);
      const VariantResult& first = result.variants.front();
      ASSERT_TRUE(first.time) << name << ": " << why_skipped(first);
      for (const VariantResult& variant : result.variants) {
        if (!variant.time) continue;
        EXPECT_EQ(variant.verification.value().wrong, 0) << name << " with " << variant.variant;
        EXPECT_GT(variant.verification.value().checked, 0) << name << " with " << variant.variant;
      }
    }
  }

  const CaseResult& result_of(const Record& record, const std::string& name) const {
    for (const CaseResult& result : record.cases) {
      if (case_name(result.definition) == name) return result;
    }
    throw UsageError("no case " + name);
  }
};

TEST_F(MemoryOperationsOnGpus, CopiesAreRightAndKeepToTheirPath) {
  const Outcome outcome = with_status(
      0, run_linkgain(
             "--only copy_push,copy_pull --pattern one-way,both-ways --sizes 16,5M,64M --kernels "
             "--budget 100 --launches 2"));
  expect_right_data();
  int judged = 0;
  for (const CaseResult& result : record().cases) {
    const std::string name = case_name(result.definition);
    if (result.definition.kernel) {
      EXPECT_THAT(why_skipped(result.variants[1]), HasSubstr("copy engines")) << name;
    } else {
      EXPECT_EQ(result.variants[1].path, Path::host_memory) << name;
    }
    for (const VariantResult& variant : result.variants) {
      if (!variant.evidence) continue;
      const auto share = variant.evidence->judged_share();
      if (!share) continue;
      ++judged;
      if (variant.variant == "p2p") {
        EXPECT_THAT(*share, AllOf(Ge(0.99), Le(1.02))) << name;
      } else {
        EXPECT_LT(*share, 0.001) << name;
      }
    }
  }
  EXPECT_EQ(judged, 2 * 3 * 3) << "pushes and pulls, three ways, by engine with both variants";
}

TEST_F(MemoryOperationsOnGpus, CopiesGoRoundARing) {
  const Outcome outcome =
      with_status(0, run_linkgain("--only copy_push,copy_pull --pattern ring --sizes 48K --kernels "
                                  "--budget 20 --launches 2"));
  expect_right_data();
}

TEST_F(MemoryOperationsOnGpus, OneAgainstAllIsRightFromAnyRoot) {
  for (const char* root : {"0", "1"}) {
    const Outcome outcome = run_linkgain(
        "--only all_to_one,one_to_all --sizes 64K,16M --kernels --budget 40 --launches 2 --root " +
        std::string(root));
    ASSERT_EQ(outcome.status, 0) << outcome.output;
    expect_right_data();
  }
}

TEST_F(MemoryOperationsOnGpus, LatenciesAreThoseOfThePath) {
  const Outcome outcome =
      with_status(0, run_linkgain("--only latency,load_latency --sizes 128,64K --pattern one-way "
                                  "--budget 60 --launches 2"));
  expect_right_data();
  const Record record = this->record();
  const CaseResult& message = result_of(record, "latency/128B/np2/pair=0-1");
  EXPECT_THAT(message.variants[0].time.value().value, AllOf(Gt(0.1e-6), Lt(10e-6)));
  const CaseResult& load = result_of(record, "load_latency/64KiB/np2/pair=1-0");
  EXPECT_THAT(load.variants[0].time.value().value, AllOf(Gt(0.1e-6), Lt(10e-6)));
  EXPECT_FALSE(load.variants[0].busbw) << "its size is not what is moved";
}

TEST_F(MemoryOperationsOnGpus, HostCopiesRunOnceAndAreNoWrongPath) {
  const Outcome outcome =
      with_status(0, run_linkgain("--only host_to_device,device_to_host --sizes 64K,64M --kernels "
                                  "--budget 40 --launches 2"));
  expect_right_data();
  for (const CaseResult& result : record().cases) {
    EXPECT_THAT(why_skipped(result.variants[1]), HasSubstr("no link"));
    EXPECT_EQ(result.variants[0].path, Path::host_memory);
  }
}

TEST_F(MemoryOperationsOnGpus, WrongDataIsFound) {
  for (const char* options :
       {"--only copy_push --sizes 1M", "--only copy_pull --sizes 1M --kernels",
        "--only load_latency --sizes 64K", "--only latency --sizes 8",
        "--only all_to_one --sizes 1M --root 1"}) {
    const Outcome outcome = run_linkgain(
        std::string(options) +
        " --variant p2p --variant corrupt:LINKGAIN_TEST_FAULT=corrupt@1 --budget 20 --launches 2");
    EXPECT_EQ(outcome.status, static_cast<int>(ExitCode::wrong_data)) << options << outcome.output;
  }
}

class KernelsOnGpus : public RunOnGpus {};

/// Returns the major and minor number of "2.28.3".
std::pair<int, int> numbers_of(const std::optional<std::string>& text) {
  const std::string version = text.value_or("0.0");
  const std::size_t dot = version.find('.');
  return {std::stoi(version), std::stoi(version.substr(dot + 1))};
}

TEST_F(KernelsOnGpus, AreRightAndKeepToTheirPath) {
  const Outcome outcome = with_status(
      0,
      run_linkgain("--only all_reduce --sizes 4,64K,1M,40000004,64M,256M --type float32,bfloat16 "
                   "--launch-mode stream,graph --kernels --budget 70 --launches 2"));
  const std::string report = "cat " + (directory_ / "report.md").string();
  EXPECT_THAT(run_shell(report).output, HasSubstr("Headroom"));
  int judged = 0;
  for (const CaseResult& result : record().cases) {
    if (!result.definition.kernel) continue;
    const std::string name = case_name(result.definition);
    for (const VariantResult& variant : result.variants) {
      ASSERT_TRUE(variant.time) << name << ": " << why_skipped(variant);
      EXPECT_EQ(variant.verification.value().wrong, 0) << name;
      EXPECT_THAT(variant.execution.form, StartsWith("kernel: ")) << name;
      EXPECT_EQ(variant.execution.form.ends_with("host memory"), variant.variant != "p2p") << name;
      const auto share = variant.evidence.value().judged_share();
      if (!share) continue;
      ++judged;
      if (variant.variant == "p2p") {
        EXPECT_GT(*share, 0.99) << name;
        EXPECT_LT(*share, 1.02) << name;
      } else {
        EXPECT_LT(*share, 0.001) << name;
      }
    }
  }
  EXPECT_EQ(judged, 3 * 2 * 2 * 2) << "three sizes, two types, launch modes and variants";
}

/// Excepts PCIe, where 16 bytes may not arrive as one, and old compilers (CUDA's of the runtime).
TEST_F(KernelsOnGpus, TakeWholeVectorsWhereNvlinkJoinsThem) {
  const Outcome outcome = with_status(
      0, run_linkgain(
             "--only all_reduce --sizes 1M --kernels --variant p2p --budget 10 --launches 2"));
  const Record found = record();
  const CaseResult& kernel = found.cases.back();
  ASSERT_TRUE(kernel.definition.kernel);
  const VariantResult& p2p = kernel.variants.front();
  const bool by_nvlink = p2p.evidence.value().nvlink_sent.value_or(0) > 0;
  const bool whole = p2p.execution.form.find("flags in 16 bytes") != std::string::npos;
  const bool compiled = numbers_of(found.machine.software.cuda_runtime) >= std::pair(12, 3);
  EXPECT_EQ(whole, by_nvlink && compiled) << p2p.execution.form;
}

/// Needs NCCL 2.28 for its device API, which gives no LSA pointers without windows.
TEST_F(KernelsOnGpus, TakeLsaPointersWhereTheyAreAndElseCudaIpc) {
  const Outcome outcome = with_status(
      0,
      run_linkgain(
          "--only all_reduce --sizes 8,1M,32M --launch-mode stream,graph --kernels --variant p2p "
          "--variant ipc:NCCL_WIN_ENABLE=0 --budget 30 --launches 2"));
  const Record found = record();
  const bool has_device_api = numbers_of(found.machine.software.nccl_library) >= std::pair(2, 28);
  int kernels = 0;
  for (const CaseResult& result : found.cases) {
    if (!result.definition.kernel) continue;
    const std::string name = case_name(result.definition);
    for (const VariantResult& variant : result.variants) {
      ASSERT_TRUE(variant.time) << name << ": " << why_skipped(variant);
      EXPECT_EQ(variant.verification.value().wrong, 0) << name;
      const bool by_windows = has_device_api && variant.variant == "p2p";
      EXPECT_THAT(variant.execution.form, HasSubstr(by_windows ? "LSA pointers" : "CUDA IPC ("))
          << name;
      ++kernels;
    }
  }
  EXPECT_EQ(kernels, 3 * 2 * 2) << "sizes, launch modes and variants";
}

TEST_F(KernelsOnGpus, WorkInPlace) {
  with_status(
      0, run_linkgain(
             "--only all_reduce --sizes 12,100K,6M --in-place --kernels --budget 20 --launches 2"));
}

TEST_F(KernelsOnGpus, WrongDataOfAKernelIsFound) {
  for (const std::string fault : {"corrupt@1", "stale@1"}) {
    const Outcome outcome = run_linkgain(
        "--only all_reduce --sizes 64K --kernels --variant p2p "
        "--variant wrong:LINKGAIN_TEST_FAULT=" +
        fault + " --budget 20 --launches 2");
    EXPECT_EQ(outcome.status, static_cast<int>(ExitCode::wrong_data)) << outcome.output;
  }
}

}  // namespace
}  // namespace linkgain::test
