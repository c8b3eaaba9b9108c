#include "linkgain/runtime/device_monitor.hpp"

namespace linkgain {

DeviceMonitor::DeviceMonitor(const std::optional<GpuInfo>& gpu) {
  if (!gpu) return;
  nvml_ = Nvml::open(&no_device_);
  if (!nvml_) return;
  device_ = nvml_->device_by_pci_bus_id(gpu->pci_bus_id);
  if (!device_) no_device_ = "NVML knows no GPU at " + gpu->pci_bus_id;
}

Health DeviceMonitor::health() const { return device_ ? device_->health() : Health{}; }

std::optional<int> DeviceMonitor::sm_clock_mhz() const {
  return device_ ? device_->sm_clock_mhz() : std::nullopt;
}

LinkCounters DeviceMonitor::link_counters(std::string& why_no_nvlink) const {
  if (device_) return device_->link_counters(&why_no_nvlink);
  why_no_nvlink = no_device_;
  return {};
}

void DeviceMonitor::complete(GpuInfo& gpu) const {
  if (device_) device_->read_links(gpu);
}

std::optional<std::string> DeviceMonitor::driver_version() const {
  return nvml_ ? nvml_->driver_version() : std::nullopt;
}

std::vector<PairLink> DeviceMonitor::links(const std::vector<RankInfo>& ranks) const {
  std::vector<PairLink> links;
  for (const RankInfo& from : ranks) {
    for (const RankInfo& to : ranks) {
      if (from.rank >= to.rank || !from.gpu || !to.gpu) continue;
      PairLink link;
      const bool known = nvml_ && from.host == to.host;
      const auto first = known ? nvml_->device_by_pci_bus_id(from.gpu->pci_bus_id) : std::nullopt;
      const auto second = known ? nvml_->device_by_pci_bus_id(to.gpu->pci_bus_id) : std::nullopt;
      if (first && second) link = first->link_to(*second);
      link.from = from.rank;
      link.to = to.rank;
      links.push_back(link);
    }
  }
  return links;
}

}  // namespace linkgain
