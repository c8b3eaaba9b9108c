#pragma once

#include <filesystem>
#include <string>

namespace linkgain {

/// sysfs's name of a PCI device, "0000:00:06.0": a domain of four digits (more where it needs
/// them), lower case. Takes CUDA's and NVML's forms; empty for what is no PCI id.
std::string sysfs_pci_name(const std::string& pci_bus_id);

/// The kernel's folder of all PCI devices, and the one of a device,
/// "<sys>/bus/pci/devices/0000:41:00.0".
std::filesystem::path pci_devices(const std::filesystem::path& sys);
std::filesystem::path pci_folder(const std::filesystem::path& sys, const std::string& pci_bus_id);

}  // namespace linkgain
