#pragma once

#include <array>
#include <string_view>

namespace linkgain {

/// Variables by which tests plant a fault or another NVML: what is measured with them is no
/// measurement.
inline constexpr std::array<std::string_view, 2> kTestVariables{"LINKGAIN_TEST_FAULT",
                                                                "LINKGAIN_NVML_LIBRARY"};

/// Returns whether an environment variable may go into a record: NCCL_*, CUBLAS_*, CUBLASLT_*,
/// those of CUDA's that choose GPUs or change how kernels run (CUDA_VISIBLE_DEVICES,
/// CUDA_DEVICE_ORDER, CUDA_LAUNCH_BLOCKING, CUDA_DEVICE_MAX_CONNECTIONS,
/// CUDA_MPS_ACTIVE_THREAD_PERCENTAGE), NVIDIA_TF32_OVERRIDE, kTestVariables, and OMPI_MCA_* but for
/// those that Open MPI's launcher sets for its own use.
bool may_be_recorded(std::string_view variable);

}  // namespace linkgain
