#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "doctor_support.hpp"
#include "linkgain/diagnostics/link_verdict.hpp"

namespace linkgain::test {
namespace {

using enum CheckVerdict;
using ::testing::HasSubstr;

/// Returns two GPUs with this many links, joined by bridges.
Survey bridged(int active0, int active1, int possible) {
  Survey survey = healthy_survey();
  for (TopologyGpu& gpu : survey.topology.gpus) {
    gpu.nvlink.possible = possible;
    gpu.nvlink.switched = false;
  }
  survey.topology.gpus[0].nvlink.active = active0;
  survey.topology.gpus[1].nvlink.active = active1;
  return survey;
}

TEST(DoctorNvlink, AllLinksActive) {
  expect_finding(healthy_survey(), "nvlink-links", "GPU0", ok, "18 of 18 links active");
  expect_finding(pcie_survey(), "nvlink-links", "GPU0", ok, "has no NVLink");
  Survey survey = healthy_survey();
  survey.topology.gpus[0].nvlink.possible = 0;
  expect_finding(survey, "nvlink-links", "GPU0", ok, "has no NVLink");
}

TEST(DoctorNvlink, APairMayBeSplitOverContainers) {
  Survey survey = healthy_survey();
  survey.topology.gpus[0].nvlink.peers = {survey.topology.gpus[1].pci_bus_id};
  expect_finding(survey, "nvlink-peers", "GPU0", ok, "are here");
  survey.topology.gpus[0].nvlink.peers = {"00000000:41:00.0"};
  expect_finding(survey, "nvlink-peers", "GPU0", warning, "00000000:41:00.0, which is not here");
}

TEST(DoctorNvlink, ALinkDownOnASwitchIsAProblem) {
  Survey survey = healthy_survey();
  survey.topology.gpus[0].nvlink.active = 17;
  survey.topology.gpus[0].nvlink.dark = std::vector<int>{5};
  expect_finding(survey, "nvlink-links", "GPU0", problem, "17 of 18 links active, down: link 5");
  EXPECT_THAT(finding_of(survey, "nvlink-links", "GPU0").advice, HasSubstr("fabricmanager"));
}

TEST(DoctorNvlink, ALinkDownOnASingleBridgeIsAProblem) {
  expect_finding(bridged(3, 3, 4), "nvlink-links", "GPU0", problem, "3 of 4");
  EXPECT_THAT(finding_of(bridged(3, 3, 4), "nvlink-links", "GPU0").advice, HasSubstr("reseat"));
}

TEST(DoctorNvlink, FewerBridgesThanFitMayBeMeant) {
  expect_finding(bridged(8, 8, 12), "nvlink-links", "GPU0", warning, "8 of 12");
  expect_finding(bridged(11, 12, 12), "nvlink-links", "GPU0", problem, "11 of 12");
  expect_finding(bridged(11, 12, 12), "nvlink-links", "GPU1", ok, "12 of 12");
}

/// Expects the last two links of each six to lead nowhere.
TEST(DoctorNvlink, ThreeBridgesCarryTwelveLinks) {
  Survey survey = bridged(12, 12, 18);
  for (const char* name : {"NVIDIA H100 NVL", "NVIDIA H100 PCIe"}) {
    for (TopologyGpu& gpu : survey.topology.gpus) {
      gpu.name = name;
      gpu.nvlink.dark = std::vector<int>{4, 5, 10, 11, 16, 17};
    }
    expect_finding(survey, "nvlink-links", "GPU0", ok, "12 of 18 links active");
    EXPECT_EQ(link_answer(survey.topology).judgement, ok);
    survey.topology.gpus[0].nvlink.dark = std::vector<int>{3, 5, 10, 11, 16, 17};
    expect_finding(survey, "nvlink-links", "GPU0", warning, "12 of 18 links active, down: link 3");
    EXPECT_EQ(link_answer(survey.topology).judgement, warning);
  }
  expect_finding(bridged(12, 12, 18), "nvlink-links", "GPU0", warning, "12 of 18");
}

TEST(DoctorNvlink, LinksThatAreSlowerThanOthersAreAWarning) {
  expect_finding(healthy_survey(), "nvlink-rate", "GPU0", ok, "26.5625 GB/s on every link");
  Survey survey = healthy_survey();
  survey.topology.gpus[1].nvlink.slower = {{3, 13.28125}, {11, 13.28125}};
  expect_finding(survey, "nvlink-rate", "GPU1", warning,
                 "link 3 at 13.2812, link 11 at 13.2812 of 26.5625 GB/s");
  EXPECT_THAT(finding_of(survey, "nvlink-rate", "GPU1").advice, HasSubstr("fabricmanager"));
  survey.topology.gpus[0].nvlink.rate_gb_per_s = Missing{"Not Supported"};
  expect_finding(survey, "nvlink-rate", "GPU0", not_checkable, "Not Supported");
}

TEST(DoctorNvlink, NoLinkActive) {
  expect_finding(bridged(0, 0, 4), "nvlink-links", "GPU0", warning, "0 of 4");
  expect_finding(bridged(0, 4, 4), "nvlink-links", "GPU0", warning, "0 of 4");
  Survey switched = bridged(0, 4, 4);
  switched.topology.gpus[1].nvlink.switched = true;
  expect_finding(switched, "nvlink-links", "GPU0", problem, "0 of 4");
  EXPECT_THAT(finding_of(switched, "nvlink-links", "GPU0").advice, HasSubstr("fabricmanager"));
  Survey alone = bridged(0, 0, 4);
  alone.gpus.pop_back();
  alone.topology.gpus.pop_back();
  alone.topology.pairs.clear();
  expect_finding(alone, "nvlink-links", "GPU0", ok, "no second GPU");
}

/// Returns two GPUs joined by a bridge, and a third without.
Survey three_and_a_bridge(int active, int possible) {
  Survey survey = bridged(active, active, possible);
  survey.gpus.push_back(healthy_gpu(2));
  survey.topology.gpus.push_back(survey.topology.gpus[0]);
  survey.topology.gpus[2].index = 2;
  survey.topology.gpus[2].nvlink.active = 0;
  survey.topology.gpus[2].nvlink.switched = Missing{"no link is active"};
  return survey;
}

TEST(DoctorNvlink, OneBridgeForThreeGpusIsNoProblem) {
  const Survey all = three_and_a_bridge(4, 4);
  expect_finding(all, "nvlink-links", "GPU0", ok, "4 of 4");
  expect_finding(all, "nvlink-links", "GPU2", warning, "0 of 4");
  const Survey some = three_and_a_bridge(4, 12);
  expect_finding(some, "nvlink-links", "GPU1", warning, "4 of 12");
  expect_finding(some, "nvlink-links", "GPU2", warning, "0 of 12");
}

TEST(DoctorNvlink, NotCheckable) {
  Survey survey = healthy_survey();
  survey.topology.gpus[0].nvlink.possible = Missing{"Unknown Error"};
  survey.topology.gpus[1].nvlink.active = Missing{"Timeout"};
  expect_finding(survey, "nvlink-links", "GPU0", not_checkable, "Unknown Error");
  expect_finding(survey, "nvlink-links", "GPU1", not_checkable, "Timeout");
}

TEST(DoctorNvlink, Errors) {
  Survey survey = healthy_survey();
  expect_finding(survey, "nvlink-errors", "GPU0", ok, "none");
  survey.gpus[0].nvlink_errors = NvlinkErrors{.replays = 3, .recoveries = 1, .crc = 7};
  survey.gpus[1].nvlink_errors = Missing{"Not Supported"};
  expect_finding(survey, "nvlink-errors", "GPU0", warning,
                 "7 CRC errors, 3 replays, 1 recovery since");
  expect_finding(survey, "nvlink-errors", "GPU1", not_checkable, "Not Supported");
}

TEST(DoctorP2p, Allowed) {
  expect_finding(healthy_survey(), "p2p", "GPU0-GPU1", ok, "over NVLink (NV18)");
  expect_finding(pcie_survey(), "p2p", "GPU0-GPU1", ok, "over PCIe (PHB)");
}

TEST(DoctorP2p, NvlinkThereAndP2pRefusedIsAProblem) {
  Survey survey = bridged(4, 4, 4);
  survey.topology.pairs[0] = nvlink_pair(0, 1, 4);
  survey.topology.pairs[0].write = P2pStatus{false, "GPU not supported"};
  expect_finding(survey, "p2p", "GPU0-GPU1", problem, "NV4, writes refused: GPU not supported");
  EXPECT_THAT(finding_of(survey, "p2p", "GPU0-GPU1").advice, HasSubstr("bridge"));
  survey = healthy_survey();
  survey.topology.pairs[1].read = P2pStatus{false, "disabled"};  // the other way
  expect_finding(survey, "p2p", "GPU0-GPU1", problem, "reads refused: disabled");
  EXPECT_THAT(finding_of(survey, "p2p", "GPU0-GPU1").advice, HasSubstr("fabricmanager"));
}

/// Keeps a bridge from being replaced for what the driver says of the board.
TEST(DoctorP2p, ARefusalThatNamesTheChipsetDoesNotBlameTheBridge) {
  Survey survey = bridged(4, 4, 4);
  survey.topology.pairs[0] = nvlink_pair(0, 1, 4);
  survey.topology.pairs[0].read = P2pStatus{false, "chipset not supported", true};
  expect_finding(survey, "p2p", "GPU0-GPU1", problem, "NV4, reads refused: chipset not supported");
  EXPECT_THAT(finding_of(survey, "p2p", "GPU0-GPU1").advice,
              ::testing::AllOf(HasSubstr("firmware"), ::testing::Not(HasSubstr("bad"))));
}

TEST(DoctorP2p, AGpuThatIsSplitByMigHasNoFault) {
  Survey survey = healthy_survey();
  survey.topology.gpus[1].mig_mode = true;
  for (TopologyPair& pair : survey.topology.pairs) pair.read = P2pStatus{false, "not supported"};
  expect_finding(survey, "p2p", "GPU0-GPU1", warning, "reads refused: MIG is on");
  survey.topology.gpus[1].nvlink.active = 0;
  expect_finding(survey, "nvlink-links", "GPU1", ok, "0 of 18 links active; MIG is on");
  survey.topology.gpus[1].mig_mode = false;
  expect_finding(survey, "p2p", "GPU0-GPU1", problem, "reads refused: not supported");
  expect_finding(survey, "nvlink-links", "GPU1", problem, "0 of 18 links active");
}

TEST(DoctorP2p, RefusedWithoutNvlinkIsAWarning) {
  Survey survey = pcie_survey();
  survey.topology.pairs[0].read = P2pStatus{false, "chipset not supported"};
  expect_finding(survey, "p2p", "GPU0-GPU1", warning,
                 "reads refused: chipset not supported (joined by PHB)");
}

/// Has a driver that does not tell the number of links; it may tell whether P2P uses them.
Survey uncounted(Reading<P2pStatus> over_nvlink) {
  Survey survey = healthy_survey();
  for (TopologyPair& pair : survey.topology.pairs) {
    pair.nvlinks = Missing{"this driver's NVML is too old"};
    pair.over_nvlink = over_nvlink;
  }
  return survey;
}

Reading<P2pStatus> not_told() { return Missing{"Unknown Error"}; }

TEST(DoctorP2p, GrantedOverPcieToGeForceIsOfAPatchedDriver) {
  Survey survey = pcie_survey();
  expect_finding(survey, "p2p", "GPU0-GPU1", ok, "over PCIe (PHB)");
  for (TopologyGpu& gpu : survey.topology.gpus) gpu.name = "NVIDIA GeForce RTX 5090";
  expect_finding(survey, "p2p", "GPU0-GPU1", warning, "over PCIe (PHB)");
  EXPECT_THAT(finding_of(survey, "p2p", "GPU0-GPU1").advice, HasSubstr("doctor --prove"));
}

TEST(DoctorNcclPath, IsSaidWithItsReason) {
  const char* const check = "nccl-path";
  const char* const pair = "GPU0-GPU1";
  expect_finding(healthy_survey(), check, pair, ok, "P2P over NVLink (NV18)");
  Survey survey = pcie_survey();
  expect_finding(survey, check, pair, warning, "(PHB: root ports 0000:00:01.0 and 0000:00:02.0)");
  EXPECT_THAT(finding_of(survey, check, pair).advice, HasSubstr("NCCL_P2P_LEVEL=SYS"));
  survey.software.nccl.in_force = {{"NCCL_P2P_LEVEL", "SYS", "/etc/nccl.conf"}};
  expect_finding(survey, check, pair, ok, "within NCCL_P2P_LEVEL=SYS");
  survey.software.nccl.in_force = {{"NCCL_P2P_DISABLE", "1"}};
  expect_finding(survey, check, pair, warning, "host memory: NCCL_P2P_DISABLE=1 forbids P2P");
  const std::string advice = finding_of(survey, check, pair).advice;
  EXPECT_THAT(advice, HasSubstr("unset NCCL_P2P_DISABLE"));
  EXPECT_THAT(advice, testing::Not(HasSubstr("LEVEL=SYS")));
  survey.software.nccl.in_force.clear();
  for (TopologyPair& each : survey.topology.pairs) each.ancestor = Ancestor::pix;
  expect_finding(survey, check, pair, ok, "P2P over PCIe");
  for (TopologyPair& each : survey.topology.pairs) each.read = P2pStatus{false, "not supported"};
  expect_finding(survey, check, pair, ok, "host memory: the driver refuses");
  for (TopologyPair& each : survey.topology.pairs) each.read = Missing{"Unknown Error"};
  expect_finding(survey, check, pair, not_checkable, "Unknown Error");
}

TEST(DoctorP2p, UncountedLinksAreNoPcie) {
  expect_finding(uncounted(P2pStatus{true, {}}), "p2p", "GPU0-GPU1", ok, "over NVLink (NV?)");
  expect_finding(uncounted(P2pStatus{false, "not supported"}), "p2p", "GPU0-GPU1", ok,
                 "over PCIe (PHB)");
  expect_finding(uncounted(not_told()), "p2p", "GPU0-GPU1", ok, "not known whether over NVLink");
}

TEST(DoctorP2p, UncountedLinksAndP2pRefused) {
  const auto refused = [](Reading<P2pStatus> over_nvlink) {
    Survey survey = uncounted(std::move(over_nvlink));
    survey.topology.pairs[0].read = P2pStatus{false, "disabled"};
    return survey;
  };
  expect_finding(refused(P2pStatus{true, {}}), "p2p", "GPU0-GPU1", problem, "NV?, reads refused");
  expect_finding(refused(P2pStatus{false, "no"}), "p2p", "GPU0-GPU1", warning, "joined by PHB");
  expect_finding(refused(not_told()), "p2p", "GPU0-GPU1", warning,
                 "not known whether NVLink joins the GPUs");
}

TEST(DoctorP2p, NotCheckable) {
  Survey survey = pcie_survey();
  survey.topology.pairs[0].read = Missing{"Unknown Error"};
  expect_finding(survey, "p2p", "GPU0-GPU1", not_checkable, "Unknown Error");
}

/// Adds copies of that rate both ways between the two GPUs.
Survey with_copies(Survey survey, Reading<double> there, Reading<double> back) {
  const auto& gpus = survey.topology.gpus;
  survey.peer_copies = std::vector<PeerCopy>{{gpus[0].pci_bus_id, gpus[1].pci_bus_id, there},
                                             {gpus[1].pci_bus_id, gpus[0].pci_bus_id, back}};
  return survey;
}

bool is_checked(const Survey& survey, std::string_view id) {
  return std::ranges::any_of(check_machine(survey),
                             [&](const Finding& finding) { return finding.id == id; });
}

TEST(DoctorBandwidth, IsMeasuredByCopies) {
  expect_finding(with_copies(healthy_survey(), 391.0, 396.0), "nvlink-bandwidth", "GPU0-GPU1", ok,
                 "391.0 GB/s");
  expect_finding(with_copies(healthy_survey(), 391.0, 44.0), "nvlink-bandwidth", "GPU0-GPU1",
                 warning, "44.0 GB/s");
  expect_finding(with_copies(healthy_survey(), 391.0, Missing{"out of memory"}), "nvlink-bandwidth",
                 "GPU0-GPU1", not_checkable, "out of memory");
}

TEST(DoctorBandwidth, IsAskedForWhereTheLinksPayloadIsNotPublic) {
  Survey survey = bridged(4, 4, 4);
  for (TopologyGpu& gpu : survey.topology.gpus) {
    gpu.nvlink.version = 4;
    gpu.nvlink.rate_gb_per_s = 14.0625;
  }
  expect_finding(survey, "nvlink-bandwidth", "GPU0-GPU1", not_checkable, "3.0");
  EXPECT_EQ(finding_of(survey, "nvlink-bandwidth", "GPU0-GPU1").advice, "linkgain doctor --load");
  expect_finding(with_copies(survey, 52.0, 52.0), "nvlink-bandwidth", "GPU0-GPU1", ok, "56.2 GB/s");
  expect_finding(with_copies(survey, 30.0, 52.0), "nvlink-bandwidth", "GPU0-GPU1", warning,
                 "30.0 GB/s");
}

TEST(DoctorBandwidth, IsNotAskedForElsewhere) {
  EXPECT_FALSE(is_checked(healthy_survey(), "nvlink-bandwidth"));
  EXPECT_FALSE(is_checked(with_copies(pcie_survey(), 12.0, 12.0), "nvlink-bandwidth"));
}

}  // namespace
}  // namespace linkgain::test
