#pragma once

#include <filesystem>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/hardware/link_errors.hpp"
#include "linkgain/telemetry/gpu_fault.hpp"

namespace linkgain {

/// Reads the counters of errors of some GPUs: of each NVLink that was active when it was made, of
/// PCIe, and the Xid errors in the kernel's log. What the driver does not tell is left out, but
/// that such an NVLink is down or can no longer be read is an outage of it.
class ErrorCounterReader {
 public:
  ErrorCounterReader() = default;  ///< of no GPU
  /// Reads counters of these GPUs. The Nvml that they came from must outlive it.
  explicit ErrorCounterReader(NumberedGpus gpus);

  /// Reads the counters; Xid errors are counted from `since` on, as gpu_faults() does. About 3 ms a
  /// GPU whose NVLinks have no new errors, 1 ms a counter and link otherwise, and a look at each
  /// link's state.
  ErrorCounts read(Seconds since, const std::filesystem::path& kernel_log = "/dev/kmsg");

 private:
  struct Link {
    int number = 0;
    std::optional<int> peer;
  };
  struct Gpu {
    int number = 0;
    Nvml::Device device;
    std::vector<Link> links{};
    /// At the last reading that was done link by link.
    std::optional<NvlinkErrors> sum{};
    ErrorCounts by_link{};
  };

  static void read_links(Gpu& gpu);

  NumberedGpus gpus_;
  std::vector<Gpu> links_;
};

}  // namespace linkgain
