// What the links counted, through the NVML double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nvml_readings.hpp"
#include "support/nvml_scenario.hpp"

namespace linkgain {
namespace {

using linkgain::testing::NvmlScenario;
using ::testing::Optional;

constexpr std::int64_t kMebibyte = 1 << 20;

TEST(NvmlCounters, AreBytesOverAllLinks) {
  const NvmlScenario scenario("h200x2", NVML_DOUBLE);
  // The double's start: 36 MiB for GPU 0, 72 for GPU 1, 36 KiB more received than sent.
  const LinkCounters first = scenario.gpu(0).link_counters();
  EXPECT_THAT(first.nvlink_sent, Optional(36 * kMebibyte));
  EXPECT_THAT(first.nvlink_received, Optional(36 * kMebibyte + 36 * 1024));
  EXPECT_THAT(first.pcie_sent, Optional(std::int64_t{0xffff0000}));
  EXPECT_THAT(first.pcie_received, Optional(std::int64_t{0xffff0000}));
  EXPECT_THAT(scenario.gpu(1).link_counters().nvlink_sent, Optional(72 * kMebibyte));
}

TEST(NvmlCounters, GrowByWhatMoved) {
  const NvmlScenario scenario("rtx3090-nv4", NVML_DOUBLE, "1073741824");
  const LinkCounters before = scenario.gpu(1).link_counters();
  const LinkCounters after = scenario.gpu(1).link_counters();
  EXPECT_EQ(*after.nvlink_sent - *before.nvlink_sent, 1024 * kMebibyte);
  EXPECT_EQ(*after.nvlink_received - *before.nvlink_received, 1024 * kMebibyte);
  EXPECT_EQ(after.pcie_sent, before.pcie_sent);
}

TEST(NvmlCounters, OfPcieWrapAt32Bits) {
  const NvmlScenario scenario("h200x2", NVML_DOUBLE, "0", "1048576");
  const LinkCounters before = scenario.gpu(0).link_counters();
  const LinkCounters after = scenario.gpu(0).link_counters();
  EXPECT_LT(*after.pcie_sent, *before.pcie_sent);
  EXPECT_EQ((*after.pcie_sent - *before.pcie_sent) & 0xffffffff, kMebibyte);
  EXPECT_EQ((*after.pcie_received - *before.pcie_received) & 0xffffffff, kMebibyte);
  EXPECT_EQ(after.nvlink_sent, before.nvlink_sent);
}

TEST(NvmlCounters, ThatFailAreAbsentOneByOne) {
  const NvmlScenario scenario("some-fields", NVML_DOUBLE);
  AbsentCounters why;
  const LinkCounters counters = scenario.gpu(0).link_counters(&why);
  EXPECT_TRUE(counters.nvlink_sent.has_value());
  EXPECT_EQ(counters.nvlink_received, std::nullopt);
  EXPECT_TRUE(counters.pcie_sent.has_value());
  EXPECT_EQ(counters.pcie_received, std::nullopt);
  EXPECT_EQ(why.nvlink, "Not Supported (NVML error 3)");
  EXPECT_EQ(why.pcie, "Not Supported (NVML error 3)");
}

struct Absence {
  const char* scenario;
  const char* library;
  const char* why;
};

class NvmlCountersAbsent : public ::testing::TestWithParam<Absence> {};

TEST_P(NvmlCountersAbsent, SayWhy) {
  const NvmlScenario scenario(GetParam().scenario, GetParam().library);
  AbsentCounters why;
  const LinkCounters counters = scenario.gpu(1).link_counters(&why);
  EXPECT_EQ(counters, LinkCounters{});
  EXPECT_EQ(why.nvlink, GetParam().why);
  EXPECT_EQ(why.pcie, GetParam().why);
}

INSTANTIATE_TEST_SUITE_P(
    Reasons, NvmlCountersAbsent,
    ::testing::Values(Absence{"no-fields", NVML_DOUBLE, "Not Supported (NVML error 3)"},
                      Absence{"failing-fields", NVML_DOUBLE, "Unknown Error (NVML error 999)"},
                      Absence{"lost-gpu", NVML_DOUBLE, "GPU is lost (NVML error 15)"},
                      Absence{"", NVML_DOUBLE_MINIMAL,
                              "this driver's NVML has no nvmlDeviceGetFieldValues"}));

TEST(NvmlCounters, OfPcieAreThereWithoutNvlink) {
  const NvmlScenario scenario("no-nvlink", NVML_DOUBLE);
  AbsentCounters why;
  const LinkCounters counters = scenario.gpu(0).link_counters(&why);
  EXPECT_EQ(counters.nvlink_sent, std::nullopt);
  EXPECT_TRUE(counters.pcie_sent.has_value());
  EXPECT_EQ(why.nvlink, "Not Supported (NVML error 3)");
  EXPECT_EQ(why.pcie, "");
}

void expect_errors(const Reading<NvlinkErrors>& errors, std::int64_t replays,
                   std::int64_t recoveries, std::int64_t crc) {
  ASSERT_TRUE(errors.measured()) << errors.reason();
  EXPECT_EQ(errors.value().replays, replays);
  EXPECT_EQ(errors.value().recoveries, recoveries);
  EXPECT_EQ(errors.value().crc, crc);
}

TEST(NvmlErrors, AreSummedByFieldsOrLinkByLink) {
  const NvmlScenario healthy("h200x2", NVML_DOUBLE);
  expect_errors(healthy.gpu(0).nvlink_errors(), 0, 0, 0);
  const NvmlScenario hopper("link-errors", NVML_DOUBLE);  // fields 161-163
  expect_errors(hopper.gpu(0).nvlink_errors(), 3, 1, 5);
  const NvmlScenario ampere("link-errors-3090", NVML_DOUBLE);  // flit CRC alone, not the data's
  expect_errors(ampere.gpu(0).nvlink_errors(), 3, 1, 4);
}

TEST(NvmlErrors, OfDataThatAHealthyGpuShowsLinkByLinkAreLeftOut) {
  const NvmlScenario link_by_link("no-fields", NVML_DOUBLE);
  expect_errors(link_by_link.gpu(0).nvlink_errors(), 0, 0, 0);
}

TEST(NvmlErrors, CountOnlyLinksThatAreUp) {
  const NvmlScenario no_bridge("rtx3090-no-bridge", NVML_DOUBLE);
  expect_errors(no_bridge.gpu(0).nvlink_errors(), 0, 0, 0);
}

TEST(NvmlErrors, AreMissingWithTheReason) {
  EXPECT_EQ(NvmlScenario("no-nvlink", NVML_DOUBLE).gpu(0).nvlink_errors().reason(),
            "Not Supported (NVML error 3)");
  EXPECT_EQ(NvmlScenario("lost-gpu", NVML_DOUBLE).gpu(1).nvlink_errors().reason(),
            "GPU is lost (NVML error 15)");
}

TEST(NvmlRate, GetsBackTheFractionThatTheDriverCutsOff) {
  using nvml_readings::nvlink_rate_gb_per_s;
  EXPECT_DOUBLE_EQ(nvlink_rate_gb_per_s(14062), 14.0625);   // GA102
  EXPECT_DOUBLE_EQ(nvlink_rate_gb_per_s(25781), 25.78125);  // Volta, Turing
  EXPECT_DOUBLE_EQ(nvlink_rate_gb_per_s(26562), 26.5625);   // Hopper
  EXPECT_DOUBLE_EQ(nvlink_rate_gb_per_s(53125), 53.125);    // Blackwell
  EXPECT_DOUBLE_EQ(nvlink_rate_gb_per_s(20000), 20.0);      // Pascal
  EXPECT_DOUBLE_EQ(nvlink_rate_gb_per_s(25000), 25.0);
  EXPECT_DOUBLE_EQ(nvlink_rate_gb_per_s(26500), 26.5);
  EXPECT_DOUBLE_EQ(nvlink_rate_gb_per_s(26563), 26.563);  // no multiple begins like this
}

}  // namespace
}  // namespace linkgain
