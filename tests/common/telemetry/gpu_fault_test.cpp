#include "linkgain/telemetry/gpu_fault.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/nvml_scenario.hpp"
#include "support/process_support.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class GpuFaults : public testing::Test {
 protected:
  GpuFaults() { log(0.0, "loading NVIDIA UNIX x86_64 Kernel Module"); }

  /// What the kernel logged `seconds` after its start.
  void log(double seconds, const std::string& text) const {
    std::ofstream(log_file(), std::ios::app)
        << "4,1," << static_cast<long>(seconds * 1e6) << ",-;NVRM: " << text << "\n";
  }
  std::filesystem::path log_file() const { return folder_.path() / "kmsg"; }

  static NumberedGpus both(const test::NvmlScenario& scenario) {
    return {{0, scenario.gpu(0)}, {1, scenario.gpu(1)}};
  }
  /// "0000:0a:00", as the driver writes it.
  static std::string address(const test::NvmlScenario& scenario, int gpu) {
    const std::string id = scenario.gpu(gpu).pci_bus_id().value();
    return id.substr(4, id.rfind('.') - 4);
  }

  test::TemporaryFolder folder_;
};

TEST_F(GpuFaults, NameAGpuThatFellOffTheBus) {
  const test::NvmlScenario scenario("lost-gpu", NVML_DOUBLE);
  const std::vector<GpuFault> faults = gpu_faults(both(scenario), Seconds{0.0}, log_file());
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_THAT(faults[0].text, AllOf(StartsWith("GPU 1 "), HasSubstr("(NVML error 15)")));
  EXPECT_THAT(faults[0].advice, HasSubstr("restart the machine"));
}

TEST_F(GpuFaults, NameXidErrorsSinceTheRunBegan) {
  const test::NvmlScenario scenario("h200x2", NVML_DOUBLE);
  log(10.0, "Xid (PCI:" + address(scenario, 0) + "): 31, before the run");
  log(200.0, "Xid (PCI:" + address(scenario, 1) + "): 74, NVLink: fatal error");
  log(201.0, "Xid (PCI:0000:ff:00): 79, of a GPU of others");
  std::ofstream(log_file(), std::ios::app)
      << "3,1,202000000,-;nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30\n";
  const std::vector<GpuFault> faults = gpu_faults(both(scenario), Seconds{100.0}, log_file());
  ASSERT_THAT(faults, SizeIs(2));
  EXPECT_THAT(faults[0].text, StartsWith("GPU 1: Xid 74"));
  EXPECT_THAT(faults[1].text, AllOf(HasSubstr("0000:05:00.0"), HasSubstr("SXid 20034")));
  EXPECT_THAT(faults[0].advice, HasSubstr("bridge"));
}

TEST_F(GpuFaults, AreNoneOfGpusThatAreWell) {
  const test::NvmlScenario scenario("h200x2", NVML_DOUBLE);
  EXPECT_THAT(gpu_faults(both(scenario), Seconds{0.0}, log_file()), IsEmpty());
  EXPECT_THAT(gpu_faults({}, Seconds{0.0}, "/dev/null"), IsEmpty()) << "no GPU";
}

TEST_F(GpuFaults, SayThatXidErrorsCouldNotBeReadAndWhy) {
  const test::NvmlScenario scenario("lost-gpu", NVML_DOUBLE);
  const std::vector<GpuFault> faults =
      gpu_faults(both(scenario), Seconds{0.0}, folder_.path() / "none");
  ASSERT_THAT(faults, SizeIs(2)) << "beside the GPU that is lost";
  EXPECT_THAT(faults[1].text, AllOf(StartsWith("Xid errors "), HasSubstr("no kernel log")));
  EXPECT_THAT(faults[1].advice, HasSubstr("dmesg"));
  EXPECT_TRUE(faults[1].is_unknown);
  EXPECT_FALSE(faults[0].is_unknown);
  EXPECT_THAT(gpu_faults(both(scenario), Seconds{0.0}, "/dev/null"), SizeIs(2)) << "it is empty";
}

TEST(CudaErrorAdvice, KnowsThoseThatAJobDoesNotSurvive) {
  const auto advice = [](const char* name) {
    return std::string(advice_for_cuda_error("last words:\n  linkgain-bench: CUDA: oops (" +
                                             std::string(name) + "), at stream.cpp:7"));
  };
  EXPECT_THAT(advice("cudaErrorECCUncorrectable"), HasSubstr("214"));
  EXPECT_THAT(advice("cudaErrorNvlinkUncorrectable"), HasSubstr("220"));
  EXPECT_THAT(advice("cudaErrorLaunchFailure"), HasSubstr("719"));
  EXPECT_THAT(advice("cudaErrorSystemNotReady"), HasSubstr("fabricmanager"));
  EXPECT_THAT(advice("cudaErrorUnknown"), HasSubstr("999"));
  EXPECT_EQ(advice("cudaErrorInvalidValue"), "");
  EXPECT_EQ(advice("CUDA_ERROR_ECC_UNCORRECTABLE"), advice("cudaErrorECCUncorrectable"));
  EXPECT_EQ(advice("CUDA_ERROR_NVLINK_UNCORRECTABLE"), advice("cudaErrorNvlinkUncorrectable"));
  EXPECT_EQ(advice("CUDA_ERROR_LAUNCH_FAILED"), advice("cudaErrorLaunchFailure"));
  EXPECT_EQ(advice("CUDA_ERROR_SYSTEM_NOT_READY"), advice("cudaErrorSystemNotReady"));
  EXPECT_EQ(advice("CUDA_ERROR_UNKNOWN"), advice("cudaErrorUnknown"));
}

TEST(CudaErrorAdvice, KnowsThemByTheWordsThatProgramsShow) {
  EXPECT_THAT(advice_for_cuda_error("a\nRuntimeError: CUDA error: unspecified launch failure\nb"),
              HasSubstr("719"));
  EXPECT_THAT(advice_for_cuda_error("Cuda failure 214 'uncorrectable ECC error encountered'"),
              HasSubstr("214"));
  EXPECT_THAT(advice_for_cuda_error("cudaMalloc: uncorrectable NVLink error detected during the"),
              HasSubstr("220"));
  EXPECT_THAT(advice_for_cuda_error("CUDA: Error 802: system not yet initialized"),
              HasSubstr("802"));
  EXPECT_THAT(advice_for_cuda_error("CUDA unknown error - this may be"), HasSubstr("999"));
  EXPECT_EQ(advice_for_cuda_error("CUDA is there\nls: unknown error"), "") << "not of CUDA";
}

TEST(ExplainedLoss, HasAdviceOfItsLastWordsAndOfFaultsBeforeItsOwn) {
  const Warning warning = explained({"job-lost", "died", "own"}, "cudaErrorLaunchFailure",
                                    {{"GPU 1", "look"}, {"GPU 2", "look"}});
  EXPECT_EQ(warning.text, "died\nGPU 1\nGPU 2");
  EXPECT_THAT(warning.advice, AllOf(HasSubstr("719"), EndsWith("; look; own")));
}

}  // namespace
}  // namespace linkgain::test
