#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/hardware/machine.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/telemetry/nvml.hpp"

namespace linkgain {

/// What the driver tells of this rank's GPU, as far as there is one and NVML is there.
class DeviceMonitor {
 public:
  explicit DeviceMonitor(const std::optional<GpuInfo>& gpu);

  /// About 4 us.
  Health health() const;
  std::optional<int> sm_clock_mhz() const;
  /// About 1.2 ms: for between batches. Of those that are absent the reason is given.
  LinkCounters link_counters(AbsentCounters& why) const;

  /// Fills in the NVLink and PCIe members and the limits of clocks and power.
  void complete(GpuInfo& gpu) const;
  std::optional<std::string> driver_version() const;
  /// One entry for each pair of ranks with GPUs, from < to; their state is absent where it is not
  /// known, as of every pair that is not on this host.
  std::vector<PairLink> links(const std::vector<RankInfo>& ranks) const;

 private:
  std::shared_ptr<Nvml> nvml_;
  std::string no_device_ = "no GPU";  ///< why there is no device_
  std::optional<Nvml::Device> device_;
};

}  // namespace linkgain
