#include "linkgain/gpu/errors.hpp"

#include <fmt/format.h>

#include <string_view>

namespace linkgain::gpu {
namespace {

std::string error_text(cudaError_t code, const std::source_location& where) {
  return fmt::format("CUDA: {} ({}), at {}", cudaGetErrorString(code), cudaGetErrorName(code),
                     place_of(where));
}

std::string advise(cudaError_t code) {
  if (code == cudaErrorMemoryAllocation) {
    return "Another process may hold the GPU's memory (see nvidia-smi); else choose smaller sizes.";
  }
  if (code == cudaErrorNoDevice) {
    return "Check that nvidia-smi lists a GPU and that CUDA_VISIBLE_DEVICES does not hide it.";
  }
  if (code == cudaErrorInsufficientDriver) {
    return "Install an NVIDIA driver, or one at least as new as the CUDA version built with.";
  }
  if (code == cudaErrorDevicesUnavailable) {
    return "The GPU is in exclusive or prohibited compute mode: nvidia-smi -c DEFAULT, or end "
           "the process that holds it.";
  }
  if (code == cudaErrorNoKernelImageForDevice) {
    return "Build for this GPU: configure with CMAKE_CUDA_ARCHITECTURES=native.";
  }
  return {};
}

}  // namespace

std::string place_of(const std::source_location& where) {
  std::string_view file = where.file_name();
  file.remove_prefix(file.rfind('/') + 1);  // all of it stays where there is no folder
  return fmt::format("{}:{}", file, where.line());
}

CudaError::CudaError(cudaError_t code, const std::source_location& where)
    : MachineError(error_text(code, where), advise(code)), code_(code) {}

void check(cudaError_t status, const std::source_location& where) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw CudaError(status, where);
}

}  // namespace linkgain::gpu
