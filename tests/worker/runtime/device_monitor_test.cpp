#include "linkgain/runtime/device_monitor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/telemetry/host.hpp"
#include "support/scoped_environment.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

/// Ranks on the GPUs of two hosts that are built alike, two on each.
std::vector<RankInfo> ranks_on_two_hosts(const Nvml& nvml) {
  std::vector<RankInfo> ranks;
  for (const std::string& host : {host_name(), std::string("another")}) {
    for (int i = 0; i < 2; ++i) {
      RankInfo& rank = ranks.emplace_back();
      rank.rank = static_cast<int>(ranks.size()) - 1;
      rank.host = host;
      rank.gpu.emplace();
      rank.gpu->pci_bus_id = nvml.device_by_index(i)->pci_bus_id().value_or("");
    }
  }
  return ranks;
}

TEST(DeviceMonitor, TellsLinksOfThisHostOnly) {
  const ScopedEnvironment library("LINKGAIN_NVML_LIBRARY", NVML_DOUBLE);
  const ScopedEnvironment scenario("LINKGAIN_NVML_SCENARIO", "h200x2");
  const auto nvml = Nvml::open();
  ASSERT_TRUE(nvml);
  const std::vector<RankInfo> ranks = ranks_on_two_hosts(*nvml);
  const std::vector<PairLink> links = DeviceMonitor(ranks[0].gpu).links(ranks);
  ASSERT_EQ(links.size(), 6U);
  for (const PairLink& link : links) {
    const bool here = link.from == 0 && link.to == 1;
    EXPECT_EQ(link.nvlink, here ? std::optional(true) : std::nullopt) << link.from << link.to;
    EXPECT_EQ(link.p2p, here ? std::optional(true) : std::nullopt) << link.from << link.to;
    EXPECT_EQ(link.nvlinks.has_value(), here) << link.from << link.to;
  }
}

GpuInfo gpu_at(const std::string& pci_bus_id) {
  GpuInfo gpu;
  gpu.pci_bus_id = pci_bus_id;
  return gpu;
}

TEST(DeviceMonitor, ReadsTheCountersOfItsOwnGpu) {
  const ScopedEnvironment library("LINKGAIN_NVML_LIBRARY", NVML_DOUBLE);
  const ScopedEnvironment scenario("LINKGAIN_NVML_SCENARIO", "h200x2");
  const ScopedEnvironment step("LINKGAIN_NVML_COUNTER_STEP", "1073741824");
  const ScopedEnvironment pcie_step("LINKGAIN_NVML_PCIE_STEP", "1048576");
  const DeviceMonitor monitor(gpu_at("00000000:00:07.0"));
  AbsentCounters why;
  const LinkCounters before = monitor.link_counters(why);
  EXPECT_EQ(before.nvlink_sent, std::int64_t{72} << 20) << "the second GPU's start";
  const LinkCounters moved = growth(before, monitor.link_counters(why));
  EXPECT_EQ(moved.nvlink_sent, std::int64_t{1} << 30);
  EXPECT_EQ(moved.nvlink_received, std::int64_t{1} << 30);
  EXPECT_EQ(moved.pcie_sent, std::int64_t{1} << 20) << "although they wrapped";
  EXPECT_EQ(moved.pcie_received, std::int64_t{1} << 20);
  EXPECT_EQ(why.nvlink + why.pcie, "");
}

/// The reasons of counters that are absent, alike for NVLink and PCIe.
std::string absent_counters(const std::optional<GpuInfo>& gpu) {
  AbsentCounters why;
  EXPECT_EQ(DeviceMonitor(gpu).link_counters(why), LinkCounters{});
  EXPECT_EQ(why.nvlink, why.pcie);
  return why.nvlink;
}

TEST(DeviceMonitor, SaysWhyThereAreNoCounters) {
  Situations answers;
  const ScopedEnvironment library("LINKGAIN_NVML_LIBRARY", NVML_DOUBLE);
  {
    const ScopedEnvironment scenario("LINKGAIN_NVML_SCENARIO", "failing-fields");
    answers.add("the driver fails", absent_counters(gpu_at("00000000:00:07.0")));
    answers.add("a GPU that is not there", absent_counters(gpu_at("00000000:99:00.0")));
    answers.add("a rank without a GPU", absent_counters(std::nullopt));
  }
  const ScopedEnvironment no_driver("LINKGAIN_NVML_SCENARIO", "no-driver");
  answers.add("no driver", absent_counters(gpu_at("00000000:00:07.0")));
  answers.expect_golden("absent_counters.txt");
}

TEST(DeviceMonitor, CompletesAGpu) {
  const ScopedEnvironment library("LINKGAIN_NVML_LIBRARY", NVML_DOUBLE);
  const ScopedEnvironment scenario("LINKGAIN_NVML_SCENARIO", "clock-limits");
  GpuInfo gpu;
  gpu.pci_bus_id = "00000000:00:07.0";
  DeviceMonitor(gpu).complete(gpu);
  EXPECT_EQ(gpu.nvlink_links, 18);
  EXPECT_EQ(gpu.pcie_width, 16);
  EXPECT_EQ(gpu.most_sm_clock_mhz, 1980);
  EXPECT_EQ(gpu.application_clock_mhz, 1410);
  EXPECT_EQ(gpu.power_limit_w, 700.0);
}

}  // namespace
}  // namespace linkgain::test
