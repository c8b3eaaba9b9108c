#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "linkgain/telemetry/nvml.hpp"
#include "support/nvml_scenario.hpp"
#include "support/process_support.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NvmlUse : public ::testing::Test {
 protected:
  void script(const std::string& text) const { std::ofstream(file()) << text; }
  std::string file() const { return folder_.path() / "use"; }

  TemporaryFolder folder_;
  ScopedEnvironment use_{"LINKGAIN_NVML_USE", file()};
  NvmlScenario h200_{"h200x2", NVML_DOUBLE};
};

TEST_F(NvmlUse, OfAnIdleGpuIsNothing) {
  EXPECT_EQ(h200_.gpu(0).busy_percent(), Reading<double>(0.0));
  EXPECT_THAT(h200_.gpu(0).processes().value(), IsEmpty());
}

TEST_F(NvmlUse, NamesProcesses) {
  script("1 97 4711:10240:/usr/bin/python3 12:?:?\n");
  EXPECT_EQ(h200_.gpu(0).busy_percent(), Reading<double>(0.0));
  EXPECT_EQ(h200_.gpu(1).busy_percent(), Reading<double>(97.0));
  EXPECT_THAT(h200_.gpu(1).processes().value(),
              ElementsAre(GpuProcess{4711, "python3", std::int64_t{10} << 30},
                          GpuProcess{12, "", std::nullopt}));
}

TEST_F(NvmlUse, MakesRoomForManyProcesses) {
  std::string line = "0 5";
  for (int pid = 1; pid <= 100; ++pid) line += " " + std::to_string(pid) + ":1:a";
  script(line);
  EXPECT_THAT(h200_.gpu(0).processes().value(), SizeIs(100));
}

TEST_F(NvmlUse, LeavesTheMpsServerOut) {
  script("0 0 9:30:nvidia-cuda-mps-server");
  EXPECT_THAT(h200_.gpu(0).processes().value(), IsEmpty());
}

TEST(NvmlUseMissing, SaysWhy) {
  const NvmlScenario lost("lost-gpu", NVML_DOUBLE);
  EXPECT_THAT(lost.gpu(1).busy_percent().reason(), HasSubstr("GPU is lost"));
  EXPECT_THAT(lost.gpu(1).processes().reason(), HasSubstr("GPU is lost"));
  const NvmlScenario old("h200x2", NVML_DOUBLE_OLD);
  EXPECT_THAT(old.gpu(0).busy_percent().reason(), HasSubstr("nvmlDeviceGetUtilizationRates"));
  EXPECT_THAT(old.gpu(0).processes().reason(), HasSubstr("nvmlDeviceGetComputeRunningProcesses"));
}

}  // namespace
}  // namespace linkgain::test
