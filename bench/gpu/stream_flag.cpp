#include "linkgain/gpu/stream_flag.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "linkgain/core/errors.hpp"

namespace linkgain::gpu {
namespace {

/// The driver's function of that name, null where there is none: the driver's library is not
/// linked, as programs must start without it.
void* driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  constexpr unsigned kVersion = 12000;
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &function, kVersion, cudaEnableDefault, &found);
#else
  const cudaError_t status = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  if (status == cudaSuccess && found == cudaDriverEntryPointSuccess) return function;
  cudaGetLastError();
  return nullptr;
}

using StreamFlagFunction = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);

StreamFlagFunction wait_function() {
  static const auto function =
      reinterpret_cast<StreamFlagFunction>(driver_function("cuStreamWaitValue32"));
  return function;
}

StreamFlagFunction write_function() {
  static const auto function =
      reinterpret_cast<StreamFlagFunction>(driver_function("cuStreamWriteValue32"));
  return function;
}

void check_driver(CUresult status) {
  if (status == CUDA_SUCCESS) return;
  throw MachineError(fmt::format("CUDA's driver refused a stream's operation on memory (error {})",
                                 static_cast<int>(status)),
                     "copies by kernel (--kernels) go through the host without it");
}

CUdeviceptr address_of(const std::uint32_t* flag) { return reinterpret_cast<CUdeviceptr>(flag); }

}  // namespace

bool has_stream_flags() { return wait_function() != nullptr && write_function() != nullptr; }

void wait_for_flag(const Stream& stream, std::uint32_t* flag, std::uint32_t value) {
  check_driver(wait_function()(stream.get(), address_of(flag), value, CU_STREAM_WAIT_VALUE_GEQ));
}

void write_flag(const Stream& stream, std::uint32_t* flag, std::uint32_t value) {
  check_driver(
      write_function()(stream.get(), address_of(flag), value, CU_STREAM_WRITE_VALUE_DEFAULT));
}

}  // namespace linkgain::gpu
