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
  expect_finding(busy, "pcie-link", "GPU0", warning, "generation 3 x16");
  expect_finding(with_link(5, 8), "pcie-link", "GPU0", warning, "x8 of 5 x16");
  expect_finding(with_link(5, 1), "pcie-link", "GPU0", warning, "x1 of 5 x16");
}

TEST(DoctorPcie, LinkUnderLoad) {
  expect_finding(loaded_link(5, 16), "pcie-link", "GPU0", ok, "5 x16 of 5 x16 under load");
  expect_finding(loaded_link(3, 16), "pcie-link", "GPU0", problem, "generation 3 x16");
  expect_finding(loaded_link(5, 8), "pcie-link", "GPU0", warning, "x8");
  expect_finding(loaded_link(5, 4), "pcie-link", "GPU0", problem, "x4");
  Survey survey = loaded_link(5, 16);
  survey.gpus[0].load = Missing{"no load: exit status 2"};
  expect_finding(survey, "pcie-link", "GPU0", not_checkable, "no load: exit status 2");
  survey.topology.gpus[0].pcie.most_width = Missing{"Not Supported"};
  expect_finding(survey, "pcie-link", "GPU0", not_checkable, "Not Supported");
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
