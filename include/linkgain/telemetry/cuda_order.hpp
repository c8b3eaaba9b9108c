#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/environment.hpp"
#include "linkgain/hardware/topology.hpp"

namespace linkgain {

/// What decides how CUDA numbers the GPUs of a process; absent where not set.
struct CudaSettings {
  std::optional<std::string> visible_devices;  ///< CUDA_VISIBLE_DEVICES
  std::optional<std::string> device_order;     ///< CUDA_DEVICE_ORDER
};

CudaSettings cuda_settings();
/// Returns the settings of a process with this environment.
CudaSettings cuda_settings(const Environment& environment);

/// Returns whether CUDA_VISIBLE_DEVICES names an instance of a GPU that MIG splits.
bool names_mig_instance(const CudaSettings& settings);

/// Returns CUDA's index of each GPU, as the CUDA documentation describes the two variables: entries
/// are numbers or beginnings of UUIDs, by the kind of the first; the first that names no device
/// ends the list, and one named twice empties it. Numbers count in PCI order, or, unless
/// CUDA_DEVICE_ORDER is PCI_BUS_ID, fastest first, which is the same for equal models and not known
/// here for others. Uses name, uuid and pci_bus_id of the GPUs.
std::vector<Reading<int>> cuda_indexes(const std::vector<TopologyGpu>& gpus,
                                       const CudaSettings& settings);

/// Returns positions in `gpus` of those that CUDA sees, in its order, to plan with; always an
/// answer. Where CUDA's order is not known the numbers count in the order of `gpus`, and all of
/// `gpus` are there where the list names a MIG instance; only CUDA itself can tell then.
std::vector<std::size_t> visible_to_cuda(const std::vector<TopologyGpu>& gpus,
                                         const CudaSettings& settings);

}  // namespace linkgain
