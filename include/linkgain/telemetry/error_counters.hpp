#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/hardware/link_counters.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/telemetry/nvml.hpp"

namespace linkgain {

/// What is wrong with one of a run's GPUs, or why that is not known, and what can be done about it.
struct GpuFault {
  std::string text;
  std::string advice;
  bool is_unknown = false;  ///< nothing is known to be wrong: it could not be looked at
};

/// GPUs by CUDA's numbers.
using NumberedGpus = std::vector<std::pair<int, Nvml::Device>>;

/// Returns what the driver says of GPUs after a job was lost on them: those that no longer answer,
/// those whose memory waits for a reset, and their Xid errors and the switches' in the kernel's log
/// since a moment of the monotonic clock, which counts from the machine's start. A log that may not
/// be read is said to be so, the last of all; not where there are no GPUs.
std::vector<GpuFault> gpu_faults(const NumberedGpus& gpus, Seconds since,
                                 const std::filesystem::path& kernel_log = "/dev/kmsg");

/// Counts by GPU how many Xid errors that log has of it since then; nothing if it may not be read.
std::optional<std::map<int, std::int64_t>> count_xid_errors(
    const NumberedGpus& gpus, Seconds since, const std::filesystem::path& kernel_log);

/// Returns what to do about the CUDA error that last words name: by its name, as
/// "cudaErrorSystemNotReady" or "CUDA_ERROR_SYSTEM_NOT_READY", or, in a line about CUDA, by CUDA's
/// words for it, as "system not yet initialized". Empty where they name none that is known here.
std::string_view advice_for_cuda_error(std::string_view words);

/// Explains a lost job, or a program that failed, with what the GPUs say, which may be the cause,
/// and before its advice what helps against that and against the CUDA error that its last words
/// name.
Warning explained(Warning loss, std::string_view last_words, const std::vector<GpuFault>& faults);

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
