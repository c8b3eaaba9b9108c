#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "linkgain/run/run_plan.hpp"
#include "support/scoped_environment.hpp"

namespace linkgain {
namespace {

using ::testing::HasSubstr;
using testing::ScopedEnvironment;

/// UUID of GPU `last` of the NVML double.
std::string uuid(int last) {
  return "GPU-00000000-0000-0000-0000-00000000000" + std::to_string(last);
}

/// One of the NVML double's machines, with no variable of CUDA's set.
class SiteTest : public ::testing::Test {
 protected:
  SiteTest() {
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("CUDA_DEVICE_ORDER");
  }

  static Site with(const std::string& list) {
    const ScopedEnvironment visible("CUDA_VISIBLE_DEVICES", list);
    return survey_site(std::nullopt);
  }

 private:
  ScopedEnvironment library_{"LINKGAIN_NVML_LIBRARY", NVML_DOUBLE};
  ScopedEnvironment scenario_{"LINKGAIN_NVML_SCENARIO", "h200x2"};
  ScopedEnvironment visible_{"CUDA_VISIBLE_DEVICES", ""};
  ScopedEnvironment order_{"CUDA_DEVICE_ORDER", ""};
};

TEST_F(SiteTest, HasAllGpusWithoutAList) {
  const Site site = survey_site(std::nullopt);
  EXPECT_EQ(site.gpus, 2);
  EXPECT_THAT(site.gpu_name, HasSubstr("H200"));
  EXPECT_TRUE(site.gpu_memory_bytes.has_value());
  EXPECT_EQ(site.no_gpus_reason, "");
}

TEST_F(SiteTest, ReadsTheListAsCudaDoes) {
  EXPECT_EQ(with("1,0").gpus, 2);
  EXPECT_EQ(with("1, 0").gpus, 2);
  EXPECT_EQ(with(" 0").gpus, 1);
  EXPECT_EQ(with(uuid(1) + ", " + uuid(0)).gpus, 2);
  EXPECT_EQ(with("GPU-0000").gpus, 0) << "fits both";
  for (const char* list : {"", "-1", "0,0", "none"}) EXPECT_EQ(with(list).gpus, 0) << list;
}

TEST_F(SiteTest, TakesTheBeginningOfAUuid) {
  const ScopedEnvironment scenario("LINKGAIN_NVML_SCENARIO", "lost-gpu-at-start");
  EXPECT_EQ(with("GPU-0000").gpus, 1);
}

TEST_F(SiteTest, LeavesToTheWorkerWhatOnlyCudaKnows) { EXPECT_EQ(with("MIG-aa11").gpus, 2); }

TEST_F(SiteTest, MeasuresTheGpusOfAListWithSpaces) {
  Site site = with("1, 0");
  site.has_nccl = true;
  EXPECT_EQ(make_plan({}, site).backend, BackendKind::nccl);
}

TEST_F(SiteTest, SaysWhoHidesGpus) {
  EXPECT_EQ(with("1").no_gpus_reason, "there is one GPU (CUDA_VISIBLE_DEVICES hides others)");
  EXPECT_EQ(with("0,0").no_gpus_reason, "no GPU is visible (CUDA_VISIBLE_DEVICES hides others)");
}

}  // namespace
}  // namespace linkgain
