#include "linkgain/record/recorded_variables.hpp"

#include <algorithm>

namespace linkgain {

bool may_be_recorded(std::string_view variable) {
  // Open MPI's launcher sets these for its processes; they say nothing of the run and name its
  // host's addresses and directories.
  static constexpr std::array<std::string_view, 16> kLaunchersOwn{
      "OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_plm", "OMPI_MCA_pmix", "OMPI_MCA_shmem",
      "OMPI_MCA_rmaps", "OMPI_MCA_initial_wdir", "OMPI_MCA_mpi_oversubscribe", "OMPI_MCA_ras",
      // Open MPI 5 has these.
      "OMPI_MCA_prte_", "OMPI_MCA_PREFIXES", "OMPI_MCA_mca_base_component_path",
      "OMPI_MCA_num_procs", "OMPI_MCA_cpu_type",
      // The job's own folder.
      "OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"};
  for (std::string_view own : kLaunchersOwn) {
    if (variable.starts_with(own)) return false;
  }
  for (std::string_view family : {"NCCL_", "OMPI_MCA_", "CUBLAS_", "CUBLASLT_"}) {
    if (variable.starts_with(family)) return true;
  }
  static constexpr std::array<std::string_view, 7> kOthers{
      "LINKGAIN_NCCL",        "CUDA_VISIBLE_DEVICES",        "CUDA_DEVICE_ORDER",
      "CUDA_LAUNCH_BLOCKING", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
      "NVIDIA_TF32_OVERRIDE"};
  if (std::ranges::find(kTestVariables, variable) != kTestVariables.end()) return true;
  return std::ranges::find(kOthers, variable) != kOthers.end();
}

}  // namespace linkgain
