#include "linkgain/telemetry/error_counters.hpp"

#include <algorithm>
#include <utility>

#include "linkgain/telemetry/pci.hpp"

namespace linkgain {

ErrorCounterReader::ErrorCounterReader(NumberedGpus gpus) : gpus_(std::move(gpus)) {
  const auto number_of = [&](const std::string& place) -> std::optional<int> {
    for (const auto& [number, device] : gpus_) {
      const std::string own = sysfs_pci_name(device.pci_bus_id().value_or(""));
      if (!own.empty() && own == sysfs_pci_name(place)) return number;
    }
    return std::nullopt;
  };
  for (const auto& [number, device] : gpus_) {
    Gpu& gpu = links_.emplace_back(Gpu{.number = number, .device = device});
    for (int link = 0; link < device.nvlink_count().value_or(0); ++link) {
      const Reading<NvlinkState> state = device.nvlink(link);
      if (!state.measured() || !state.value().active) continue;
      gpu.links.push_back({link, number_of(state.value().remote_pci_bus_id)});
    }
  }
}

/// Reads each link's counters, but only if their sum is a new one.
void ErrorCounterReader::read_links(Gpu& gpu) {
  const std::optional<NvlinkErrors> sum = gpu.device.nvlink_errors().optional();
  if (sum && sum == gpu.sum) return;
  gpu.sum = sum;
  gpu.by_link.clear();
  for (const Link& link : gpu.links) {
    const Reading<NvlinkErrors> errors = gpu.device.nvlink_errors(link.number);
    if (!errors.measured()) continue;
    const auto add = [&](ErrorKind kind, std::int64_t value) {
      gpu.by_link.push_back({{gpu.number, kind, link.number, link.peer}, value});
    };
    add(ErrorKind::nvlink_replays, errors.value().replays);
    add(ErrorKind::nvlink_recoveries, errors.value().recoveries);
    add(ErrorKind::nvlink_crc_errors, errors.value().crc);
  }
}

ErrorCounts ErrorCounterReader::read(Seconds since, const std::filesystem::path& kernel_log) {
  ErrorCounts counts;
  const auto xid = count_xid_errors(gpus_, since, kernel_log);
  for (Gpu& gpu : links_) {
    if (!gpu.links.empty()) read_links(gpu);
    counts.insert(counts.end(), gpu.by_link.begin(), gpu.by_link.end());
    for (const Link& link : gpu.links) {
      const bool is_up = gpu.device.nvlink_active(link.number).value_or(false);
      counts.push_back(
          {{gpu.number, ErrorKind::nvlink_outages, link.number, link.peer}, is_up ? 0 : 1});
    }
    if (const Reading<std::int64_t> replays = gpu.device.pcie_replays(); replays.measured()) {
      counts.push_back({{gpu.number, ErrorKind::pcie_replays, {}, {}}, replays.value()});
    }
    if (xid) counts.push_back({{gpu.number, ErrorKind::xid, {}, {}}, xid->at(gpu.number)});
  }
  return counts;
}

}  // namespace linkgain
