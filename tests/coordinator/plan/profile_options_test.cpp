#include <gmock/gmock.h>

#include <cstdlib>
#include <string>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/profiles.hpp"
#include "linkgain/plan/option_file.hpp"
#include "linkgain/plan/run_plan.hpp"
#include "linkgain/plan/site.hpp"
#include "support/golden.hpp"
#include "support/process_support.hpp"
#include "support/scoped_environment.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Returns what is refused of an option's value; empty where it is taken.
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

/// Returns the UUID of GPU `last` of the NVML double.
std::string uuid(int last) {
  return "GPU-00000000-0000-0000-0000-00000000000" + std::to_string(last);
}

/// One of the NVML double's machines, with no variable of CUDA's set.
class SiteTest : public ::testing::Test {
 protected:
  SiteTest() {
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("CUDA_DEVICE_ORDER");
  }

  static Site with(const std::string& list) {
    const ScopedEnvironment visible("CUDA_VISIBLE_DEVICES", list);
    return survey_site(std::nullopt);
  }

 private:
  ScopedEnvironment library_{"LINKGAIN_NVML_LIBRARY", NVML_DOUBLE};
  ScopedEnvironment scenario_{"LINKGAIN_NVML_SCENARIO", "h200x2"};
  ScopedEnvironment visible_{"CUDA_VISIBLE_DEVICES", ""};
  ScopedEnvironment order_{"CUDA_DEVICE_ORDER", ""};
};

TEST_F(SiteTest, HasAllGpusWithoutAList) {
  const Site site = survey_site(std::nullopt);
  EXPECT_EQ(site.gpus, 2);
  EXPECT_THAT(site.gpu_name, HasSubstr("H200"));
  EXPECT_TRUE(site.gpu_memory_bytes.has_value());
  EXPECT_EQ(site.no_gpus_reason, "");
}

TEST_F(SiteTest, HasOneInstanceOfGpusThatMigSplits) {
  EXPECT_EQ(with("MIG-aa11,MIG-bb22").gpus, 1);
  const ScopedEnvironment scenario("LINKGAIN_NVML_SCENARIO", "mig");
  const Site split = survey_site(std::nullopt);
  EXPECT_EQ(split.gpus, 1);
  EXPECT_THAT(split.no_gpus_reason, HasSubstr("MIG"));
  EXPECT_THAT(split.no_gpus_advice, HasSubstr("turn MIG off"));
  const ScopedEnvironment one("LINKGAIN_NVML_SCENARIO", "mig-one");
  EXPECT_EQ(survey_site(std::nullopt).gpus, 2);
}

TEST_F(SiteTest, SaysWhatToDoWhereTheDriverDoesNotStart) {
  const ScopedEnvironment scenario("LINKGAIN_NVML_SCENARIO", "driver-mismatch");
  EXPECT_THAT(survey_site(std::nullopt).no_gpus_advice, HasSubstr("restart the machine"));
}

TEST_F(SiteTest, ReadsTheListAsCudaDoes) {
  EXPECT_EQ(with("1,0").gpus, 2);
  EXPECT_EQ(with("1, 0").gpus, 2);
  EXPECT_EQ(with(" 0").gpus, 1);
  EXPECT_EQ(with(uuid(1) + ", " + uuid(0)).gpus, 2);
  EXPECT_EQ(with("GPU-0000").gpus, 0) << "fits both";
  for (const char* list : {"", "-1", "0,0", "none"}) EXPECT_EQ(with(list).gpus, 0) << list;
}

TEST_F(SiteTest, TakesTheBeginningOfAUuid) {
  const ScopedEnvironment scenario("LINKGAIN_NVML_SCENARIO", "lost-gpu-at-start");
  EXPECT_EQ(with("GPU-0000").gpus, 1);
}

TEST_F(SiteTest, MeasuresTheGpusOfAListWithSpaces) {
  Site site = with("1, 0");
  site.has_nccl = true;
  EXPECT_EQ(make_plan({}, site).backend, BackendKind::nccl);
}

TEST_F(SiteTest, SaysWhoHidesGpus) {
  expect_golden(with("1").no_gpus_reason + "\n" + with("0,0").no_gpus_reason + "\n",
                "hidden_gpus.txt");
}

TEST(SlurmAllocation, IsWhatSlurmsVariablesSay) {
  EXPECT_EQ(slurm_allocation({{"SLURM_NTASKS", "4"}}), std::nullopt) << "no job";
  EXPECT_EQ(slurm_allocation({{"SLURM_JOB_ID", "7"}}), (Hosts{1, std::nullopt}));
  const Environment two{{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NUM_NODES", "2"}};
  EXPECT_EQ(slurm_allocation(two), (Hosts{2, std::nullopt}));
  Environment with_tasks = two;
  with_tasks["SLURM_NTASKS"] = "16";
  EXPECT_EQ(slurm_allocation(with_tasks), (Hosts{2, 16}));
  with_tasks["SLURM_NTASKS"] = "1";
  EXPECT_EQ(slurm_allocation(with_tasks), (Hosts{2, std::nullopt})) << "the script's own";
}

}  // namespace
}  // namespace linkgain::test
