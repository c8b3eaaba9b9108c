#pragma once

#include <driver_types.h>

#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/hardware/peer_copies.hpp"

namespace linkgain::gpu {

/// Returns GPUs that this process may use; 0 where there is none or no driver, and `reason` then
/// says why.
int device_count(std::string* reason = nullptr);

/// Reads name, UUID, PCI bus id, memory, L2, multiprocessors and compute capability of a device;
/// the NVLink and PCIe members are NVML's to fill. Throws CudaError.
GpuInfo device_info(int cuda_index);

/// Returns device_info() of all that device_count() counts. Throws CudaError.
std::vector<GpuInfo> visible_gpus();

/// Returns whether the current device computes with bfloat16: compute capability 8.0 and later.
/// Throws CudaError.
bool has_bfloat16();

/// Returns whether the current device can reach the memory of the one with that PCI id; false where
/// this process does not see that one.
bool can_reach(const std::string& pci_bus_id);

/// Returns whether the current device does atomic operations on that one's memory as it does on its
/// own: by NVLink it does, by PCIe it does not. True for itself, false where this process does not
/// see it.
bool has_native_atomics(const std::string& pci_bus_id);

/// Returns the CUDA runtime linked in, as "13.0". Throws CudaError.
std::string runtime_version();

/// Returns the newest CUDA that the driver supports, as "13.0"; absent where there is no driver.
/// Throws CudaError.
std::optional<std::string> driver_version();

/// Writes "GPU-" and the 16 bytes in lower-case hexadecimal, as nvidia-smi -L shows them.
std::string uuid_text(const cudaUUID_t& uuid);

/// Writes "00000000:00:06.0": NVML's form with an eight-digit domain, in lower case.
std::string pci_bus_id_text(int domain, int bus, int device);

/// Returns the driver's function of that name, as of CUDA 12.0, null where there is none: the
/// driver's library is not linked, as programs must start without it.
void* driver_function(const char* name) noexcept;

/// Copies by copy engine between all visible GPUs that reach each other's memory, one after the
/// other, some milliseconds each.
std::vector<PeerCopy> measure_peer_copies();

/// Copies between pinned host memory and every visible GPU, both ways at once, for about that long,
/// so that their PCIe links are at work. Returns how many GPUs took part. Throws CudaError.
int load_links(Seconds time);

}  // namespace linkgain::gpu
