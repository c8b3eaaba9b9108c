#pragma once

#include <cuda_runtime_api.h>

namespace linkgain::kernels {

/// Sets `value` to that attribute of the current device.
inline cudaError_t device_attribute(cudaDeviceAttr attribute, int* value) {
  int device = 0;
  const cudaError_t status = cudaGetDevice(&device);
  if (status != cudaSuccess) return status;
  return cudaDeviceGetAttribute(value, attribute, device);
}

}  // namespace linkgain::kernels
