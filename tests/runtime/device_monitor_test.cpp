#include "linkgain/runtime/device_monitor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/telemetry/host.hpp"
#include "support/scoped_environment.hpp"

namespace linkgain {
namespace {

using testing::ScopedEnvironment;

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
}  // namespace linkgain
