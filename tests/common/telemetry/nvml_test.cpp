#include "linkgain/telemetry/nvml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "support/nvml_scenario.hpp"
#include "support/program.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

/// The double unless another library is named.
class Double : public NvmlScenario {
 public:
  explicit Double(const std::string& scenario, const std::string& library = NVML_DOUBLE)
      : NvmlScenario(scenario, library) {}
};

TEST(Nvml, SaysWhyTheLibraryIsMissing) {
  const Double missing("h200x2", "libno-such-nvml.so.1");
  EXPECT_EQ(missing.nvml(), nullptr);
  EXPECT_THAT(missing.reason(), HasSubstr("libno-such-nvml.so.1"));
}

TEST(Nvml, RefusesAPipe) {
  const ScratchFolder folder;
  const std::string pipe = folder.path() / "libnvidia-ml.so.1";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const Double wrong("h200x2", pipe);
  EXPECT_EQ(wrong.nvml(), nullptr);
  EXPECT_THAT(wrong.reason(), HasSubstr("regular file"));
}

TEST(Nvml, SaysWhyAnotherLibraryIsNoNvml) {
  const Double wrong("h200x2", "libc.so.6");
  EXPECT_EQ(wrong.nvml(), nullptr);
  EXPECT_THAT(wrong.reason(), HasSubstr("nvmlInit_v2"));
}

TEST(Nvml, SaysWhyTheDriverDoesNotStart) {
  const Double broken("no-driver");
  EXPECT_EQ(broken.nvml(), nullptr);
  EXPECT_THAT(broken.reason(), HasSubstr("NVML error 9"));
}

TEST(Nvml, OpensWithoutAskingForAReason) {
  const ScopedEnvironment library("LINKGAIN_NVML_LIBRARY", "libno-such-nvml.so.1");
  EXPECT_EQ(Nvml::open(), nullptr);
}

TEST(Nvml, DescribesTheMachine) {
  const Double h200("h200x2");
  ASSERT_NE(h200.nvml(), nullptr) << h200.reason();
  EXPECT_THAT(h200.nvml()->driver_version(), Optional(std::string("580.159.04")));
  EXPECT_EQ(h200.nvml()->device_count(), 2);
  EXPECT_THAT(h200.gpu(0).name(), Optional(std::string("NVIDIA H200")));
  EXPECT_THAT(h200.gpu(0).memory_bytes(), Optional(std::int64_t{150754820096}));
  EXPECT_THAT(h200.gpu(0).exclusive_compute_mode(), Optional(false));
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
  const Double h200("h200x2");
  const GpuInfo info = links_of(h200.gpu(0));
  EXPECT_THAT(info.nvlink_links, Optional(18));
  EXPECT_THAT(info.nvlink_links_active, Optional(18));
  EXPECT_THAT(info.nvlink_version, Optional(6));
  EXPECT_THAT(info.pcie_generation, Optional(5));
  EXPECT_THAT(info.pcie_width, Optional(16));
}

TEST(Nvml, CountsALinkThatIsDownAsInactive) {
  const Double down("one-link-down");
  const GpuInfo info = links_of(down.gpu(0));
  EXPECT_THAT(info.nvlink_links, Optional(18));
  EXPECT_THAT(info.nvlink_links_active, Optional(17));
  EXPECT_THAT(info.nvlink_version, Optional(6));  // told by another link
}

TEST(Nvml, CountsLinksByTheirStatesWhereTheFieldIsMissing) {
  const Double titan("titan-rtx-nv2");
  const GpuInfo info = links_of(titan.gpu(1));
  EXPECT_THAT(info.nvlink_links, Optional(2));
  EXPECT_THAT(info.nvlink_links_active, Optional(2));
  EXPECT_THAT(info.nvlink_version, Optional(2));
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

struct PairExpectation {
  const char* scenario;
  std::optional<bool> p2p;
  std::optional<bool> nvlink;
};

class NvmlPair : public ::testing::TestWithParam<PairExpectation> {};

TEST_P(NvmlPair, TellsThePathToAPeer) {
  const Double scenario(GetParam().scenario);
  ASSERT_NE(scenario.nvml(), nullptr) << scenario.reason();
  const PairLink link = scenario.gpu(0).link_to(scenario.gpu(1));
  EXPECT_EQ(link.p2p, GetParam().p2p);
  EXPECT_EQ(link.nvlink, GetParam().nvlink);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, NvmlPair,
                         ::testing::Values(PairExpectation{"h200x2", true, true},
                                           PairExpectation{"titan-rtx-nv2", true, true},
                                           PairExpectation{"phb", false, false},
                                           PairExpectation{"p2p-read-only", false, true},
                                           PairExpectation{"p2p-unknown", {}, {}},
                                           PairExpectation{"p2p-error", {}, {}}));

TEST(Nvml, SeesExclusiveComputeMode) {
  const Double exclusive("exclusive");
  EXPECT_THAT(exclusive.gpu(0).exclusive_compute_mode(), Optional(true));
}

TEST(Nvml, MissingFunctionsGiveAbsentReadings) {
  const Double old("", NVML_DOUBLE_MINIMAL);
  ASSERT_NE(old.nvml(), nullptr) << old.reason();
  EXPECT_EQ(old.nvml()->device_count(), 2);
  EXPECT_EQ(old.nvml()->driver_version(), std::nullopt);
  EXPECT_FALSE(old.nvml()->device_by_pci_bus_id("0000:06:00.0").has_value());
  const Nvml::Device gpu = old.gpu(0);
  EXPECT_EQ(gpu.name(), std::nullopt);
  EXPECT_EQ(gpu.uuid(), std::nullopt);
  EXPECT_EQ(gpu.memory_bytes(), std::nullopt);
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

}  // namespace
}  // namespace linkgain::test
