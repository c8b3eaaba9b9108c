#pragma once

#include <array>
#include <string_view>

#include "nvml_api.hpp"

/// What the NVML double answers. "h200x2" is what a machine with two NVLink-connected H200
/// answered; the others are that machine with the differences that NVML's documentation describes.
namespace linkgain::nvml_double {

using nvml_api::ComputeMode;
using nvml_api::kSuccess;
using nvml_api::Result;

inline constexpr Result kUninitialized = 1;
inline constexpr Result kInvalidArgument = 2;
inline constexpr Result kNotSupported = 3;
inline constexpr Result kNotFound = 6;
inline constexpr Result kInsufficientSize = 7;
inline constexpr Result kDriverNotLoaded = 9;
inline constexpr int kP2pNotSupported = 5;

struct Scenario {
  std::string_view name;
  Result init = kSuccess;
  int gpus = 2;
  const char* gpu_name = "NVIDIA H200";
  unsigned long long memory = 150754820096ULL;
  int links = 18;  ///< 0: the GPU has no NVLink and says that it does not support the calls
  bool link_count_field = true;
  int link_down = -1;  ///< the number of the link that is not active
  unsigned int nvlink_version = 6;
  int p2p_read = 0;
  int p2p_write = 0;
  int p2p_nvlink = 0;
  Result p2p_result = kSuccess;
  ComputeMode mode = ComputeMode::shared;
};

inline const std::array kScenarios{
    Scenario{.name = "h200x2"},
    Scenario{.name = "phb",
             .gpu_name = "NVIDIA L4",
             .memory = 24152899584ULL,
             .links = 0,
             .p2p_read = kP2pNotSupported,
             .p2p_write = kP2pNotSupported,
             .p2p_nvlink = kP2pNotSupported},
    Scenario{.name = "titan-rtx-nv2",
             .gpu_name = "NVIDIA TITAN RTX",
             .memory = 25386352640ULL,
             .links = 2,
             .link_count_field = false,
             .nvlink_version = 2},
    Scenario{.name = "one-link-down", .link_down = 0},
    Scenario{.name = "exclusive", .mode = ComputeMode::exclusive_process},
    Scenario{.name = "p2p-read-only", .p2p_write = kP2pNotSupported},
    Scenario{.name = "p2p-unknown", .p2p_read = 6, .p2p_write = 6, .p2p_nvlink = 6},
    Scenario{.name = "p2p-error", .p2p_result = 999},
    Scenario{.name = "no-driver", .init = kDriverNotLoaded},
};

struct Gpu {
  unsigned int index;
  const char* uuid;
  unsigned int bus;
  unsigned int temperature;
  unsigned int power_mw;
  unsigned int sm_clock;
  unsigned long long reasons;
};

// What a handle points at.
inline std::array kGpus{
    Gpu{0, "GPU-00000000-0000-0000-0000-000000000000", 0x06, 45, 81974, 345, 0x1},
    Gpu{1, "GPU-00000000-0000-0000-0000-000000000001", 0x07, 47, 612345, 1980, 0x4},
};

}  // namespace linkgain::nvml_double
