#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/hardware/topology.hpp"

namespace linkgain {

/// Where a PCI device sits, by the kernel's folder of devices.
struct PciPlace {
  std::string id;  ///< sysfs's name, "0000:03:00.0"
  /// From the root complex ("pci0000:00") over the bridges to the device itself.
  std::vector<std::string> path;
  Reading<int> numa_node;  ///< 0 where the kernel says -1 and the machine has one node
  Reading<std::string> cpus;
};

/// The place of the PCI device that `link`, a link below `sys`, leads to: to the device itself or
/// to something that belongs to it. Absent where there is no such link or no PCI device behind it.
std::optional<PciPlace> pci_place(const std::filesystem::path& sys,
                                  const std::filesystem::path& link);

/// What two devices have in common: a switch (pix), several (pxb), the root complex (phb), or
/// nothing but their NUMA node or the machine. Missing where that takes a NUMA node not known.
Reading<Ancestor> common_ancestor(const PciPlace& a, const PciPlace& b);

}  // namespace linkgain
