#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "gpu_programs.hpp"
#include "linkgain/base/errors.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class KernelsOnGpus : public RunOnGpus {};

/// Major and minor number of "2.28.3".
std::pair<int, int> numbers_of(const std::optional<std::string>& text) {
  const std::string version = text.value_or("0.0");
  const std::size_t dot = version.find('.');
  return {std::stoi(version), std::stoi(version.substr(dot + 1))};
}

TEST_F(KernelsOnGpus, AreRightAndKeepToTheirPath) {
  const Outcome outcome = run_linkgain(
      "--only all_reduce --sizes 4,64K,1M,40000004,64M,256M --type float32,bfloat16 "
      "--launch-mode stream,graph --kernels --budget 70 --launches 2");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
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

/// Through PCIe 16 bytes are not sure to arrive as one. The compiler is CUDA's of the runtime.
TEST_F(KernelsOnGpus, TakeWholeVectorsWhereNvlinkJoinsThem) {
  const Outcome outcome =
      run_linkgain("--only all_reduce --sizes 1M --kernels --variant p2p --budget 10 --launches 2");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  const Record found = record();
  const CaseResult& kernel = found.cases.back();
  ASSERT_TRUE(kernel.definition.kernel);
  const VariantResult& p2p = kernel.variants.front();
  const bool by_nvlink = p2p.evidence.value().nvlink_sent.value_or(0) > 0;
  const bool whole = p2p.execution.form.find("flags in 16 bytes") != std::string::npos;
  const bool compiled = numbers_of(found.machine.software.cuda_runtime) >= std::pair(12, 3);
  EXPECT_EQ(whole, by_nvlink && compiled) << p2p.execution.form;
}

/// From 2.28 on NCCL has a device API; without windows it gives no LSA pointers.
TEST_F(KernelsOnGpus, TakeLsaPointersWhereTheyAreAndElseCudaIpc) {
  const Outcome outcome = run_linkgain(
      "--only all_reduce --sizes 8,1M,32M --launch-mode stream,graph --kernels --variant p2p "
      "--variant ipc:NCCL_WIN_ENABLE=0 --budget 30 --launches 2");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
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
  const Outcome right = run_linkgain(
      "--only all_reduce --sizes 12,100K,6M --in-place --kernels --budget 20 --launches 2");
  EXPECT_EQ(right.status, 0) << right.output;
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
