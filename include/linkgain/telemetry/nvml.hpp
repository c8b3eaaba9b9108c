#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/reading.hpp"
#include "linkgain/hardware/health.hpp"
#include "linkgain/hardware/link_counters.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/hardware/neighbours.hpp"
#include "linkgain/hardware/topology.hpp"

namespace linkgain {

namespace nvml_api {
enum class P2pCapability : int;
}

/// Throws without_two_gpus(): for NVML's reason where the driver does not start, else for this one.
[[noreturn]] void refuse_without_gpus(std::string reason);

struct NvmlLibrary;

/// NVML, opened at run time from libnvidia-ml.so.1 with our own declarations, so that nothing of it
/// is needed to build or to start. Every reading is optional: absent means that the library, the
/// function or the value is not there. Not thread-safe beyond what NVML itself promises (it is).
class Nvml {
 public:
  /// Opens NVML; nothing if there is no library or no driver; `reason` then says why, and `advice`
  /// what to do, where that is more than to install the driver. The environment variable
  /// LINKGAIN_NVML_LIBRARY names another library to load, for tests and unusual installations.
  static std::shared_ptr<Nvml> open(std::string* reason = nullptr, std::string* advice = nullptr);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  class Device;

  std::optional<std::string> driver_version() const;
  /// Returns the newest CUDA that the driver is for ("13.0"), or that of the compatibility package
  /// that programs find before it; empty where it does not say.
  std::string cuda_version() const;
  int device_count() const;
  /// Opens a device; nothing if there is no such GPU or it cannot be reached; `reason` then has
  /// NVML's words, for example "GPU is lost (NVML error 15)" of a GPU that fell off the bus.
  std::optional<Device> device_by_index(int index, std::string* reason = nullptr) const;
  /// Opens a device by CUDA's form ("0000:00:06.0") or NVML's ("00000000:00:06.0").
  std::optional<Device> device_by_pci_bus_id(const std::string& pci_bus_id) const;

 private:
  explicit Nvml(std::unique_ptr<NvmlLibrary> library);
  std::unique_ptr<NvmlLibrary> library_;
};

/// What is at the other end of an NVLink.
enum class NvlinkRemote { gpu, npu, nvswitch, unknown };

struct NvlinkState {
  bool active = false;
  Reading<int> version;           ///< NVML's number; missing of a link that is down
  Reading<double> rate_gb_per_s;  ///< one direction, 1e9 B/s; missing of a link that is down
  NvlinkRemote remote = NvlinkRemote::unknown;
  std::string remote_pci_bus_id;  ///< empty where the driver does not say
};

/// Since the driver was loaded, of one link or over all.
struct NvlinkErrors {
  std::int64_t replays = 0;
  std::int64_t recoveries = 0;
  std::int64_t crc = 0;  ///< CRC errors, corrected by replay; before Hopper those of flits only
  bool operator==(const NvlinkErrors&) const = default;
};

struct PowerState {
  double draw_w = 0.0;
  std::optional<double> limit_w;  ///< the one in force, whoever set it
  std::optional<double> default_limit_w;
  std::optional<double> most_limit_w;  ///< that may be set
};

enum class ComputeModeName { shared, exclusive_thread, prohibited, exclusive_process };

/// One GPU. Copyable; valid as long as the Nvml it came from. Readings carry the reason when the
/// library lacks the function, or NVML's own words ("Not Supported", "GPU is lost").
class Nvml::Device {
 public:
  /// Says why the GPU answers nothing, in NVML's words. Empty where it does answer, and where this
  /// driver's NVML lacks the functions that would tell.
  std::string silence() const;
  std::optional<std::string> name() const;
  std::optional<std::string> uuid() const;
  std::optional<std::int64_t> memory_bytes() const;
  std::optional<std::int64_t> free_memory_bytes() const;
  std::optional<int> sm_architecture() const;  ///< 90 for compute capability 9.0
  std::optional<bool> exclusive_compute_mode() const;

  /// Reads temperature, power, SM clock and clock-event reasons: about 1 us each.
  Health health() const;
  std::optional<int> sm_clock_mhz() const;

  /// Returns "00000000:00:06.0", lower case.
  Reading<std::string> pci_bus_id() const;
  /// Returns links that the GPU has, whether active or not. A GPU without NVLink is missing it,
  /// with the reason "Not Supported (NVML error 3)".
  Reading<int> nvlink_count() const;
  /// Returns whether a link is active; `link` counts from 0. Missing if the driver does not say.
  Reading<bool> nvlink_active(int link) const;
  /// Reads a link's state. Missing if the driver does not even say whether it is active.
  Reading<NvlinkState> nvlink(int link) const;
  /// Sums errors over the links that are active: by fields 161-163 (Hopper; about 3 ms), else link
  /// by link (about 1 ms for each counter of each link).
  Reading<NvlinkErrors> nvlink_errors() const;
  /// Reads one link's errors, in the same two ways.
  Reading<NvlinkErrors> nvlink_errors(int link) const;
  /// Counts packets that were sent again over PCIe, since the driver was loaded.
  Reading<std::int64_t> pcie_replays() const;
  /// Reads NVLink payload (fields 138, 139 over all links; about 0.8 ms), converted from the
  /// driver's KiB, and PCIe bytes (197, 198; 0.35 ms), which the driver counts modulo 2^32: the
  /// difference of two readings means something only modulo 2^32, and only while less than that
  /// moved. `why` says of what is absent why it is.
  LinkCounters link_counters(AbsentCounters* why = nullptr) const;
  /// Finds the ancestor by PCIe; `self` of the same GPU. Two GPUs on one board's own switch are
  /// `pix`.
  Reading<Ancestor> common_ancestor(const Device& peer) const;
  /// Reads the state of P2P reads. Missing if the driver says that it does not know.
  Reading<P2pStatus> p2p_read(const Device& peer) const;
  Reading<P2pStatus> p2p_write(const Device& peer) const;
  Reading<P2pStatus> p2p_atomics(const Device& peer) const;
  Reading<P2pStatus> p2p_over_nvlink(const Device& peer) const;
  /// Reads the link as it is now (which an idle GPU may turn down to save power), and at most of
  /// GPU and slot together.
  PcieInfo pcie() const;
  /// Reads the power draw and its limit. Missing without the draw.
  Reading<PowerState> power() const;
  Reading<int> temperature_c() const;
  /// Returns the temperature from which on the GPU slows down to save itself.
  Reading<int> slowdown_temperature_c() const;
  Reading<bool> persistence_mode() const;
  Reading<ComputeModeName> compute_mode() const;
  /// Returns whether the GPU is split into instances (MIG) now.
  Reading<bool> mig_mode() const;
  Reading<std::uint64_t> clock_event_reasons() const;
  /// Returns rows of memory waiting for a reset to be replaced, or that could not be.
  Reading<bool> memory_remap_pending() const;

  /// Returns the percent of the driver's last sampling period (1/6 to 1 s) in which some kernel
  /// ran.
  Reading<double> busy_percent() const;
  /// Lists those with compute contexts, of all users; without NVIDIA's own MPS server, which does
  /// no work.
  Reading<std::vector<GpuProcess>> processes() const;

  /// Fills the NVLink and PCIe members of `gpu`. The version is that of the first active link, the
  /// rate that of the slowest; no rate where one active link's is not known.
  void read_links(GpuInfo& gpu) const;
  /// Fills the clock and power limits of `gpu`: four calls, for once in a job. Whatever the driver
  /// lacks becomes absent; application clocks go with CUDA 14. A clock that nvidia-smi -lgc locked
  /// is none of them: NVML sets it and does not report it.
  void read_limits(GpuInfo& gpu) const;
  /// Returns what the driver says of the path to `peer`.
  PairLink link_to(const Device& peer) const;

 private:
  friend class Nvml;
  Device(const NvmlLibrary* library, void* handle) : library_(library), handle_(handle) {}
  Reading<double> nvlink_rate(unsigned int link) const;
  Reading<NvlinkErrors> error_fields(unsigned int scope) const;
  Reading<P2pStatus> p2p(const Device& peer, nvml_api::P2pCapability capability) const;
  const NvmlLibrary* library_;
  void* handle_;
};

/// Returns what the driver says of the paths between these GPUs: Nvml::Device::link_to() and the
/// NVLinks that join the two, for every pair, `from` below `to`, which count devices. Of an absent
/// device nothing is known. Reads every GPU's links once.
std::vector<PairLink> links_between(const std::vector<std::optional<Nvml::Device>>& devices);

}  // namespace linkgain
