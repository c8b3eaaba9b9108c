#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "gpu_programs.hpp"
#include "linkgain/base/errors.hpp"

/// Copies, latencies and host copies on two real GPUs.
namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Lt;

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
  const Outcome outcome = run_linkgain(
      "--only copy_push,copy_pull --pattern one-way,both-ways --sizes 16,5M,64M --kernels "
      "--budget 100 --launches 2");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
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
  const Outcome outcome = run_linkgain(
      "--only copy_push,copy_pull --pattern ring --sizes 48K --kernels --budget 20 --launches 2");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
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
  const Outcome outcome = run_linkgain(
      "--only latency,load_latency --sizes 128,64K --pattern one-way --budget 60 --launches 2");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  expect_right_data();
  const Record record = this->record();
  const CaseResult& message = result_of(record, "latency/128B/np2/pair=0-1");
  EXPECT_THAT(message.variants[0].time.value().value, AllOf(Gt(0.1e-6), Lt(10e-6)));
  const CaseResult& load = result_of(record, "load_latency/64KiB/np2/pair=1-0");
  EXPECT_THAT(load.variants[0].time.value().value, AllOf(Gt(0.1e-6), Lt(10e-6)));
  EXPECT_FALSE(load.variants[0].busbw) << "its size is not what is moved";
}

TEST_F(MemoryOperationsOnGpus, HostCopiesRunOnceAndAreNoWrongPath) {
  const Outcome outcome = run_linkgain(
      "--only host_to_device,device_to_host --sizes 64K,64M --kernels --budget 40 --launches 2");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
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

}  // namespace
}  // namespace linkgain::test
