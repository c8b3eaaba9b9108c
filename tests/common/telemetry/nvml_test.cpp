#include "linkgain/telemetry/nvml.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "support/nvml_scenario.hpp"
#include "support/process_support.hpp"
#include "support/program.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::SizeIs;

/// The double unless another library is named.
class Double : public NvmlScenario {
 public:
  explicit Double(const std::string& scenario, const std::string& library = NVML_DOUBLE)
      : NvmlScenario(scenario, library) {}
};

TEST(Nvml, SaysWhyItDoesNotOpen) {
  const ScratchFolder folder;
  const std::string pipe = folder / "libnvidia-ml.so.1";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  struct Row {
    const char* scenario;
    std::string library;
    const char* reason;
  };
  for (const Row& row : std::vector<Row>{{"h200x2", "libno-such-nvml.so.1", "libno-such-nvml.so.1"},
                                         {"h200x2", pipe, "regular file"},
                                         {"h200x2", "libc.so.6", "nvmlInit_v2"},
                                         {"no-driver", NVML_DOUBLE, "NVML error 9"}}) {
    const Double closed(row.scenario, row.library);
    EXPECT_EQ(closed.nvml(), nullptr) << row.reason;
    EXPECT_THAT(closed.reason(), HasSubstr(row.reason));
  }
}

TEST(Nvml, SaysWhatToDoWhereTheDriverDoesNotStart) {
  Situations advice;
  for (const char* scenario : {"no-driver", "no-permission", "blocked", "driver-mismatch"}) {
    const Double closed(scenario);
    std::string reason;
    std::string what_to_do;
    EXPECT_EQ(Nvml::open(&reason, &what_to_do), nullptr);
    advice.add(reason, what_to_do);
  }
  advice.expect_golden("nvml_advice.txt");
}

TEST(Nvml, OpensWithoutAskingForAReason) {
  const ScopedEnvironment library("LINKGAIN_NVML_LIBRARY", "libno-such-nvml.so.1");
  EXPECT_EQ(Nvml::open(), nullptr);
}

TEST(Nvml, DescribesTheMachine) {
  const Double h200("h200x2");
  ASSERT_NE(h200.nvml(), nullptr) << h200.reason();
  EXPECT_THAT(h200.nvml()->driver_version(), Optional(std::string("580.159.04")));
  EXPECT_EQ(h200.nvml()->cuda_version(), "13.0");
  EXPECT_EQ(h200.nvml()->device_count(), 2);
  EXPECT_THAT(h200.gpu(0).name(), Optional(std::string("NVIDIA H200")));
  EXPECT_THAT(h200.gpu(0).memory_bytes(), Optional(std::int64_t{150754820096}));
  EXPECT_THAT(h200.gpu(0).sm_architecture(), Optional(90));
  EXPECT_THAT(Double("titan-rtx-nv2").gpu(0).sm_architecture(), Optional(75));
  EXPECT_THAT(h200.gpu(0).exclusive_compute_mode(), Optional(false));
  EXPECT_THAT(Double("exclusive").gpu(0).exclusive_compute_mode(), Optional(true));
}

TEST(Nvml, FindsGpusByEveryName) {
  const Double h200("h200x2");
  const std::string second = h200.gpu(1).uuid().value();
  EXPECT_NE(h200.gpu(0).uuid(), second);
  for (const std::string id : {"0000:00:07.0", "00000000:00:07.0"}) {
    const auto gpu = h200.nvml()->device_by_pci_bus_id(id);
    ASSERT_TRUE(gpu.has_value()) << id;
    EXPECT_EQ(gpu->uuid(), second) << id;
  }
}

TEST(Nvml, UnknownGpusAreAbsent) {
  const Double h200("h200x2");
  EXPECT_FALSE(h200.nvml()->device_by_index(2).has_value());
  EXPECT_FALSE(h200.nvml()->device_by_index(-1).has_value());
  EXPECT_FALSE(h200.nvml()->device_by_pci_bus_id("0000:ff:00.0").has_value());
  EXPECT_FALSE(h200.nvml()->device_by_pci_bus_id("nonsense").has_value());
}

TEST(Nvml, ReadsHealthWithUnits) {
  const Double h200("h200x2");
  const Health idle = h200.gpu(0).health();
  EXPECT_THAT(idle.temperature_c, Optional(45));
  ASSERT_TRUE(idle.power_w.has_value());
  EXPECT_DOUBLE_EQ(*idle.power_w, 81.974);
  EXPECT_THAT(idle.sm_clock_mhz, Optional(345));
  EXPECT_THAT(idle.clock_event_reasons, Optional(std::uint64_t{1}));
  EXPECT_THAT(h200.gpu(1).sm_clock_mhz(), Optional(1980));
  EXPECT_THAT(h200.gpu(1).health().clock_event_reasons, Optional(std::uint64_t{4}));
}

TEST(Nvml, CountsLinks) {
  struct Row {
    const char* scenario;
    int gpu, links, active, version;
  };
  for (const Row& row : {Row{"h200x2", 0, 18, 18, 6},
                         Row{"one-link-down", 0, 18, 17, 6},   // another link tells the version
                         Row{"titan-rtx-nv2", 1, 2, 2, 2}}) {  // by states: it lacks the field
    const Double scenario(row.scenario);
    const GpuInfo info = links_of(scenario.gpu(row.gpu));
    EXPECT_THAT(info.nvlink_links, Optional(row.links)) << row.scenario;
    EXPECT_THAT(info.nvlink_links_active, Optional(row.active)) << row.scenario;
    EXPECT_THAT(info.nvlink_version, Optional(row.version)) << row.scenario;
  }
  const Double h200("h200x2");
  EXPECT_THAT(links_of(h200.gpu(0)).pcie_generation, Optional(5));
  EXPECT_THAT(links_of(h200.gpu(0)).pcie_width, Optional(16));
}

TEST(Nvml, WithoutNvlinkNothingIsInvented) {
  const Double phb("phb");
  GpuInfo info;
  info.nvlink_links = 4;  // what another reading left behind
  info.nvlink_links_active = 4;
  info.nvlink_version = 4;
  phb.gpu(0).read_links(info);
  EXPECT_EQ(info.nvlink_links, std::nullopt);
  EXPECT_EQ(info.nvlink_links_active, std::nullopt);
  EXPECT_EQ(info.nvlink_version, std::nullopt);
  EXPECT_THAT(info.pcie_width, Optional(16));
}

TEST(Nvml, TellsThePathToAPeer) {
  struct Row {
    const char* scenario;
    std::optional<bool> p2p, nvlink;
  };
  for (const Row& row :
       {Row{"h200x2", true, true}, Row{"titan-rtx-nv2", true, true}, Row{"phb", false, false},
        Row{"p2p-read-only", false, true}, Row{"p2p-unknown", {}, {}}, Row{"p2p-error", {}, {}}}) {
    const Double scenario(row.scenario);
    ASSERT_NE(scenario.nvml(), nullptr) << scenario.reason();
    const PairLink link = scenario.gpu(0).link_to(scenario.gpu(1));
    EXPECT_EQ(link.p2p, row.p2p) << row.scenario;
    EXPECT_EQ(link.nvlink, row.nvlink) << row.scenario;
  }
}

TEST(Nvml, MissingFunctionsGiveAbsentReadings) {
  const Double old("", NVML_DOUBLE_MINIMAL);
  ASSERT_NE(old.nvml(), nullptr) << old.reason();
  EXPECT_EQ(old.nvml()->device_count(), 2);
  EXPECT_EQ(old.nvml()->driver_version(), std::nullopt);
  EXPECT_EQ(old.nvml()->cuda_version(), "");
  EXPECT_FALSE(old.nvml()->device_by_pci_bus_id("0000:06:00.0").has_value());
  const Nvml::Device gpu = old.gpu(0);
  EXPECT_EQ(gpu.name(), std::nullopt);
  EXPECT_EQ(gpu.uuid(), std::nullopt);
  EXPECT_EQ(gpu.memory_bytes(), std::nullopt);
  EXPECT_EQ(gpu.sm_architecture(), std::nullopt);
  EXPECT_EQ(gpu.exclusive_compute_mode(), std::nullopt);
  EXPECT_EQ(gpu.health(), Health{});
  const GpuInfo info = links_of(gpu);
  EXPECT_EQ(info.nvlink_links, std::nullopt);
  EXPECT_EQ(info.nvlink_links_active, std::nullopt);
  EXPECT_EQ(info.pcie_generation, std::nullopt);
  const PairLink link = gpu.link_to(old.gpu(1));
  EXPECT_EQ(link.p2p, std::nullopt);
  EXPECT_EQ(link.nvlink, std::nullopt);
}

TEST(Nvml, CanBeOpenedAgainAfterItsEnd) {
  { const Double first("h200x2"); }
  const Double second("phb");
  ASSERT_NE(second.nvml(), nullptr) << second.reason();
  EXPECT_THAT(second.gpu(0).name(), Optional(std::string("NVIDIA L4")));
}

// Power, temperature, clocks, modes and memory through the NVML double.

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

/// Bounds draws by what each model's GPU is allowed, so that a double does not look broken.
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
  EXPECT_EQ(Double("persistence-off").gpu(0).persistence_mode(), Reading<bool>(false));
  EXPECT_EQ(Double("exclusive").gpu(0).mig_mode(), Reading<bool>(false));
  EXPECT_EQ(Double("mig-one").gpu(0).mig_mode(), Reading<bool>(false));
  EXPECT_EQ(Double("mig-one").gpu(1).mig_mode(), Reading<bool>(true));
  using Mode = Reading<ComputeModeName>;
  EXPECT_EQ(Double("exclusive").gpu(0).compute_mode(), Mode(ComputeModeName::exclusive_process));
  EXPECT_EQ(Double("prohibited").gpu(0).compute_mode(), Mode(ComputeModeName::prohibited));
}

TEST(NvmlState, SeesMemoryThatNeedsAReset) {
  for (const char* name : {"remap-pending", "remap-failed"}) {
    const Double scenario(name);
    EXPECT_EQ(scenario.gpu(0).memory_remap_pending(), Reading<bool>(false)) << name;
    EXPECT_EQ(scenario.gpu(1).memory_remap_pending(), Reading<bool>(true)) << name;
  }
  EXPECT_THAT(Double("titan-rtx-nv2").gpu(0).memory_remap_pending().reason(),
              HasSubstr("NVML error 3"));
}

/// Returns every reading that carries a reason, by the function it needs.
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

class NvmlUse : public ::testing::Test {
 protected:
  void script(const std::string& text) const { std::ofstream(file()) << text; }
  std::string file() const { return folder_ / "use"; }

  ScratchFolder folder_;
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
