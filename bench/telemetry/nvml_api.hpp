#pragma once

#include <array>

/// What linkgain uses of NVML's binary interface, declared anew from NVIDIA's documentation of
/// nvml.h, because that header is not on every machine. Names follow NVML's, types its layouts.
/// Structures and numbers are those of the symbol versions that Library loads; they do not change
/// within a version.
namespace linkgain::nvml_api {

using Handle = void*;  ///< nvmlDevice_t

/// nvmlReturn_t, as far as it is told apart.
using Result = int;
inline constexpr Result kSuccess = 0;
inline constexpr Result kFunctionNotFound = 13;  ///< also what a missing symbol answers here

/// nvmlMemory_t, in bytes.
struct Memory {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

/// nvmlComputeMode_t
enum class ComputeMode : int {
  shared = 0,
  exclusive_thread = 1,
  prohibited = 2,
  exclusive_process = 3,
};

enum class TemperatureSensor : int { gpu = 0 };    ///< nvmlTemperatureSensors_t
enum class ClockType : int { sm = 1 };             ///< nvmlClockType_t
enum class EnableState : int { off = 0, on = 1 };  ///< nvmlEnableState_t

/// nvmlGpuP2PCapsIndex_t
enum class P2pCapability : int { read = 0, write = 1, nvlink = 2 };

/// nvmlGpuP2PStatus_t: ok, unknown, and between them the reasons why not.
enum class P2pStatus : int { ok = 0, unknown = 6 };

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

inline constexpr unsigned int kFieldNvlinkLinkCount = 91;

/// Links are numbered from 0; the first number that the GPU lacks is an error.
inline constexpr unsigned int kMostNvlinks = 36;

/// As long as NVML's longest string (names and UUIDs of version 2: 96 characters with the end).
using Text = std::array<char, 96>;

}  // namespace linkgain::nvml_api
