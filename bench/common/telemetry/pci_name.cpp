#include "linkgain/telemetry/pci_name.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace linkgain {

std::string sysfs_pci_name(const std::string& pci_bus_id) {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned function = 0;
  int length = 0;
  if (std::sscanf(pci_bus_id.c_str(), "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function,
                  &length) != 4 ||
      static_cast<std::size_t>(length) != pci_bus_id.size()) {
    return {};
  }
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, device, function);
}

std::filesystem::path pci_devices(const std::filesystem::path& sys) {
  return sys / "bus/pci/devices";
}

std::filesystem::path pci_folder(const std::filesystem::path& sys, const std::string& pci_bus_id) {
  return pci_devices(sys) / sysfs_pci_name(pci_bus_id);
}

}  // namespace linkgain
