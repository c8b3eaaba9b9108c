// Power, temperature, clocks, modes and memory through the NVML double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/nvml_scenario.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

TEST(NvmlState, OfAGpuInOrder) {
  const NvmlScenario h200("h200x2", NVML_DOUBLE);
  const Nvml::Device gpu = h200.gpu(1);
  EXPECT_EQ(gpu.temperature_c(), Reading<int>(47));
  EXPECT_EQ(gpu.slowdown_temperature_c(), Reading<int>(89));
  EXPECT_EQ(gpu.clock_event_reasons(), Reading<std::uint64_t>(4));
  EXPECT_EQ(gpu.persistence_mode(), Reading<bool>(true));
  EXPECT_EQ(gpu.compute_mode(), Reading<ComputeModeName>(ComputeModeName::shared));
  EXPECT_EQ(gpu.memory_remap_pending(), Reading<bool>(false));
}

TEST(NvmlState, PowerIsInWatts) {
  const NvmlScenario h200("h200x2", NVML_DOUBLE);
  const PowerState power = h200.gpu(0).power().value();
  EXPECT_DOUBLE_EQ(power.draw_w, 81.974);
  EXPECT_THAT(power.limit_w, Optional(700.0));
  EXPECT_THAT(power.default_limit_w, Optional(700.0));
  EXPECT_THAT(power.most_limit_w, Optional(700.0));
}

/// What each model's GPU is allowed, so that a double does not look broken.
TEST(NvmlState, NoGpuInOrderDrawsMoreThanItMay) {
  for (const char* name :
       {"h200x2", "titan-rtx-nv2", "rtx3090-nv4", "phb", "throttling", "pcie-trained-down"}) {
    const NvmlScenario scenario(name, NVML_DOUBLE);
    const PowerState idle = scenario.gpu(0).power().value();
    const PowerState busy = scenario.gpu(1).power().value();
    EXPECT_LT(idle.draw_w, busy.draw_w) << name;
    EXPECT_LE(busy.draw_w, busy.limit_w.value()) << name;
  }
  const NvmlScenario broken("draws-too-much", NVML_DOUBLE);
  EXPECT_GT(broken.gpu(1).power().value().draw_w, 600.0);
}

TEST(NvmlState, OfThrottlingGpus) {
  const NvmlScenario throttling("throttling", NVML_DOUBLE);
  const Nvml::Device hot = throttling.gpu(0);
  EXPECT_EQ(hot.temperature_c(), Reading<int>(96));
  EXPECT_EQ(hot.slowdown_temperature_c(), Reading<int>(95));
  EXPECT_EQ(hot.clock_event_reasons(), Reading<std::uint64_t>(0x48));
  EXPECT_THAT(hot.health().clock_event_reasons, Optional(std::uint64_t{0x48}));
  EXPECT_THAT(hot.power().value().limit_w, Optional(350.0));
  const Nvml::Device starved = throttling.gpu(1);
  EXPECT_EQ(starved.clock_event_reasons(), Reading<std::uint64_t>(0x88));
  EXPECT_THAT(starved.power().value().limit_w, Optional(200.0));
  EXPECT_THAT(starved.power().value().default_limit_w, Optional(350.0));
}

GpuInfo limits_of(const Nvml::Device& gpu) {
  GpuInfo info;  // what another reading left behind
  info.most_sm_clock_mhz = info.application_clock_mhz = info.most_custom_boost_clock_mhz = 1;
  info.power_limit_w = 1.0;
  gpu.read_limits(info);
  return info;
}

TEST(NvmlState, ReadsLimitsOfClocksAndPower) {
  const NvmlScenario h200("clock-limits", NVML_DOUBLE);
  const GpuInfo usual = limits_of(h200.gpu(0));
  EXPECT_THAT(usual.most_sm_clock_mhz, Optional(1980));
  EXPECT_THAT(usual.application_clock_mhz, Optional(1980));
  EXPECT_THAT(usual.most_custom_boost_clock_mhz, Optional(1980));
  EXPECT_THAT(usual.power_limit_w, Optional(700.0));
  EXPECT_THAT(limits_of(h200.gpu(1)).application_clock_mhz, Optional(1410));
  const NvmlScenario throttling("throttling", NVML_DOUBLE);
  EXPECT_THAT(limits_of(throttling.gpu(1)).power_limit_w, Optional(200.0));
}

TEST(NvmlState, LeavesLimitsOutThatTheDriverLacks) {
  const NvmlScenario rtx3090("rtx3090-nv4", NVML_DOUBLE);
  const GpuInfo some = limits_of(rtx3090.gpu(0));
  EXPECT_THAT(some.most_sm_clock_mhz, Optional(2100));
  EXPECT_EQ(some.application_clock_mhz, std::nullopt) << "not supported";
  EXPECT_EQ(some.most_custom_boost_clock_mhz, std::nullopt) << "0 MHz";
  const NvmlScenario old("h200x2", NVML_DOUBLE_OLD);
  EXPECT_EQ(limits_of(old.gpu(0)).most_custom_boost_clock_mhz, std::nullopt);
  EXPECT_THAT(limits_of(old.gpu(0)).application_clock_mhz, Optional(1980));
  const NvmlScenario minimal("", NVML_DOUBLE_MINIMAL);
  const NvmlScenario lost("lost-gpu", NVML_DOUBLE);
  for (const GpuInfo& none : {limits_of(minimal.gpu(0)), limits_of(lost.gpu(1))}) {
    EXPECT_EQ(none.most_sm_clock_mhz, std::nullopt);
    EXPECT_EQ(none.application_clock_mhz, std::nullopt);
    EXPECT_EQ(none.most_custom_boost_clock_mhz, std::nullopt);
    EXPECT_EQ(none.power_limit_w, std::nullopt);
  }
}

TEST(NvmlState, SeesModes) {
  const NvmlScenario off("persistence-off", NVML_DOUBLE);
  EXPECT_EQ(off.gpu(0).persistence_mode(), Reading<bool>(false));
  const NvmlScenario exclusive("exclusive", NVML_DOUBLE);
  EXPECT_EQ(exclusive.gpu(0).mig_mode(), Reading<bool>(false));
  EXPECT_EQ(exclusive.gpu(0).compute_mode(),
            Reading<ComputeModeName>(ComputeModeName::exclusive_process));
  const NvmlScenario prohibited("prohibited", NVML_DOUBLE);
  EXPECT_EQ(prohibited.gpu(0).compute_mode(),
            Reading<ComputeModeName>(ComputeModeName::prohibited));
}

TEST(NvmlState, SeesMemoryThatNeedsAReset) {
  for (const char* name : {"remap-pending", "remap-failed"}) {
    const NvmlScenario scenario(name, NVML_DOUBLE);
    EXPECT_EQ(scenario.gpu(0).memory_remap_pending(), Reading<bool>(false)) << name;
    EXPECT_EQ(scenario.gpu(1).memory_remap_pending(), Reading<bool>(true)) << name;
  }
  const NvmlScenario turing("titan-rtx-nv2", NVML_DOUBLE);
  EXPECT_THAT(turing.gpu(0).memory_remap_pending().reason(), HasSubstr("NVML error 3"));
}

TEST(NvmlState, SeesWhichGpusMigSplits) {
  const NvmlScenario one("mig-one", NVML_DOUBLE);
  EXPECT_EQ(one.gpu(0).mig_mode(), Reading<bool>(false));
  EXPECT_EQ(one.gpu(1).mig_mode(), Reading<bool>(true));
}

/// Every reading that carries a reason, by the function it needs.
std::vector<std::pair<std::string, std::string>> reasons_of(const Nvml::Device& gpu) {
  return {{"nvmlDeviceGetPowerUsage", gpu.power().reason()},
          {"nvmlDeviceGetTemperature", gpu.temperature_c().reason()},
          {"nvmlDeviceGetTemperatureThreshold", gpu.slowdown_temperature_c().reason()},
          {"nvmlDeviceGetPersistenceMode", gpu.persistence_mode().reason()},
          {"nvmlDeviceGetComputeMode", gpu.compute_mode().reason()},
          {"nvmlDeviceGetMigMode", gpu.mig_mode().reason()},
          {"nvmlDeviceGetCurrentClocksThrottleReasons", gpu.clock_event_reasons().reason()},
          {"nvmlDeviceGetRemappedRows", gpu.memory_remap_pending().reason()}};
}

TEST(NvmlState, ThatIsMissingSaysWhy) {
  const NvmlScenario lost("lost-gpu", NVML_DOUBLE);
  const NvmlScenario minimal("", NVML_DOUBLE_MINIMAL);
  Situations answers;
  answers.about("a GPU that is lost");
  for (const auto& [function, reason] : reasons_of(lost.gpu(1))) answers.add(function, reason);
  answers.about("a driver without the functions");
  for (const auto& [function, reason] : reasons_of(minimal.gpu(0))) {
    EXPECT_THAT(reason, HasSubstr(function));
    answers.add(function, reason);
  }
  answers.expect_golden("state_missing.txt");
  for (const auto& [function, reason] : reasons_of(lost.gpu(0))) EXPECT_EQ(reason, "") << function;
}

TEST(NvmlState, OfAnOldDriverLacksOnlyTheNewerFunctions) {
  const NvmlScenario old("h200x2", NVML_DOUBLE_OLD);
  EXPECT_THAT(old.gpu(0).memory_remap_pending().reason(), HasSubstr("nvmlDeviceGetRemappedRows"));
  EXPECT_THAT(old.gpu(0).pci_bus_id().reason(), HasSubstr("nvmlDeviceGetPciInfo_v3"));
  EXPECT_EQ(old.gpu(0).slowdown_temperature_c(), Reading<int>(89));
}

}  // namespace
}  // namespace linkgain::test
