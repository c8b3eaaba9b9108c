#include "linkgain/gpu/stream_flag.hpp"

#include <cuda.h>
#include <fmt/format.h>

#include "driver_function.hpp"
#include "linkgain/base/errors.hpp"

namespace linkgain::gpu {
namespace {

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
