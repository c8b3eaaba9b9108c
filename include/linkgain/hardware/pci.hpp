#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/reading.hpp"
#include "linkgain/hardware/topology.hpp"

namespace linkgain {

/// Returns sysfs's name of a PCI device, "0000:00:06.0": a domain of four digits (more where it
/// needs them), lower case. Takes CUDA's and NVML's forms; empty for what is no PCI id.
std::string sysfs_pci_name(const std::string& pci_bus_id);

/// Returns the kernel's folder of all PCI devices, and the one of a device,
/// "<sys>/bus/pci/devices/0000:41:00.0".
std::filesystem::path pci_devices(const std::filesystem::path& sys);
std::filesystem::path pci_folder(const std::filesystem::path& sys, const std::string& pci_bus_id);

/// Where a PCI device sits, by the kernel's folder of devices.
struct PciPlace {
  std::string id;  ///< sysfs's name, "0000:03:00.0"
  /// From the root complex ("pci0000:00") over the bridges to the device itself.
  std::vector<std::string> path;
  Reading<int> numa_node;  ///< 0 where the kernel says -1 and the machine has one node
  Reading<std::string> cpus;
};

/// Returns the place of the PCI device that `link`, a link below `sys`, leads to: to the device
/// itself or to something that belongs to it. Absent where there is no such link or no PCI device
/// behind it.
std::optional<PciPlace> pci_place(const std::filesystem::path& sys,
                                  const std::filesystem::path& link);

/// Returns what two devices have in common: a switch (pix), several (pxb), the root complex (phb),
/// or nothing but their NUMA node or the machine. Missing where that takes a NUMA node not known.
Reading<Ancestor> common_ancestor(const PciPlace& a, const PciPlace& b);

/// Returns the kind of translation in force for the device: "DMA", "DMA-FQ" translate, "identity"
/// does not.
Reading<std::string> iommu_domain(const std::filesystem::path& sys, const std::string& pci_bus_id);

/// Returns the IOMMUs in use: "dmar0", "ivhd1"; none where it is off.
Reading<std::vector<std::string>> iommu_units(const std::filesystem::path& sys);

/// A PCIe bridge above a GPU and whether its access control sends traffic between the devices below
/// it up to the host bridge.
struct PcieBridge {
  std::string pci_bus_id;
  Reading<bool> redirects;
};

/// Returns every PCIe bridge above any of the devices, once.
Reading<std::vector<PcieBridge>> bridges_above(const std::filesystem::path& sys,
                                               const std::vector<std::string>& pci_bus_ids);

/// Returns the PCIe links from a device up to the root port, the device's own first; empty where
/// the kernel does not show it.
std::vector<PcieHop> pcie_path(const std::filesystem::path& sys, const std::string& pci_bus_id);

/// Returns what a link can carry, lanes times GT/s; absent where the kernel does not say.
std::optional<double> capacity_of(const PcieHop& hop);

/// Returns the link above the device's own that carries least, where that is less than its own
/// carries; null where there is none, or it is not known.
const PcieHop* narrowest_above(const std::vector<PcieHop>& path);

/// Returns the size of a GPU's BAR1, by which others reach its memory over PCIe.
Reading<std::int64_t> bar1_bytes(const std::filesystem::path& sys, const std::string& pci_bus_id);

/// Returns whether the configuration space of a bridge has access control services (PCI Express
/// Base Specification, 7.7.11: extended capability 0x000d) that redirect requests or completions
/// between its ports. Missing where only the first part of the space could be read, as without
/// root.
Reading<bool> acs_redirects(const std::string& configuration_space);

/// Lists the PCI addresses of NVIDIA's display and 3D controllers.
Reading<std::vector<std::string>> nvidia_devices(const std::filesystem::path& sys);

}  // namespace linkgain
