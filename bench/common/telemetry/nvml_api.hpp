#pragma once

#include <array>
#include <limits>

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
inline constexpr Result kInsufficientSize = 7;
inline constexpr Result kFunctionNotFound = 13;  ///< also what a missing symbol answers here
inline constexpr Result kGpuIsLost = 15;

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
