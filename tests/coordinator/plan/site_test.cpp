#include "linkgain/plan/site.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/visible_text.hpp"
#include "linkgain/plan/run_plan.hpp"
#include "support/golden.hpp"
#include "support/process_support.hpp"
#include "support/scoped_environment.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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
  expect_golden(with("1").no_gpus_reason + "\n" + with("0,0").no_gpus_reason + "\n",
                "hidden_gpus.txt");
}

TEST(SlurmAllocation, IsWhatSlurmsVariablesSay) {
  EXPECT_EQ(slurm_allocation({{"SLURM_NTASKS", "4"}}), std::nullopt) << "no job";
  EXPECT_EQ(slurm_allocation({{"SLURM_JOB_ID", "7"}}), (Hosts{1, std::nullopt}));
  const Environment two{{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NUM_NODES", "2"}};
  EXPECT_EQ(slurm_allocation(two), (Hosts{2, std::nullopt}));
  Environment with_tasks = two;
  with_tasks["SLURM_NTASKS"] = "16";
  EXPECT_EQ(slurm_allocation(with_tasks), (Hosts{2, 16}));
  with_tasks["SLURM_NTASKS"] = "1";
  EXPECT_EQ(slurm_allocation(with_tasks), (Hosts{2, std::nullopt})) << "the script's own";
}

}  // namespace
}  // namespace linkgain::test
