#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "linkgain/telemetry/nvml.hpp"
#include "linkgain/telemetry/topology_reader.hpp"
#include "support/nvml_scenario.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;
using testing::SizeIs;

// The GPU's own links through the NVML double: NVLink, PCIe, and what they counted.

/// Matches a reason with this code of NVML's.
auto says_error(int code) { return HasSubstr("NVML error " + std::to_string(code) + ")"); }

constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
constexpr int kGpuIsLost = 15;
constexpr int kUnknownError = 999;

struct MachineLinks {
  const char* scenario;
  int links;
  int active;
  std::optional<int> version;
  std::optional<double> rate;
  NvlinkRemote remote;
};

constexpr MachineLinks kMachines[] = {{"h200x2", 18, 18, 6, 26.5625, NvlinkRemote::nvswitch},
                                      {"h200x8", 18, 18, 6, 26.5625, NvlinkRemote::nvswitch},
                                      {"titan-rtx-nv2", 2, 2, 2, 25.78125, NvlinkRemote::gpu},
                                      {"rtx3090-nv4", 4, 4, 4, 14.0625, NvlinkRemote::gpu},
                                      {"p2p-refused", 4, 4, 4, 14.0625, NvlinkRemote::gpu},
                                      {"one-link-down", 18, 17, 6, 26.5625, NvlinkRemote::nvswitch},
                                      {"titan-rtx-phb", 2, 0, {}, {}, NvlinkRemote::unknown},
                                      {"rtx3090-no-bridge", 4, 0, {}, {}, NvlinkRemote::unknown}};

TEST(NvmlLinks, AreThoseOfEachMachine) {
  for (const MachineLinks& expected : kMachines) {
    SCOPED_TRACE(expected.scenario);
    const NvmlScenario scenario(expected.scenario, NVML_DOUBLE);
    ASSERT_NE(scenario.nvml(), nullptr) << scenario.reason();
    for (const int index : {0, 1}) {
      const Nvml::Device gpu = scenario.gpu(index);
      ASSERT_TRUE(gpu.nvlink_count().measured()) << gpu.nvlink_count().reason();
      EXPECT_EQ(gpu.nvlink_count().value(), expected.links);
      const GpuInfo info = links_of(gpu);
      EXPECT_THAT(info.nvlink_links, Optional(expected.links));
      EXPECT_THAT(info.nvlink_links_active, Optional(expected.active));
      EXPECT_EQ(info.nvlink_version, expected.version);
      EXPECT_EQ(info.nvlink_rate_gb_per_s, expected.rate);
      EXPECT_EQ(info.nvlink_total_gb_per_s.value_or(0),
                expected.active * expected.rate.value_or(0));
      const NvlinkState last = gpu.nvlink(expected.links - 1).value();
      EXPECT_EQ(last.active, expected.active > 0);
      EXPECT_EQ(last.version.optional(), expected.version);
      EXPECT_EQ(last.rate_gb_per_s.optional(), expected.rate);
      EXPECT_EQ(last.remote, expected.remote);
    }
  }
}

TEST(NvmlLink, ThatIsDownIsThereButNotActive) {
  const NvmlScenario scenario("one-link-down", NVML_DOUBLE);
  const NvlinkState down = scenario.gpu(0).nvlink(0).value();
  EXPECT_FALSE(down.active);
  EXPECT_THAT(down.version.reason(), says_error(kNotSupported));
  EXPECT_FALSE(down.rate_gb_per_s.measured());
  EXPECT_EQ(down.remote, NvlinkRemote::unknown);
  EXPECT_EQ(down.remote_pci_bus_id, "");
  EXPECT_TRUE(scenario.gpu(0).nvlink(1).value().active);
}

TEST(NvmlLink, ThatCannotBeReadLeavesTheirNumberUnknown) {
  const NvmlScenario scenario("one-link-unreadable", NVML_DOUBLE);
  const GpuInfo info = links_of(scenario.gpu(0));
  EXPECT_THAT(info.nvlink_links, Optional(18));
  EXPECT_EQ(info.nvlink_links_active, std::nullopt) << "not the 17 others";
  EXPECT_THAT(info.nvlink_rate_gb_per_s, Optional(26.5625));
}

TEST(NvmlLink, ThatIsSlowestGivesTheRateOfOneAndCountsInTheSum) {
  const NvmlScenario scenario("one-link-slow", NVML_DOUBLE);
  const GpuInfo info = links_of(scenario.gpu(0));
  EXPECT_THAT(info.nvlink_rate_gb_per_s, Optional(26.5625 / 2));
  EXPECT_THAT(info.nvlink_total_gb_per_s, Optional(17.5 * 26.5625));
}

TEST(NvmlLink, NamesTheGpuAtItsOtherEnd) {
  const NvmlScenario bridge("rtx3090-nv4", NVML_DOUBLE);
  EXPECT_EQ(bridge.gpu(0).nvlink(3).value().remote_pci_bus_id, "00000000:07:00.0");
  EXPECT_EQ(bridge.gpu(1).nvlink(3).value().remote_pci_bus_id, "00000000:06:00.0");
  const NvmlScenario guest("h200x2", NVML_DOUBLE);  // which does not see the switches
  EXPECT_EQ(guest.gpu(0).nvlink(17).value().remote_pci_bus_id, "");
}

TEST(NvmlLink, ThatTheGpuLacksIsMissingWithNvmlsWords) {
  const NvmlScenario scenario("h200x2", NVML_DOUBLE);
  const auto beyond = scenario.gpu(0).nvlink(18);
  EXPECT_FALSE(beyond.measured());
  EXPECT_THAT(beyond.reason(), says_error(kInvalidArgument));
  EXPECT_FALSE(scenario.gpu(0).nvlink(-1).measured());
}

TEST(NvmlLink, OnAGpuWithoutNvlinkIsMissing) {
  for (const char* name : {"no-nvlink", "phb"}) {
    const NvmlScenario scenario(name, NVML_DOUBLE);
    EXPECT_THAT(scenario.gpu(0).nvlink_count().reason(), says_error(kNotSupported));
    EXPECT_EQ(scenario.gpu(0).nvlink_count().why(), WhyMissing::unsupported);
    EXPECT_THAT(scenario.gpu(0).nvlink(0).reason(), says_error(kNotSupported));
  }
}

TEST(NvmlLink, OfAGpuThatSaysItHasNoneIsZero) {
  const NvmlScenario scenario("nvlink-count-0", NVML_DOUBLE);
  EXPECT_EQ(scenario.gpu(0).nvlink_count(), Reading<int>(0));
  const GpuInfo info = links_of(scenario.gpu(0));
  EXPECT_THAT(info.nvlink_links, Optional(0));
  EXPECT_THAT(info.nvlink_links_active, Optional(0));
}

TEST(NvmlLink, IsFoundByStatesWhereNoFieldWorks) {
  for (const char* name : {"no-fields", "failing-fields"}) {
    const NvmlScenario scenario(name, NVML_DOUBLE);
    EXPECT_EQ(scenario.gpu(0).nvlink_count(), Reading<int>(18)) << name;
    const GpuInfo info = links_of(scenario.gpu(0));
    EXPECT_THAT(info.nvlink_links_active, Optional(18)) << name;
    EXPECT_THAT(info.nvlink_version, Optional(6)) << name;
    EXPECT_EQ(info.nvlink_rate_gb_per_s, std::nullopt) << name;
  }
}

TEST(NvmlLink, WithoutARateSaysWhy) {
  const NvmlScenario none("no-fields", NVML_DOUBLE);
  EXPECT_THAT(none.gpu(0).nvlink(0).value().rate_gb_per_s.reason(), says_error(kNotSupported));
  const NvmlScenario failing("failing-fields", NVML_DOUBLE);
  EXPECT_THAT(failing.gpu(0).nvlink(0).value().rate_gb_per_s.reason(), says_error(kUnknownError));
}

TEST(NvmlLink, OfAnOldDriverHasNoOtherEnd) {
  const NvmlScenario old("titan-rtx-nv2", NVML_DOUBLE_OLD);
  const NvlinkState link = old.gpu(0).nvlink(0).value();
  EXPECT_TRUE(link.active);
  EXPECT_EQ(link.rate_gb_per_s, Reading<double>(25.78125));
  EXPECT_EQ(link.remote, NvlinkRemote::unknown);
  EXPECT_EQ(link.remote_pci_bus_id, "");
}

TEST(NvmlLink, WithoutAnyFunctionSaysWhichIsMissing) {
  const NvmlScenario minimal("", NVML_DOUBLE_MINIMAL);
  const Nvml::Device gpu = minimal.gpu(0);
  EXPECT_THAT(gpu.nvlink_count().reason(), HasSubstr("nvmlDeviceGetNvLinkState"));
  EXPECT_THAT(gpu.nvlink(0).reason(), HasSubstr("nvmlDeviceGetNvLinkState"));
  EXPECT_THAT(gpu.pcie().most_width.reason(), HasSubstr("nvmlDeviceGetMaxPcieLinkWidth"));
  EXPECT_THAT(gpu.pci_bus_id().reason(), HasSubstr("nvmlDeviceGetPciInfo_v3"));
}

TEST(NvmlPcie, IsReadNowAndAtMost) {
  const NvmlScenario scenario("pcie-trained-down", NVML_DOUBLE);
  const PcieInfo good = scenario.gpu(0).pcie();
  EXPECT_EQ(good.generation, Reading<int>(3));
  EXPECT_EQ(good.width, Reading<int>(16));
  const PcieInfo slow = scenario.gpu(1).pcie();
  EXPECT_EQ(slow.generation, Reading<int>(1));
  EXPECT_EQ(slow.width, Reading<int>(4));
  EXPECT_EQ(slow.most_generation, Reading<int>(3));
  EXPECT_EQ(slow.most_width, Reading<int>(16));
  EXPECT_THAT(links_of(scenario.gpu(1)).pcie_width, Optional(4));
}

TEST(NvmlPcie, IdIsInLowerCase) {
  const NvmlScenario eight("h200x8", NVML_DOUBLE);
  EXPECT_EQ(eight.gpu(0).pci_bus_id(), Reading<std::string>("00000000:00:06.0"));
  EXPECT_EQ(eight.gpu(4).pci_bus_id(), Reading<std::string>("00000000:00:0a.0"));
}

TEST(NvmlLostGpu, AnswersEveryQuestionWithTheReason) {
  const NvmlScenario scenario("lost-gpu", NVML_DOUBLE);
  const Nvml::Device lost = scenario.gpu(1);
  EXPECT_THAT(lost.nvlink_count().reason(), says_error(kGpuIsLost));
  EXPECT_THAT(lost.nvlink(0).reason(), says_error(kGpuIsLost));
  EXPECT_THAT(lost.pci_bus_id().reason(), says_error(kGpuIsLost));
  EXPECT_THAT(lost.pcie().generation.reason(), says_error(kGpuIsLost));
  EXPECT_EQ(lost.temperature_c().why(), WhyMissing::lost);
  GpuInfo info;
  info.nvlink_links_active = 18;  // what another reading left behind
  info.nvlink_rate_gb_per_s = 26.5625;
  info.pcie_width = 16;
  lost.read_links(info);
  EXPECT_EQ(info.nvlink_links, std::nullopt);
  EXPECT_EQ(info.nvlink_links_active, std::nullopt);
  EXPECT_EQ(info.nvlink_rate_gb_per_s, std::nullopt);
  EXPECT_EQ(info.pcie_width, std::nullopt);
  EXPECT_EQ(lost.health(), Health{});
  EXPECT_TRUE(scenario.gpu(0).nvlink(0).measured());
}

TEST(NvmlLostGpu, MayHaveNoHandle) {
  const NvmlScenario scenario("lost-gpu-at-start", NVML_DOUBLE);
  EXPECT_EQ(scenario.nvml()->device_count(), 2);
  std::string reason;
  EXPECT_TRUE(scenario.nvml()->device_by_index(0, &reason).has_value());
  EXPECT_EQ(reason, "");
  EXPECT_FALSE(scenario.nvml()->device_by_index(1, &reason).has_value());
  EXPECT_THAT(reason, says_error(kGpuIsLost));
}

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
  EXPECT_THAT(why.nvlink, says_error(kNotSupported));
  EXPECT_THAT(why.pcie, says_error(kNotSupported));
}

TEST(NvmlCounters, ThatAreAllAbsentSayWhy) {
  struct Row {
    const char* scenario;
    const char* library;
    const char* why;
  };
  for (const Row& row : {Row{"no-fields", NVML_DOUBLE, "(NVML error 3)"},
                         Row{"failing-fields", NVML_DOUBLE, "(NVML error 999)"},
                         Row{"lost-gpu", NVML_DOUBLE, "(NVML error 15)"},
                         Row{"", NVML_DOUBLE_MINIMAL, "nvmlDeviceGetFieldValues"}}) {
    const NvmlScenario scenario(row.scenario, row.library);
    AbsentCounters why;
    EXPECT_EQ(scenario.gpu(1).link_counters(&why), LinkCounters{});
    EXPECT_THAT(why.nvlink, HasSubstr(row.why));
    EXPECT_THAT(why.pcie, HasSubstr(row.why));
  }
}

TEST(NvmlCounters, OfPcieAreThereWithoutNvlink) {
  const NvmlScenario scenario("no-nvlink", NVML_DOUBLE);
  AbsentCounters why;
  const LinkCounters counters = scenario.gpu(0).link_counters(&why);
  EXPECT_EQ(counters.nvlink_sent, std::nullopt);
  EXPECT_TRUE(counters.pcie_sent.has_value());
  EXPECT_THAT(why.nvlink, says_error(kNotSupported));
  EXPECT_EQ(why.pcie, "");
}

TEST(NvmlErrors, AreSummedByFieldsOrLinkByLink) {
  struct Row {
    const char* scenario;
    std::int64_t replays, recoveries, crc;
  };
  for (const Row& row : {Row{"h200x2", 0, 0, 0}, Row{"link-errors", 3, 1, 5},  // by fields 161-163
                         Row{"link-errors-3090", 3, 1, 4},      // flit CRC alone, not the data's
                         Row{"no-fields", 0, 0, 0},             // link by link, without the data's
                         Row{"rtx3090-no-bridge", 0, 0, 0}}) {  // of links that are up
    SCOPED_TRACE(row.scenario);
    const NvmlScenario scenario(row.scenario, NVML_DOUBLE);
    const Reading<NvlinkErrors> errors = scenario.gpu(0).nvlink_errors();
    ASSERT_TRUE(errors.measured()) << errors.reason();
    EXPECT_EQ(errors.value().replays, row.replays);
    EXPECT_EQ(errors.value().recoveries, row.recoveries);
    EXPECT_EQ(errors.value().crc, row.crc);
  }
}

TEST(NvmlErrors, AreMissingWithTheReason) {
  EXPECT_THAT(NvmlScenario("no-nvlink", NVML_DOUBLE).gpu(0).nvlink_errors().reason(),
              says_error(kNotSupported));
  EXPECT_THAT(NvmlScenario("lost-gpu", NVML_DOUBLE).gpu(1).nvlink_errors().reason(),
              says_error(kGpuIsLost));
}

TEST(NvmlRate, GetsBackTheFractionThatTheDriverCutsOff) {
  EXPECT_DOUBLE_EQ(nvlink_rate_gb_per_s(14062), 14.0625);   // GA102
  EXPECT_DOUBLE_EQ(nvlink_rate_gb_per_s(25781), 25.78125);  // Volta, Turing
  EXPECT_DOUBLE_EQ(nvlink_rate_gb_per_s(26562), 26.5625);   // Hopper
  EXPECT_DOUBLE_EQ(nvlink_rate_gb_per_s(53125), 53.125);    // Blackwell
  EXPECT_DOUBLE_EQ(nvlink_rate_gb_per_s(20000), 20.0);      // Pascal
  EXPECT_DOUBLE_EQ(nvlink_rate_gb_per_s(25000), 25.0);
  EXPECT_DOUBLE_EQ(nvlink_rate_gb_per_s(26500), 26.5);
  EXPECT_DOUBLE_EQ(nvlink_rate_gb_per_s(26563), 26.563);  // no multiple begins like this
}

using Numbers = Reading<std::vector<int>>;

NvlinkState to_gpu(double rate) {
  return {.active = true,
          .version = 5,
          .rate_gb_per_s = rate,
          .remote = NvlinkRemote::gpu,
          .remote_pci_bus_id = "00000000:07:00.0"};
}

Reading<NvlinkState> unanswered() { return Missing{"Unknown Error"}; }

TEST(NvlinkSummary, NamesTheLinksThatAreSlowerAndThoseThatAreDown) {
  const NvlinkInfo info = summary_of(4, {NvlinkState{}, to_gpu(14.0), to_gpu(7.0), NvlinkState{}});
  EXPECT_EQ(info.possible, Reading<int>(4));
  EXPECT_EQ(info.active, Reading<int>(2));
  EXPECT_EQ(info.version, Reading<int>(5));
  EXPECT_EQ(info.rate_gb_per_s, Reading<double>(14.0));
  EXPECT_THAT(info.slower, ::testing::ElementsAre(SlowNvlink{2, 7.0}));
  EXPECT_EQ(rate_of(info), Reading<double>(21.0));
  EXPECT_EQ(info.switched, Reading<bool>(false));
  EXPECT_EQ(info.dark, Numbers(std::vector<int>{0, 3}));
}

TEST(NvlinkSummary, OfALinkThatCannotBeReadKnowsNoNumbers) {
  const NvlinkInfo info = summary_of(2, {to_gpu(14.0), unanswered()});
  EXPECT_EQ(info.version, Reading<int>(5));
  EXPECT_EQ(info.rate_gb_per_s, Reading<double>(14.0));
  EXPECT_EQ(info.active.reason(), "Unknown Error");
  EXPECT_EQ(info.switched.reason(), "Unknown Error");
  EXPECT_EQ(info.dark.reason(), "Unknown Error");
}

TEST(NvlinkSummary, HasNoRateWhereOneLinksIsNotKnown) {
  NvlinkState silent = to_gpu(14.0);
  silent.rate_gb_per_s = Missing{"Not Supported"};
  for (const NvlinkStates& links : {NvlinkStates{to_gpu(7.0), silent, to_gpu(14.0)},
                                    NvlinkStates{silent, to_gpu(7.0), to_gpu(14.0)}}) {
    const NvlinkInfo info = summary_of(3, links);
    EXPECT_EQ(info.rate_gb_per_s.reason(), "Not Supported");
    EXPECT_TRUE(info.slower.empty());
    EXPECT_EQ(rate_of(info).reason(), "Not Supported");
  }
}

TEST(NvlinkSummary, SaysWhyThereIsNoVersion) {
  Situations answers;
  answers.add("version of no link", summary_of(0, {}).version.reason());
  answers.add("version of a link that is down", summary_of(1, {NvlinkState{}}).version.reason());
  const NvmlScenario one_down("one-link-down", NVML_DOUBLE);
  answers.add("rate of a link that is down",
              one_down.gpu(0).nvlink(0).value().rate_gb_per_s.reason());
  answers.expect_golden("nvlink_missing.txt");
  NvlinkState silent = to_gpu(14.0);
  silent.version = Missing{"Unknown Error"};
  EXPECT_EQ(summary_of(1, {silent}).version.reason(), "Unknown Error");
  const NvlinkInfo none = summary_of(Missing{"Not Supported"}, {});
  EXPECT_EQ(none.version.reason(), "Not Supported");
  EXPECT_EQ(none.active.reason(), "Not Supported");
  EXPECT_EQ(none.dark.reason(), "Not Supported");
}

// What lies between two GPUs, through the NVML double.

std::string text_of(const Reading<P2pStatus>& status) {
  if (!status.measured()) return "not known: " + status.reason();
  return status.value().ok ? "yes" : "no: " + status.value().why_not;
}

TEST(NvmlP2p, SaysYesOrWhyNot) {
  Situations answers;
  for (const char* name : {"h200x2", "titan-rtx-phb", "no-nvlink", "p2p-refused", "p2p-read-only",
                           "p2p-unknown", "p2p-error", "p2p-reasons", "lost-gpu", ""}) {
    const bool minimal = *name == '\0';
    const NvmlScenario scenario(name, minimal ? NVML_DOUBLE_MINIMAL : NVML_DOUBLE);
    ASSERT_NE(scenario.nvml(), nullptr) << scenario.reason();
    const Nvml::Device from = scenario.gpu(0);
    const Nvml::Device to = scenario.gpu(1);
    answers.about(minimal ? "a driver without the function" : name);
    answers.add("read", text_of(from.p2p_read(to)));
    answers.add("write", text_of(from.p2p_write(to)));
    answers.add("atomics", text_of(from.p2p_atomics(to)));
    answers.add("over NVLink", text_of(from.p2p_over_nvlink(to)));
  }
  answers.expect_golden("p2p.txt");
}

TEST(NvmlAncestor, IsNamedAsNvidiaSmiDoes) {
  const NvmlScenario two("h200x2", NVML_DOUBLE);
  EXPECT_EQ(two.gpu(0).common_ancestor(two.gpu(1)), Reading<Ancestor>(Ancestor::phb));
  EXPECT_EQ(two.gpu(0).common_ancestor(two.gpu(0)), Reading<Ancestor>(Ancestor::self));
  const NvmlScenario eight("h200x8", NVML_DOUBLE);
  EXPECT_EQ(eight.gpu(0).common_ancestor(eight.gpu(3)), Reading<Ancestor>(Ancestor::node));
  EXPECT_EQ(eight.gpu(3).common_ancestor(eight.gpu(4)), Reading<Ancestor>(Ancestor::sys));
}

/// Takes a machine on which GPU n is at level n of NVML's list from GPU 0.
TEST(NvmlAncestor, KnowsEveryLevel) {
  const NvmlScenario levels("every-level", NVML_DOUBLE);
  const std::vector<Ancestor> expected{Ancestor::pix, Ancestor::pix,  Ancestor::pxb,
                                       Ancestor::phb, Ancestor::node, Ancestor::sys};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(levels.gpu(0).common_ancestor(levels.gpu(static_cast<int>(i) + 1)),
              Reading<Ancestor>(expected[i]));
  }
  EXPECT_THAT(levels.gpu(0).common_ancestor(levels.gpu(7)).reason(), HasSubstr("60"));
}

TEST(NvmlAncestor, IsPartOfALink) {
  const NvmlScenario levels("every-level", NVML_DOUBLE);
  EXPECT_EQ(levels.gpu(0).link_to(levels.gpu(3)).ancestor, Ancestor::pxb);
  EXPECT_EQ(levels.gpu(0).link_to(levels.gpu(7)).ancestor, std::nullopt)
      << "not known to this version";
}

TEST(NvmlAncestor, IsMissingWithTheReason) {
  const NvmlScenario lost("lost-gpu", NVML_DOUBLE);
  EXPECT_THAT(lost.gpu(0).common_ancestor(lost.gpu(1)).reason(), HasSubstr("NVML error 15"));
  const NvmlScenario minimal("", NVML_DOUBLE_MINIMAL);
  EXPECT_THAT(minimal.gpu(0).common_ancestor(minimal.gpu(1)).reason(),
              HasSubstr("nvmlDeviceGetTopologyCommonAncestor"));
}

/// Returns links between the scenario's GPUs of these numbers; -1 is one that is not known.
std::vector<PairLink> pair_links_of(const char* name, const std::vector<int>& gpus) {
  const NvmlScenario scenario(name, NVML_DOUBLE);
  std::vector<std::optional<Nvml::Device>> devices;
  for (const int gpu : gpus) {
    devices.push_back(gpu < 0 ? std::nullopt : std::optional(scenario.gpu(gpu)));
  }
  return links_between(devices);
}

std::vector<std::string> labels_of(const char* name, const std::vector<int>& gpus) {
  std::vector<std::string> labels;
  for (const PairLink& link : pair_links_of(name, gpus)) labels.push_back(label_of(link));
  return labels;
}

TEST(PairLinks, AreNamedAsTheTopologyNamesThem) {
  EXPECT_THAT(labels_of("h200x2", {0, 1}), ElementsAre("NV18"));
  EXPECT_THAT(labels_of("titan-rtx-nv2", {1, 0}), ElementsAre("NV2"));
  EXPECT_THAT(labels_of("titan-rtx-phb", {0, 1}), ElementsAre("PHB"));
  EXPECT_THAT(labels_of("p2p-refused", {0, 1}), ElementsAre("NV4"));
}

TEST(PairLinks, AreThereForEveryPairOnce) {
  const std::vector<PairLink> links = pair_links_of("h200x8", {0, 1, 2, 3, 4, 5, 6, 7});
  ASSERT_THAT(links, SizeIs(28));
  for (const PairLink& link : links) {
    EXPECT_LT(link.from, link.to);
    EXPECT_EQ(link.nvlinks, 18);
    EXPECT_EQ(link.p2p, true);
  }
  EXPECT_EQ(links.back().from, 6);
  EXPECT_EQ(links.back().to, 7);
}

TEST(PairLinks, KnowNothingOfADeviceThatIsNotThere) {
  const std::vector<PairLink> links = pair_links_of("h200x2", {0, -1, 1});
  ASSERT_THAT(links, SizeIs(3));
  EXPECT_EQ(label_of(links[0]), "?");
  EXPECT_EQ(links[0].p2p, std::nullopt);
  EXPECT_EQ(label_of(links[1]), "NV18");
  EXPECT_EQ(links[2].from, 1);
  EXPECT_EQ(links[2].to, 2);
}

TEST(PairLinks, AreNotCountedWhereTheirOtherEndIsNotKnown) {
  NvlinkState to_switch;
  to_switch.active = true;
  to_switch.remote = NvlinkRemote::nvswitch;
  const std::string here = "00000000:07:00.0";
  EXPECT_EQ(joining_links({to_switch}, {unanswered()}, here).reason(), "Unknown Error");
  EXPECT_EQ(joining_links({to_gpu(14.0)}, {unanswered()}, "").reason(), "Unknown Error");
  EXPECT_EQ(joining_links({to_gpu(14.0)}, {unanswered()}, here), Reading<int>(1))
      << "this end names the other";
  EXPECT_EQ(joining_links({to_switch}, {to_switch, unanswered()}, here), Reading<int>(1));
  EXPECT_EQ(joining_links({to_switch}, {}, here), Reading<int>(0)) << "it has no NVLink";
}

TEST(PairLinks, AreNotCountedWhereTheGpuHasNone) {
  const std::vector<PairLink> links = pair_links_of("no-nvlink", {0, 1});
  ASSERT_THAT(links, SizeIs(1));
  EXPECT_EQ(links[0].nvlinks, std::nullopt);
  EXPECT_EQ(links[0].nvlink, false);
}

}  // namespace
}  // namespace linkgain::test
