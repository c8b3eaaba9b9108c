#include "linkgain/telemetry/affinity.hpp"

#include <fstream>
#include <optional>

#include "cpu_set.hpp"
#include "linkgain/telemetry/pci_name.hpp"

namespace linkgain {
namespace {

std::optional<CpuSet> cpus_near(const std::string& pci_bus_id) {
  if (sysfs_pci_name(pci_bus_id).empty()) {
    return std::nullopt;
  }
  std::ifstream file(pci_folder("/sys", pci_bus_id) / "local_cpulist");
  std::string list;
  return std::getline(file, list) ? CpuSet::from_list(list) : std::nullopt;
}

}  // namespace

std::string bind_near_pci_device(const std::string& pci_bus_id) {
  const std::optional<CpuSet> near = cpus_near(pci_bus_id);
  return near.has_value() ? bind_within_allowed(*near) : CpuSet::of_this_thread().list();
}

std::string bind_to_cpu(int index) {
  return bind_within_allowed(CpuSet::of_this_thread().only(index));
}

}  // namespace linkgain
