#include "linkgain/record/recorded_variables.hpp"

#include <gtest/gtest.h>

namespace linkgain::test {
namespace {

TEST(MayBeRecorded, OnlyWhatAffectsTheMeasurement) {
  for (const char* name :
       {"NCCL_ALGO", "NCCL_", "OMPI_MCA_btl", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
        "CUDA_LAUNCH_BLOCKING", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
        "NVIDIA_TF32_OVERRIDE", "CUBLAS_WORKSPACE_CONFIG", "CUBLASLT_LOG_LEVEL", "LINKGAIN_NCCL"}) {
    EXPECT_TRUE(may_be_recorded(name)) << name;
  }
  for (const char* name : {"", "PATH", "HOME", "NCCL", "MY_NCCL_ALGO", "CUDA_VISIBLE_DEVICES_2",
                           "AWS_SECRET_ACCESS_KEY", "OMPI_COMM_WORLD_RANK", "nccl_algo",
                           "CUDA_HOME", "NVIDIA_VISIBLE_DEVICES", "CUBLAS", "OMPI_MCA_ras",
                           "OMPI_MCA_PREFIXES", "OMPI_MCA_num_procs", "OMPI_MCA_cpu_type"}) {
    EXPECT_FALSE(may_be_recorded(name)) << name;
  }
}

}  // namespace
}  // namespace linkgain::test
