#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "linkgain/base/reading.hpp"
#include "linkgain/diagnostics/survey.hpp"

namespace linkgain {

/// The kind of translation in force for the device: "DMA", "DMA-FQ" translate, "identity" does not.
Reading<std::string> iommu_domain(const std::filesystem::path& sys, const std::string& pci_bus_id);

/// The IOMMUs in use: "dmar0", "ivhd1"; none where it is off.
Reading<std::vector<std::string>> iommu_units(const std::filesystem::path& sys);

/// Every PCIe bridge above any of the devices, once.
Reading<std::vector<BridgeSurvey>> bridges_above(const std::filesystem::path& sys,
                                                 const std::vector<std::string>& pci_bus_ids);

/// Whether the configuration space of a bridge has access control services (PCI Express Base
/// Specification, 7.7.11: extended capability 0x000d) that redirect requests or completions between
/// its ports. Missing where only the first part of the space could be read, as without root.
Reading<bool> acs_redirects(const std::string& configuration_space);

/// PCI addresses of NVIDIA's display and 3D controllers.
Reading<std::vector<std::string>> nvidia_devices(const std::filesystem::path& sys);

}  // namespace linkgain
