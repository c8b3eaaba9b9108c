#pragma once

#include <array>
#include <map>

#include "nvml_double_scenarios.hpp"

namespace linkgain::nvml_double {

using nvml_api::Handle;

/// What a handle points at.
struct Gpu {
  int index = 0;
  Fault fault;  ///< the scenario's, if it is this GPU's
  /// Readings so far, by field.
  std::map<unsigned int, unsigned long long> readings;

  bool busy() const { return index == 1; }
};

/// The machine that the double stands for, from nvmlInit_v2 to nvmlShutdown.
struct Machine {
  const Scenario* scenario = nullptr;
  std::array<Gpu, kMostGpus> gpus;

  bool has(const Gpu& gpu) const { return gpu.index < scenario->gpus; }
};

Machine& machine();

/// Finds the GPU of a handle; what NVML answers where it is none of this machine, or lost.
Result find(Handle device, Gpu*& gpu);
/// The same, and whether the GPU has this link.
Result find_link(Handle device, unsigned int link, Gpu*& gpu);

bool link_active(unsigned int link);
const char* uuid_of(const Gpu& gpu);
/// Fills in NVML's PCI structure of a GPU.
nvml_api::PciInfo pci_info_of(const Gpu& gpu);
Result copy_text(const char* text, char* out, unsigned int length);

/// Answers what a function of the GPU returns, through `out`.
template <typename T, typename Function>
Result answer(Handle device, T* out, const Function& function) {
  Gpu* gpu = nullptr;
  const Result result = find(device, gpu);
  if (result == kSuccess) {
    *out = function(*gpu);
  }
  return result;
}

/// The same of a link that is up; one that is down tells nothing of its other end.
template <typename T, typename Function>
Result answer_link(Handle device, unsigned int link, T* out, const Function& function) {
  Gpu* gpu = nullptr;
  const Result result = find_link(device, link, gpu);
  if (result != kSuccess) {
    return result;
  }
  if (!link_active(link)) {
    return kNotSupported;
  }
  *out = function(*gpu);
  return kSuccess;
}

}  // namespace linkgain::nvml_double
