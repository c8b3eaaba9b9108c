#include <gtest/gtest.h>

#include <utility>

#include "doctor_support.hpp"

namespace linkgain::test {
namespace {

using enum CheckVerdict;
using ::testing::HasSubstr;

/// Sets GPU0's link now, of generation 5 with 16 lanes at most.
Survey with_link(int generation, int width) {
  Survey survey = healthy_survey();
  survey.topology.gpus[0].pcie.generation = generation;
  survey.topology.gpus[0].pcie.width = width;
  return survey;
}

/// Sets GPU0's link under load, where it was trained down before.
Survey loaded_link(int generation, int width) {
  Survey survey = with_link(1, 16);
  GpuLoad load = healthy_load();
  load.pcie_generation = generation;
  load.pcie_width = width;
  survey.gpus[0].load = load;
  return survey;
}

TEST(DoctorPcie, LinkNow) {
  expect_finding(with_link(5, 16), "pcie-link", "GPU0", ok, "generation 5 x16 of 5 x16");
  expect_finding(with_link(1, 16), "pcie-link", "GPU0", not_checkable, "needs --load");
  Survey busy = with_link(3, 16);
  busy.gpus[0].clock_events = std::uint64_t{0};
  expect_finding(busy, "pcie-link", "GPU0", not_checkable, "needs --load");
  expect_finding(with_link(5, 8), "pcie-link", "GPU0", warning, "x8 of 5 x16");
  expect_finding(with_link(5, 1), "pcie-link", "GPU0", warning, "x1 of 5 x16");
}

/// Counts the lanes alone where the generation may be that of an idle GPU.
TEST(DoctorPcie, LostLanesOfALinkThatMayBeIdle) {
  const auto why_of = [](const Survey& survey) {
    for (const Finding& finding : check_machine(survey)) {
      if (finding.id == "pcie-link" && finding.subject == "GPU0") return finding.why;
    }
    return std::string();
  };
  expect_finding(with_link(1, 4), "pcie-link", "GPU0", warning,
                 "x4 of x16; generation 1 of 5, as of an idle GPU (needs --load)");
  EXPECT_THAT(why_of(with_link(1, 4)), HasSubstr("4x as long"));
  EXPECT_THAT(why_of(with_link(5, 12)), HasSubstr("1.33x as long"));
}

TEST(DoctorPcie, LinkUnderLoad) {
  expect_finding(loaded_link(5, 16), "pcie-link", "GPU0", ok, "5 x16 of 5 x16 under load");
  expect_finding(loaded_link(3, 16), "pcie-link", "GPU0", problem, "generation 3 x16");
  expect_finding(loaded_link(5, 8), "pcie-link", "GPU0", warning, "x8");
  expect_finding(loaded_link(5, 4), "pcie-link", "GPU0", problem, "x4");
  expect_finding(loaded_link(3, 8), "pcie-link", "GPU0", problem, "generation 3 x8 of 5 x16");
  Survey survey = loaded_link(5, 16);
  survey.gpus[0].load = Missing{"no load: exit status 2"};
  expect_finding(survey, "pcie-link", "GPU0", not_checkable, "no load: exit status 2");
  survey.topology.gpus[0].pcie.most_width = Missing{"Not Supported"};
  expect_finding(survey, "pcie-link", "GPU0", not_checkable, "Not Supported");
}

/// Puts GPU0 into a slot of the chipset, by these lanes and rates from the GPU up.
Survey with_path(Survey survey, std::vector<PcieHop> path) {
  survey.topology.gpus[0].path = std::move(path);
  return survey;
}

std::vector<PcieHop> behind_chipset() {
  return {{"0000:05:00.0", 16, 16, 16.0},
          {"0000:03:04.0", 16, 16, 16.0},
          {"0000:02:00.0", 4, 4, 16.0},
          {"0000:00:02.1", 4, 4, 16.0}};
}

TEST(DoctorPcie, PathToTheProcessor) {
  const char* const check = "pcie-path";
  const Survey survey = healthy_survey();
  expect_finding(survey, check, "GPU0", ok, "root port 0000:00:01.0");
  expect_finding(with_path(survey, behind_chipset()), check, "GPU0", warning,
                 "x4 at 16 GT/s through 0000:02:00.0; the GPU's own link has x16 at 16 GT/s");
  auto path = behind_chipset();
  for (PcieHop& hop : path) hop.width = 16;
  expect_finding(with_path(survey, path), check, "GPU0", ok, "root port 0000:00:02.1");
  path[0].most_rate = path[1].most_rate = 8.0;
  path[2].width = path[3].width = 8;
  expect_finding(with_path(survey, path), check, "GPU0", ok, "0000:00:02.1");
  path[2].width = Missing{"the kernel does not say"};
  expect_finding(with_path(survey, path), check, "GPU0", ok, "0000:00:02.1");
  path[0].width = Missing{"the kernel does not say"};
  expect_finding(with_path(survey, path), check, "GPU0", not_checkable, "rates");
  expect_finding(with_path(survey, {path[1]}), check, "GPU0", ok, "no PCIe bridge");
  expect_finding(with_path(survey, {}), check, "GPU0", not_checkable, "place");
}

/// Judges by the GPU's own lanes where the driver calls those of the slot all that there can be.
TEST(DoctorPcie, SlotWithFewerLanesThanTheGpu) {
  const std::vector<PcieHop> path{{"0000:05:00.0", 4, 16, 16.0}, {"0000:00:1c.0", 4, 4, 8.0}};
  Survey survey = with_path(healthy_survey(), path);
  survey.topology.gpus[0].pcie = {4, 4, 4, 4};
  expect_finding(survey, "pcie-path", "GPU0", warning, "x4 of x16: root port or switch 0000:00:1c");
  survey.topology.gpus[0].pcie.most_width = 16;
  expect_finding(survey, "pcie-path", "GPU0", ok, "0000:00:1c.0");
  expect_finding(survey, "pcie-link", "GPU0", warning, "x4");
}

/// Has GPUs of a workstation, of which a driver grants P2P over PCIe.
Survey patched_survey() {
  Survey survey = pcie_survey();
  for (TopologyGpu& gpu : survey.topology.gpus) gpu.name = "NVIDIA GeForce RTX 4090";
  return survey;
}

TEST(DoctorPcie, Bar1) {
  Survey survey = patched_survey();
  expect_finding(survey, "bar1", "GPU0", ok, "256 GiB for 141 GiB");
  survey.topology.gpus[0].bar1_bytes = std::int64_t{256} << 20;
  expect_finding(survey, "bar1", "GPU0", warning, "256 MiB for 141 GiB");
  survey.topology.gpus[1].name = "NVIDIA L4";
  expect_finding(survey, "bar1", "GPU0", ok, "256 MiB");
  survey.topology.gpus[0].bar1_bytes = Missing{"the kernel shows no BAR1"};
  expect_finding(survey, "bar1", "GPU0", not_checkable, "no BAR1");
  for (const Finding& finding : check_machine(healthy_survey())) EXPECT_NE(finding.id, "bar1");
}

TEST(DoctorPcie, VirtualMachinesAreNotJudgedByWhatTheirHostsHave) {
  Survey survey = with_path(patched_survey(), behind_chipset());
  survey.topology.gpus[0].bar1_bytes = std::int64_t{256} << 20;
  survey.topology.hypervisor = "QEMU";
  for (const auto& [check, subject] : {std::pair("pcie-path", "GPU0"),
                                       {"bar1", "GPU0"},
                                       {"iommu", "host"},
                                       {"pcie-acs", "host"}}) {
    expect_finding(survey, check, subject, not_checkable, "virtual machine (QEMU)");
  }
  Survey joined = healthy_survey();
  joined.topology.hypervisor = "QEMU";
  expect_finding(joined, "iommu", "host", ok, "off");
  expect_finding(joined, "pcie-acs", "host", ok, "no PCIe bridge");
}

Survey with_iommu(Survey survey, const std::string& domain) {
  survey.host.iommu_units = std::vector<std::string>{"dmar0"};
  survey.host.kernel_command_line = "quiet intel_iommu=on panic=1";
  for (GpuSurvey& gpu : survey.gpus) gpu.iommu_domain = domain;
  return survey;
}

TEST(DoctorPcie, Iommu) {
  expect_finding(pcie_survey(), "iommu", "host", ok, "off");
  expect_finding(with_iommu(pcie_survey(), "identity"), "iommu", "host", ok, "passes");
  expect_finding(with_iommu(pcie_survey(), "DMA-FQ"), "iommu", "host", warning,
                 "translates the addresses of GPU0, GPU1 (kernel: intel_iommu=on)");
  expect_finding(with_iommu(healthy_survey(), "DMA"), "iommu", "host", ok, "no pair relies");
  Survey survey = with_iommu(pcie_survey(), "DMA");
  for (GpuSurvey& gpu : survey.gpus) {
    gpu.iommu_domain = Missing{"is in no IOMMU group"};
  }
  expect_finding(survey, "iommu", "host", not_checkable, "no IOMMU group");
  survey.host.iommu_units = Missing{"there is no /sys"};
  expect_finding(survey, "iommu", "host", not_checkable, "no /sys");
}

Survey with_bridges(Survey survey, Reading<bool> redirects) {
  survey.host.bridges =
      std::vector<PcieBridge>{{"0000:00:01.0", false}, {"0000:02:08.0", std::move(redirects)}};
  return survey;
}

/// Tells neither the number of NVLinks nor whether P2P uses them.
Survey unknown_pair_survey() {
  Survey survey = healthy_survey();
  for (TopologyPair& pair : survey.topology.pairs) {
    pair.nvlinks = Missing{"too old"};
    pair.over_nvlink = Missing{"too old"};
  }
  return survey;
}

TEST(DoctorPcie, PcieIsNeededOnlyWhereNvlinkIsKnownToBeAbsent) {
  const Survey unknown = unknown_pair_survey();
  expect_finding(with_iommu(unknown, "DMA"), "iommu", "host", not_checkable, "not known whether");
  expect_finding(with_bridges(unknown, true), "pcie-acs", "host", not_checkable,
                 "not known whether");
  Survey joined = unknown;
  for (TopologyPair& pair : joined.topology.pairs) pair.over_nvlink = P2pStatus{true, {}};
  expect_finding(with_iommu(joined, "DMA"), "iommu", "host", ok, "no pair relies");
  for (TopologyPair& pair : joined.topology.pairs) pair.over_nvlink = P2pStatus{false, "no"};
  expect_finding(with_iommu(joined, "DMA"), "iommu", "host", warning, "translates");
}

TEST(DoctorPcie, WithoutPciIdsAccessControlCannotBeChecked) {
  Survey survey = pcie_survey();
  survey.gpus[1].pci_bus_id.clear();
  expect_finding(with_bridges(survey, false), "pcie-acs", "host", not_checkable,
                 "does not say the GPUs' PCI ids");
  survey.gpus[0].pci_bus_id.clear();
  expect_finding(survey, "pcie-acs", "host", not_checkable, "does not say the GPUs' PCI ids");
}

TEST(DoctorPcie, AccessControl) {
  expect_finding(pcie_survey(), "pcie-acs", "host", ok, "no PCIe bridge");
  expect_finding(with_bridges(pcie_survey(), false), "pcie-acs", "host", ok, "all 2 bridges");
  expect_finding(with_bridges(pcie_survey(), true), "pcie-acs", "host", warning,
                 "1 of 2 bridges: 0000:02:08.0");
  expect_finding(with_bridges(healthy_survey(), true), "pcie-acs", "host", ok, "no pair relies");
  expect_finding(with_bridges(pcie_survey(), Missing{"root only"}), "pcie-acs", "host",
                 not_checkable, "root only");
  Survey survey = pcie_survey();
  survey.host.bridges = Missing{"not shown"};
  expect_finding(survey, "pcie-acs", "host", not_checkable, "not shown");
}

}  // namespace

}  // namespace linkgain::test
