#include "linkgain/plan/profile_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "linkgain/base/errors.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;

/// What is refused of an option's value; empty where it is taken.
std::string refused(const std::string& name, const std::string& value) {
  try {
    require_harmless(name, value);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(ProfileOptions, NameNoProgramsLibrariesOrFiles) {
  for (const char* assignment : {"worker=/tmp/evil",
                                 "worker=evil",
                                 "nccl=/tmp/evil",
                                 "nccl=.",
                                 "LD_PRELOAD=evil.so",
                                 "LD_LIBRARY_PATH=.",
                                 "LD_AUDIT=evil.so",
                                 "PATH=.",
                                 "HOME=.",
                                 "BASH_ENV=evil",
                                 "PYTHONPATH=.",
                                 "GCONV_PATH=.",
                                 "TMPDIR=.",
                                 "X=1",
                                 "ld_preload=evil.so",
                                 "LINKGAIN_NCCL=evil.so",
                                 "LINKGAIN_NVML_LIBRARY=evil.so",
                                 "NCCL_NET_PLUGIN=evil",
                                 "NCCL_TUNER_PLUGIN=evil",
                                 "NCCL_PROFILER_PLUGIN=evil",
                                 "NCCL_ENV_PLUGIN=evil",
                                 "NCCL_CONF_FILE=evil",
                                 "NCCL_DEBUG_FILE=mine.txt",
                                 "NCCL_TOPO_DUMP_FILE=mine.txt",
                                 "NCCL_ALGO=/tmp/evil",
                                 "CUDA_INJECTION64_PATH=evil.so",
                                 "CUDA_CACHE_PATH=.",
                                 "CUDA_COREDUMP_FILE=mine.txt",
                                 "CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1",
                                 "CUDA_MPS_LOG_DIRECTORY=.",
                                 "OMPI_MCA_mca_base_component_path=.",
                                 "OMPI_MCA_plm_rsh_agent=evil",
                                 "OMPI_MCA_orte_launch_agent=evil",
                                 "OMPI_MCA_coll_tuned_dynamic_rules_filename=mine.txt",
                                 "OPAL_PREFIX=.",
                                 "PMIX_MCA_mca_base_component_path=.",
                                 "UCX_MODULE_DIR=.",
                                 "UCX_LOG_FILE=mine.txt"}) {
    const std::string key = std::string(assignment).substr(0, std::string(assignment).find('='));
    for (const std::string& value :
         {"a:" + std::string(assignment), "a:NCCL_ALGO=Ring," + std::string(assignment)}) {
      EXPECT_THAT(refused("variant", value), HasSubstr(key + "= of variant 'a'")) << value;
    }
  }
  EXPECT_THAT(refused("variant", "a:NCCL_ALGO=Ring,/tmp/evil"), HasSubstr("NCCL_ALGO="));
  for (const char* name : {"out", "resume"}) EXPECT_THAT(refused(name, "here"), HasSubstr(name));
  EXPECT_THAT(refused("launcher", "./mpirun"), HasSubstr("launcher"));
}

TEST(ProfileOptions, SayWhatIsMeasured) {
  for (const char* value :
       {"p2p", "host", "tcp", "a:", "ring:NCCL_ALGO=Ring,Tree,NCCL_PROTO=LL",
        "mine:host,NCCL_IB_HCA=mlx5", "direct:NCCL_P2P_DIRECT_DISABLE=1",
        "w:CUBLAS_WORKSPACE_CONFIG=:4096:8", "b:CUDA_DEVICE_MAX_CONNECTIONS=1",
        "t:NVIDIA_TF32_OVERRIDE=0",
        "m:OMPI_MCA_pml=ob1,OMPI_MCA_btl=self,tcp,OMPI_MCA_btl_tcp_if_include=lo",
        "u:OMPI_MCA_pml=ucx,UCX_TLS=rc,UCX_NET_DEVICES=mlx5_0:1"}) {
    EXPECT_EQ(refused("variant", value), "") << value;
  }
  EXPECT_EQ(refused("launcher", "srun"), "");
  EXPECT_EQ(refused("sizes", "8:1G:x4"), "");
  EXPECT_EQ(refused("tokens", "./tokens.bin"), "") << "it is read, and nothing more";
}

}  // namespace
}  // namespace linkgain::test
