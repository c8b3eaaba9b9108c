#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "linkgain/base/reading.hpp"
#include "linkgain/base/units.hpp"

/// What linkgain uses of NVML's binary interface, declared anew from NVIDIA's documentation of
/// nvml.h, because that header is not on every machine. Names follow NVML's, types its layouts.
/// Structures and numbers are those of the symbol versions that Library loads; they do not change
/// within a version.
namespace linkgain::nvml_api {

using Handle = void*;  ///< nvmlDevice_t

/// nvmlReturn_t, as far as it is told apart.
using Result = int;
inline constexpr Result kSuccess = 0;
inline constexpr Result kNotSupported = 3;
inline constexpr Result kNoPermission = 4;
inline constexpr Result kInsufficientSize = 7;
inline constexpr Result kDriverNotLoaded = 9;
inline constexpr Result kFunctionNotFound = 13;  ///< also what a missing symbol answers here
inline constexpr Result kGpuIsLost = 15;
inline constexpr Result kBlockedBySystem = 17;
inline constexpr Result kVersionMismatch = 18;
inline constexpr Result kUnknownError = 999;

/// nvmlMemory_t, in bytes.
struct Memory {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

/// nvmlUtilization_t: percent of the last sampling period.
struct Utilization {
  unsigned int gpu = 0;     ///< in which some kernel ran
  unsigned int memory = 0;  ///< in which device memory was read or written
};

/// nvmlProcessInfo_v2_t, of the functions that end in _v2 or _v3.
struct ProcessInfo {
  unsigned int pid = 0;
  unsigned long long used_memory = 0;  ///< in bytes; all ones: not available
  unsigned int gpu_instance = 0;
  unsigned int compute_instance = 0;
};
static_assert(sizeof(ProcessInfo) == 24);
inline constexpr unsigned long long kMemoryNotAvailable = ~0ULL;

/// nvmlComputeMode_t
enum class ComputeMode : int {
  shared = 0,
  exclusive_thread = 1,
  prohibited = 2,
  exclusive_process = 3,
};

enum class TemperatureSensor : int { gpu = 0 };          ///< nvmlTemperatureSensors_t
enum class TemperatureThreshold : int { slowdown = 1 };  ///< nvmlTemperatureThresholds_t
enum class ClockType : int { graphics = 0, sm = 1 };     ///< nvmlClockType_t
enum class EnableState : int { off = 0, on = 1 };        ///< nvmlEnableState_t

/// nvmlGpuP2PCapsIndex_t
enum class P2pCapability : int { read = 0, write = 1, nvlink = 2, atomics = 3 };

/// nvmlGpuP2PStatus_t
enum class P2pStatus : int {
  ok = 0,
  chipset_not_supported = 1,
  gpu_not_supported = 2,
  io_hub_topology_not_supported = 3,
  disabled_by_registry_key = 4,
  not_supported = 5,
  unknown = 6,
};

/// nvmlGpuTopologyLevel_t: the nearest thing that two GPUs have in common.
enum class TopologyLevel : int {
  internal = 0,  ///< one board's own switch
  single = 10,
  multiple = 20,
  host_bridge = 30,
  node = 40,
  system = 50,
};

/// nvmlIntNvLinkDeviceType_t
enum class NvlinkDeviceType : int { gpu = 0, npu = 1, nvswitch = 2, unknown = 255 };

/// nvmlNvLinkErrorCounter_t
enum class NvlinkErrorCounter : int { replay = 0, recovery = 1, crc_flit = 2, crc_data = 3 };

/// nvmlPciInfo_t of the functions that end in _v2 or _v3; ids are text with the end.
struct PciInfo {
  std::array<char, 16> bus_id_legacy{};
  unsigned int domain = 0;
  unsigned int bus = 0;
  unsigned int device = 0;
  unsigned int device_id = 0;
  unsigned int subsystem_id = 0;
  std::array<char, 32> bus_id{};
};
static_assert(sizeof(PciInfo) == 68);

/// nvmlValueType_t
enum class ValueType : int {
  floating = 0,
  unsigned_int = 1,
  unsigned_long = 2,
  unsigned_long_long = 3,
  signed_long_long = 4,
  signed_int = 5,
  unsigned_short = 6,
};

/// nvmlValue_t
union Value {
  double floating;
  int signed_int;
  unsigned int unsigned_int;
  unsigned long unsigned_long;
  unsigned long long unsigned_long_long = 0;
  long long signed_long_long;
  unsigned short unsigned_short;
};

/// nvmlFieldValue_t: fieldId and scopeId go in, the rest comes out; value holds only where result
/// is kSuccess.
struct FieldValue {
  unsigned int field = 0;
  unsigned int scope = 0;
  long long timestamp_us = 0;
  long long latency_us = 0;
  ValueType type = ValueType::unsigned_int;
  Result result = kFunctionNotFound;
  Value value{};
};

/// Numbers of fields (NVML_FI_DEV_...).
inline constexpr unsigned int kFieldNvlinkCommonSpeed = 90;  ///< MB/s of every active link
inline constexpr unsigned int kFieldNvlinkLinkCount = 91;
inline constexpr unsigned int kFieldNvlinkDataSent = 138;  ///< KiB of payload; scope: the link
inline constexpr unsigned int kFieldNvlinkDataReceived = 139;
inline constexpr unsigned int kFieldNvlinkReplays = 161;  ///< scope: the link
inline constexpr unsigned int kFieldNvlinkRecoveries = 162;
inline constexpr unsigned int kFieldNvlinkCrcErrors = 163;
inline constexpr unsigned int kFieldNvlinkSpeed = 164;  ///< MB/s; scope: the link
inline constexpr unsigned int kFieldPcieSent = 197;     ///< bytes modulo 2^32
inline constexpr unsigned int kFieldPcieReceived = 198;

/// The scope that sums a field over all links; 0 is link 0 alone.
inline constexpr unsigned int kAllLinks = std::numeric_limits<unsigned int>::max();

/// What a PCI domain says where the driver does not report the device (an NVSwitch seen from a
/// guest).
inline constexpr unsigned int kNoPciDomain = std::numeric_limits<unsigned int>::max();

/// Links are numbered from 0; the first number that the GPU lacks is an error.
inline constexpr unsigned int kMostNvlinks = 36;

/// As long as NVML's longest string (names and UUIDs of version 2: 96 characters with the end).
using Text = std::array<char, 96>;

}  // namespace linkgain::nvml_api

namespace linkgain {

/// Ends this process where a call into the driver's library does not come back, as after some
/// faults of a GPU: it would wait for ever, deaf to signals. It says on standard error which call
/// it was and leaves with status 3. Jobs end with it, and a run's journal is on the disk.
class DriverWatch {
 public:
  /// Far more than the driver takes to wake all GPUs of a node.
  static constexpr Seconds kLimit{60.0};

  /// A call that is under way while this lives; from any thread. `function` outlives it.
  class Call {
   public:
    Call(DriverWatch& watch, const char* function);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    friend class DriverWatch;
    DriverWatch& watch_;
    const char* function_;
    std::chrono::steady_clock::time_point start_;
  };

  /// Begins to watch; nothing is watched if this process may start no thread.
  explicit DriverWatch(Seconds limit);

 private:
  void look(const std::stop_token& stop);

  Seconds limit_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<const Call*> calls_;
  std::jthread thread_;
};

/// The loaded library and its functions. A function that the library lacks answers
/// kFunctionNotFound, as NVML itself does, so that callers need one check only.
struct NvmlLibrary {
 private:
  struct Closer {
    void operator()(void* object) const noexcept;
  };

  // Before the functions, which are found in it.
  DriverWatch watch_;
  std::unique_ptr<void, Closer> object_;
  bool initialised_ = false;

  void* find(const char* symbol) const;

 public:
  /// A function of the library, or none. What does not come back ends the process (DriverWatch).
  template <typename... Arguments>
  class Function {
   public:
    /// Finds the function of this name, or the one that drivers had earlier, which does the same.
    Function(NvmlLibrary& library, const char* symbol, const char* earlier = nullptr)
        : watch_(library.watch_), symbol_(symbol) {
      void* address = library.find(symbol);
      if (address == nullptr && earlier != nullptr) address = library.find(symbol_ = earlier);
      address_ = reinterpret_cast<nvml_api::Result (*)(Arguments...)>(address);
    }

    nvml_api::Result operator()(Arguments... arguments) const {
      if (address_ == nullptr) return nvml_api::kFunctionNotFound;
      const DriverWatch::Call call(watch_, symbol_);
      return address_(arguments...);
    }
    bool found() const { return address_ != nullptr; }
    /// Returns the function's name, "nvmlDeviceGetName"
    const char* symbol() const { return symbol_; }

   private:
    DriverWatch& watch_;
    const char* symbol_;
    nvml_api::Result (*address_)(Arguments...);
  };
  template <typename... Arguments>
  using OfDevice = Function<nvml_api::Handle, Arguments...>;

  /// A field's number and which part of the device it is asked of (a link, or kAllLinks).
  struct FieldName {
    unsigned int id = 0;
    unsigned int scope = 0;
  };

  /// Loads the library called `name` (a file name for dlopen) and initialises it. Where that fails
  /// the result is null, `reason` says why and `advice` what to do, where that is known. No call
  /// may take longer than `limit`.
  static std::unique_ptr<NvmlLibrary> load(const std::string& name, std::string& reason,
                                           std::string& advice,
                                           Seconds limit = DriverWatch::kLimit);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  /// Returns why there is no value where `function` answered `result`: the library lacks it, or
  /// NVML's own words with the code.
  template <typename... Arguments>
  std::string why(const Function<Arguments...>& function, nvml_api::Result result) const {
    return function.found() ? error_text(result) : lacks(function.symbol());
  }

  /// Returns the value that function(arguments..., &value) gives.
  template <typename T, typename... Parameters, typename... Arguments>
  Reading<T> read(const Function<Parameters...>& function, Arguments... arguments) const {
    T value{};
    const nvml_api::Result result = function(arguments..., &value);
    if (result != nvml_api::kSuccess) {
      return Missing{why(function, result), kind_of(result)};
    }
    return value;
  }

  /// Returns the values of several fields, asked for in one call, as integers.
  std::vector<Reading<std::int64_t>> fields(nvml_api::Handle device,
                                            std::initializer_list<FieldName> names) const;
  Reading<std::int64_t> field(nvml_api::Handle device, FieldName asked) const;

  Function<> init{*this, "nvmlInit_v2"};
  Function<> shutdown{*this, "nvmlShutdown"};
  Function<char*, unsigned int> driver_version{*this, "nvmlSystemGetDriverVersion"};
  Function<int*> cuda_driver_version{*this, "nvmlSystemGetCudaDriverVersion_v2"};
  Function<unsigned int*> device_count{*this, "nvmlDeviceGetCount_v2"};
  Function<unsigned int, nvml_api::Handle*> handle_by_index{*this, "nvmlDeviceGetHandleByIndex_v2"};
  Function<const char*, nvml_api::Handle*> handle_by_pci_bus_id{*this,
                                                                "nvmlDeviceGetHandleByPciBusId_v2"};
  OfDevice<char*, unsigned int> name{*this, "nvmlDeviceGetName"};
  OfDevice<char*, unsigned int> uuid{*this, "nvmlDeviceGetUUID"};
  OfDevice<nvml_api::PciInfo*> pci_info{*this, "nvmlDeviceGetPciInfo_v3"};
  OfDevice<nvml_api::Memory*> memory_info{*this, "nvmlDeviceGetMemoryInfo"};
  OfDevice<int*, int*> compute_capability{*this, "nvmlDeviceGetCudaComputeCapability"};
  OfDevice<nvml_api::Utilization*> utilization{*this, "nvmlDeviceGetUtilizationRates"};
  OfDevice<unsigned int*, nvml_api::ProcessInfo*> compute_processes{
      *this, "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"};
  Function<unsigned int, char*, unsigned int> process_name{*this, "nvmlSystemGetProcessName"};
  OfDevice<nvml_api::ComputeMode*> compute_mode{*this, "nvmlDeviceGetComputeMode"};
  OfDevice<nvml_api::EnableState*, nvml_api::EnableState*> mig_mode{*this, "nvmlDeviceGetMigMode"};
  OfDevice<nvml_api::TemperatureSensor, unsigned int*> temperature{*this,
                                                                   "nvmlDeviceGetTemperature"};
  OfDevice<nvml_api::TemperatureThreshold, unsigned int*> temperature_threshold{
      *this, "nvmlDeviceGetTemperatureThreshold"};
  OfDevice<nvml_api::EnableState*> persistence_mode{*this, "nvmlDeviceGetPersistenceMode"};
  OfDevice<unsigned int*> power_usage{*this, "nvmlDeviceGetPowerUsage"};
  OfDevice<unsigned int*> power_limit{*this, "nvmlDeviceGetEnforcedPowerLimit"};
  OfDevice<unsigned int*> default_power_limit{*this, "nvmlDeviceGetPowerManagementDefaultLimit"};
  OfDevice<unsigned int*, unsigned int*> power_limit_constraints{
      *this, "nvmlDeviceGetPowerManagementLimitConstraints"};
  OfDevice<nvml_api::ClockType, unsigned int*> clock_info{*this, "nvmlDeviceGetClockInfo"};
  OfDevice<nvml_api::ClockType, unsigned int*> most_clock{*this, "nvmlDeviceGetMaxClockInfo"};
  OfDevice<nvml_api::ClockType, unsigned int*> application_clock{*this,
                                                                 "nvmlDeviceGetApplicationsClock"};
  OfDevice<nvml_api::ClockType, unsigned int*> most_custom_boost_clock{
      *this, "nvmlDeviceGetMaxCustomerBoostClock"};
  OfDevice<unsigned long long*> clock_event_reasons{*this, "nvmlDeviceGetCurrentClocksEventReasons",
                                                    "nvmlDeviceGetCurrentClocksThrottleReasons"};
  OfDevice<unsigned int, nvml_api::EnableState*> nvlink_state{*this, "nvmlDeviceGetNvLinkState"};
  OfDevice<unsigned int, unsigned int*> nvlink_version{*this, "nvmlDeviceGetNvLinkVersion"};
  OfDevice<unsigned int, nvml_api::NvlinkDeviceType*> nvlink_remote_type{
      *this, "nvmlDeviceGetNvLinkRemoteDeviceType"};
  OfDevice<unsigned int, nvml_api::PciInfo*> nvlink_remote_pci_info{
      *this, "nvmlDeviceGetNvLinkRemotePciInfo_v2"};
  OfDevice<unsigned int, nvml_api::NvlinkErrorCounter, unsigned long long*> nvlink_error_counter{
      *this, "nvmlDeviceGetNvLinkErrorCounter"};
  OfDevice<unsigned int*, unsigned int*, unsigned int*, unsigned int*> remapped_rows{
      *this, "nvmlDeviceGetRemappedRows"};
  OfDevice<nvml_api::Handle, nvml_api::P2pCapability, nvml_api::P2pStatus*> p2p_status{
      *this, "nvmlDeviceGetP2PStatus"};
  OfDevice<nvml_api::Handle, nvml_api::TopologyLevel*> common_ancestor{
      *this, "nvmlDeviceGetTopologyCommonAncestor"};
  OfDevice<unsigned int*> pcie_generation{*this, "nvmlDeviceGetCurrPcieLinkGeneration"};
  OfDevice<unsigned int*> pcie_width{*this, "nvmlDeviceGetCurrPcieLinkWidth"};
  OfDevice<unsigned int*> most_pcie_generation{*this, "nvmlDeviceGetMaxPcieLinkGeneration"};
  OfDevice<unsigned int*> most_pcie_width{*this, "nvmlDeviceGetMaxPcieLinkWidth"};
  OfDevice<unsigned int*> pcie_replays{*this, "nvmlDeviceGetPcieReplayCounter"};
  OfDevice<int, nvml_api::FieldValue*> field_values{*this, "nvmlDeviceGetFieldValues"};

 private:
  NvmlLibrary(const std::string& name, Seconds limit);
  std::string error_text(nvml_api::Result result) const;
  static WhyMissing kind_of(nvml_api::Result result);
  static std::string lacks(const char* symbol);
};

/// Returns the reading through `function`; what is missing stays so, with its reason.
template <typename To, typename From, typename Function>
Reading<To> convert(const Reading<From>& from, const Function& function) {
  return from.measured() ? Reading<To>(function(from.value())) : from.missing();
}

/// Turns NVML's counts into numbers that can be subtracted.
inline Reading<int> to_int(const Reading<unsigned int>& from) {
  return convert<int>(from, [](unsigned int value) { return static_cast<int>(value); });
}

}  // namespace linkgain
