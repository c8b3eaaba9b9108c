#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/hardware/machine.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/runtime/backend.hpp"
#include "linkgain/telemetry/nvml.hpp"

namespace linkgain {

/// What the driver tells of this rank's GPU, as far as there is one and NVML is there.
class DeviceMonitor {
 public:
  explicit DeviceMonitor(const std::optional<GpuInfo>& gpu);

  /// Reads health, which takes about 4 us.
  Health health() const;
  std::optional<int> sm_clock_mhz() const;
  /// Reads the links' counters, which takes about 1.2 ms: for between batches. Gives the reason of
  /// those that are absent.
  LinkCounters link_counters(AbsentCounters& why) const;

  /// Fills in the NVLink and PCIe members and the limits of clocks and power.
  void complete(GpuInfo& gpu) const;
  std::optional<std::string> driver_version() const;
  /// Returns one entry for each pair of ranks with GPUs, from < to; their state is absent where it
  /// is not known, as of every pair that is not on this host.
  std::vector<PairLink> links(const std::vector<RankInfo>& ranks) const;

 private:
  std::shared_ptr<Nvml> nvml_;
  std::string no_device_ = "no GPU";  ///< why there is no device_
  std::optional<Nvml::Device> device_;
};

/// Brings this rank's GPU to its working clock before it is timed: an idle one runs at a sixth of
/// it. Both arguments must outlive it.
class ClockKeeper {
 public:
  ClockKeeper(Backend& backend, const DeviceMonitor& monitor)
      : backend_(backend), monitor_(monitor) {}

  /// Warms the GPU up; local to the rank. Returns within microseconds where the GPU worked lately
  /// and its clock is up. `rested`: since other processes last worked there, where that is known.
  void prepare(const std::optional<Seconds>& rested);

 private:
  using Clock = std::chrono::steady_clock;
  Backend& backend_;
  const DeviceMonitor& monitor_;
  int highest_mhz_ = 0;
  std::optional<Clock::time_point> last_work_;
};

}  // namespace linkgain
