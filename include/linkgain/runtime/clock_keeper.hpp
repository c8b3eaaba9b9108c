#pragma once

#include <chrono>
#include <optional>

#include "linkgain/runtime/backend.hpp"
#include "linkgain/runtime/device_monitor.hpp"

namespace linkgain {

/// Brings this rank's GPU to its working clock before it is timed: an idle one runs at a sixth of
/// it. Both arguments must outlive it.
class ClockKeeper {
 public:
  ClockKeeper(Backend& backend, const DeviceMonitor& monitor)
      : backend_(backend), monitor_(monitor) {}

  /// Local to the rank. Returns within microseconds where the GPU worked lately and its clock is
  /// up.
  void prepare();

 private:
  using Clock = std::chrono::steady_clock;
  Backend& backend_;
  const DeviceMonitor& monitor_;
  int highest_mhz_ = 0;
  std::optional<Clock::time_point> last_work_;
};

}  // namespace linkgain
