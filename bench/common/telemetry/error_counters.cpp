#include "linkgain/telemetry/error_counters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "linkgain/base/text.hpp"
#include "linkgain/hardware/pci.hpp"
#include "linkgain/telemetry/kernel_log.hpp"

namespace linkgain {
namespace {

struct CudaErrorRow {
  std::string_view name;
  std::string_view name_of_driver;
  std::string_view words;  ///< cudaGetErrorString()'s, which programs show without the name
  std::string_view advice;
};

constexpr std::array kCudaErrors{
    CudaErrorRow{"cudaErrorInsufficientDriver", "CUDA_ERROR_INSUFFICIENT_DRIVER",
                 "CUDA driver version is insufficient for CUDA runtime version",
                 "update the driver (nvidia-smi shows the CUDA version that it has), or build with "
                 "a CUDA toolkit that is not newer"},
    CudaErrorRow{"cudaErrorECCUncorrectable", "CUDA_ERROR_ECC_UNCORRECTABLE",
                 "uncorrectable ECC error encountered",
                 "the GPU's memory has an error that was not corrected (214): reset the GPU "
                 "(nvidia-smi --gpu-reset); if it comes again, have it replaced"},
    CudaErrorRow{"cudaErrorNvlinkUncorrectable", "CUDA_ERROR_NVLINK_UNCORRECTABLE",
                 "uncorrectable NVLink error detected",
                 "an NVLink has an error that was not corrected (220): run linkgain doctor, reseat "
                 "the bridge or look at nvidia-fabricmanager's log, and reset the GPUs"},
    CudaErrorRow{"cudaErrorLaunchFailure", "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure",
                 "a kernel ended in an error (719), often of memory that another GPU took away: "
                 "look for Xid errors with linkgain doctor"},
    CudaErrorRow{"cudaErrorSystemNotReady", "CUDA_ERROR_SYSTEM_NOT_READY",
                 "system not yet initialized",
                 "the GPUs are not ready (802): start nvidia-fabricmanager, of the driver's "
                 "version, and wait until nvidia-smi -q names the fabric's state Completed"},
    CudaErrorRow{"cudaErrorUnknown", "CUDA_ERROR_UNKNOWN", "unknown error",
                 "the driver had an error that it does not name (999): look for Xid errors with "
                 "linkgain doctor; if every program has it, as after a suspend, restart the "
                 "machine"},
};

bool is_named(const CudaErrorRow& error, std::string_view line) {
  const auto has = [line](std::string_view part) {
    return line.find(part) != std::string_view::npos;
  };
  return has(error.name) || has(error.name_of_driver) ||
         (has(error.words) && (has("CUDA") || has("Cuda") || has("cuda")));
}

/// Returns the GPU's number where the address is one of these; "0000:41:00" without a function, as
/// the driver writes it.
std::optional<int> owner_of(const XidEvent& event, const NumberedGpus& gpus) {
  if (event.from_switch) return std::nullopt;
  for (const auto& [number, device] : gpus) {
    const std::string name = sysfs_pci_name(device.pci_bus_id().value_or(""));
    if (!name.empty() && name.starts_with(event.pci_bus_id)) return number;
  }
  return std::nullopt;
}

void add_events(const NumberedGpus& gpus, Seconds since, const std::filesystem::path& kernel_log,
                std::vector<GpuFault>& faults) {
  const Reading<std::vector<XidEvent>> events = read_kernel_log(kernel_log);
  if (!events.measured() && !gpus.empty()) {
    faults.push_back({fmt::format("Xid errors could not be read: {}", events.reason()),
                      "look for Xid errors as root on the host itself (dmesg | grep -i xid)",
                      true});
  }
  for (const XidEvent& event : events.value_or({})) {
    const std::optional<int> gpu = owner_of(event, gpus);
    if (event.seconds_after_boot < since.value || !(gpu || event.from_switch)) continue;
    const XidMeaning meaning = meaning_of(event);
    const std::string where =
        gpu ? fmt::format("GPU {}: Xid", *gpu) : fmt::format("NVSwitch {}: SXid", event.pci_bus_id);
    faults.push_back(
        {fmt::format("{} {}, {}", where, event.code, meaning.what), std::string(meaning.advice)});
  }
}

}  // namespace

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

std::vector<GpuFault> gpu_faults(const NumberedGpus& gpus, Seconds since,
                                 const std::filesystem::path& kernel_log) {
  std::vector<GpuFault> faults;
  for (const auto& [number, device] : gpus) {
    if (const std::string silence = device.silence(); !silence.empty()) {
      faults.push_back({fmt::format("GPU {} does not answer: {}", number, silence),
                        "restart the machine; check the power cables, the seat in the slot or "
                        "riser and the cooling"});
    } else if (device.memory_remap_pending().value_or(false)) {
      faults.push_back({fmt::format("GPU {} waits for a reset to replace rows of memory", number),
                        "stop all work on the GPU and reset it (nvidia-smi --gpu-reset)"});
    }
  }
  add_events(gpus, since, kernel_log, faults);
  return faults;
}

std::string_view advice_for_cuda_error(std::string_view words) {
  const std::vector<std::string> lines = split(words, '\n');
  const auto* const row = std::ranges::find_if(kCudaErrors, [&](const CudaErrorRow& each) {
    return std::ranges::any_of(lines,
                               [&](const std::string& line) { return is_named(each, line); });
  });
  return row == kCudaErrors.end() ? std::string_view{} : row->advice;
}

std::optional<std::map<int, std::int64_t>> count_xid_errors(
    const NumberedGpus& gpus, Seconds since, const std::filesystem::path& kernel_log) {
  const Reading<std::vector<XidEvent>> events = read_kernel_log(kernel_log);
  if (!events.measured()) return std::nullopt;
  std::map<int, std::int64_t> counts;
  for (const auto& [number, device] : gpus) counts[number] = 0;
  for (const XidEvent& event : events.value()) {
    const std::optional<int> gpu = owner_of(event, gpus);
    if (gpu && event.seconds_after_boot >= since.value) ++counts[*gpu];
  }
  return counts;
}

Warning explained(Warning loss, std::string_view last_words, const std::vector<GpuFault>& faults) {
  std::vector<std::string> advice;
  const std::string_view about_error = advice_for_cuda_error(last_words);
  if (!about_error.empty()) advice.emplace_back(about_error);
  for (const GpuFault& fault : faults) {
    loss.text += "\n" + fault.text;
    if (std::ranges::find(advice, fault.advice) == advice.end()) advice.push_back(fault.advice);
  }
  if (!loss.advice.empty()) advice.push_back(loss.advice);
  loss.advice = fmt::format("{}", fmt::join(advice, "; "));
  return loss;
}

}  // namespace linkgain
