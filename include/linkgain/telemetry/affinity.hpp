#pragma once

#include <string>

namespace linkgain {

/// Binds this process to the CPUs near a PCI device as the kernel names them ("0000:00:06.0"),
/// within the CPUs it may use already. Returns the CPU list then in force ("0-15"). Where the
/// kernel tells nothing or nothing overlaps, the binding stays as it was.
std::string bind_near_pci_device(const std::string& pci_bus_id);

/// Binds this process to one of its allowed CPUs, the `index`-th modulo their count. Returns as
/// above.
std::string bind_to_cpu(int index);

}  // namespace linkgain
