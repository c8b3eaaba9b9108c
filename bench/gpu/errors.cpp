#include "linkgain/gpu/errors.hpp"

#include <fmt/format.h>

#include <string_view>

namespace linkgain::gpu {
namespace {

std::string describe(cudaError_t code, const std::source_location& where) {
  std::string_view file = where.file_name();
  if (const std::size_t slash = file.rfind('/'); slash != std::string_view::npos) {
    file.remove_prefix(slash + 1);
  }
  return fmt::format("CUDA: {} ({}), at {}:{}", cudaGetErrorString(code), cudaGetErrorName(code),
                     file, where.line());
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

CudaError::CudaError(cudaError_t code, const std::source_location& where)
    : MachineError(describe(code, where), advise(code)), code_(code) {}

void check(cudaError_t status, const std::source_location& where) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw CudaError(status, where);
}

}  // namespace linkgain::gpu
