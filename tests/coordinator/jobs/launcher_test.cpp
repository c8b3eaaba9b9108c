#include "linkgain/jobs/launcher.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "linkgain/base/errors.hpp"
#include "support/golden.hpp"
#include "support/process_support.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;

LaunchRequest two_ranks() {
  LaunchRequest request;
  request.worker = "/opt/bin/linkgain-bench";
  request.worker_arguments = {"--serve", "--backend=mpi"};
  request.cores = 2;
  return request;
}

/// Leaves out what every mpirun is started with.
Environment own_environment(const Environment& current, const LaunchRequest& request) {
  Environment environment = base_environment(current, request);
  if (parse_launcher(request.launcher) == LauncherKind::srun) return environment;
  for (const char* name :
       {"OMPI_MCA_orte_tag_output", "OMPI_MCA_orte_timestamp_output", "OMPI_MCA_orte_xml_output"}) {
    EXPECT_EQ(environment[name], "0") << "ranks' output is a protocol";
    environment.erase(name);
  }
  EXPECT_TRUE(environment.contains("HWLOC_COMPONENTS"));
  if (environment["HWLOC_COMPONENTS"] == "-gl,-opencl") environment.erase("HWLOC_COMPONENTS");
  return environment;
}

TEST(Launcher, PlainCommand) {
  EXPECT_THAT(command(two_ranks()),
              ElementsAre("mpirun", "-np", "2", "--bind-to", "none", "--mca", "ras",
                          "^slurm,tm,lsf,gridengine,alps", "/opt/bin/linkgain-bench", "--serve",
                          "--backend=mpi"));
}

TEST(Launcher, LocallyTheWorkerStartsItsRanks) {
  LaunchRequest request = two_ranks();
  request.launcher = "local";
  request.ranks = 8;
  request.as_root = true;
  request.variant_environment = {{"NCCL_P2P_DISABLE", "1"}};
  EXPECT_THAT(command(request),
              ElementsAre("/opt/bin/linkgain-bench", "--np", "8", "--serve", "--backend=mpi"));
  EXPECT_EQ(base_environment({{"A", "1"}, {"NCCL_P2P_DISABLE", "0"}}, request),
            (Environment{{"A", "1"}, {"NCCL_P2P_DISABLE", "1"}}))
      << "nothing of mpirun's";
  EXPECT_NO_THROW(require_launcher("local"));
}

TEST(Launcher, GivesRanksNoVariableThatTheVariantTakesAway) {
  LaunchRequest request = two_ranks();
  request.unset = {"NCCL_ALGO"};
  request.forwarded = {"NCCL_ALGO", "NCCL_PROTO"};
  for (const char* launcher : {"local", "mpirun", "srun"}) {
    request.launcher = launcher;
    const Environment environment =
        base_environment({{"NCCL_ALGO", "Tree"}, {"NCCL_PROTO", "LL"}}, request);
    EXPECT_FALSE(environment.contains("NCCL_ALGO")) << launcher;
    EXPECT_TRUE(environment.contains("NCCL_PROTO")) << launcher;
    EXPECT_THAT(command(request), testing::Not(testing::Contains("NCCL_ALGO"))) << launcher;
  }
}

TEST(Launcher, SrunSharesItsAllocationAndFeedsRankZero) {
  LaunchRequest request = two_ranks();
  request.launcher = "/opt/slurm/bin/srun";
  request.ranks = 16;
  request.as_root = true;
  request.variant_environment = {{"NCCL_P2P_DISABLE", "1"}};
  EXPECT_THAT(
      command(request),
      ElementsAre("/opt/slurm/bin/srun", "--ntasks=16", "--overlap", "--input=0", "--unbuffered",
                  "--kill-on-bad-exit=1", "--quit-on-interrupt", "--cpu-bind=none", "--export=ALL",
                  "--mpi=pmix", "/opt/bin/linkgain-bench", "--serve", "--backend=mpi"));
  request.mpi_type_set = true;
  EXPECT_THAT(command(request), testing::Not(testing::Contains("--mpi=pmix")));
}

TEST(Launcher, IsKnownByItsNameWithAnyPath) {
  EXPECT_EQ(parse_launcher("local"), LauncherKind::local);
  EXPECT_EQ(parse_launcher("mpirun"), LauncherKind::mpirun);
  EXPECT_EQ(parse_launcher("/opt/openmpi/bin/mpiexec"), LauncherKind::mpirun);
  EXPECT_EQ(parse_launcher("/usr/bin/srun"), LauncherKind::srun);
  for (const char* other : {"", "aprun", "mpirun.mpich", "srun/", "/usr/bin/local"}) {
    EXPECT_THROW(parse_launcher(other), UsageError) << other;
  }
}

TEST(Launcher, EverythingAtOnce) {
  LaunchRequest request = two_ranks();
  request.ranks = 4;
  request.as_root = true;
  request.hostfile = "/tmp/my hosts";
  request.variant_environment = {
      {"NCCL_P2P_DISABLE", "1"}, {"OMPI_MCA_btl", "self,tcp"}, {"NCCL_ALGO", ""}};
  EXPECT_THAT(
      command(request),
      ElementsAre("mpirun", "-np", "4", "--bind-to", "none", "--allow-run-as-root", "--hostfile",
                  "/tmp/my hosts", "--oversubscribe", "-x", "NCCL_ALGO", "-x", "NCCL_P2P_DISABLE",
                  "/opt/bin/linkgain-bench", "--serve", "--backend=mpi"));
}

TEST(Launcher, OversubscribesOnlyBeyondTheCores) {
  LaunchRequest request = two_ranks();
  EXPECT_THAT(command(request), testing::Not(testing::Contains("--oversubscribe")));
  request.cores = 1;
  EXPECT_THAT(command(request), testing::Contains("--oversubscribe"));
}

TEST(Launcher, TheVariantWinsOverTheEnvironmentEvenWithNothing) {
  LaunchRequest request = two_ranks();
  request.variant_environment = {{"NCCL_ALGO", ""}, {"NCCL_P2P_DISABLE", "1"}};
  const Environment environment = own_environment(
      {{"HOME", "/root"}, {"NCCL_ALGO", "Tree"}, {"NCCL_P2P_LEVEL", "SYS"}}, request);
  EXPECT_EQ(environment, (Environment{{"HOME", "/root"},
                                      {"NCCL_ALGO", ""},
                                      {"NCCL_P2P_DISABLE", "1"},
                                      {"NCCL_P2P_LEVEL", "SYS"}}));
}

TEST(Launcher, SrunIsNotToldOfGpusForEachTask) {
  const Environment job{{"SLURM_JOB_ID", "7"},
                        {"SLURM_PMIX_FENCE", "mixed"},
                        {"SLURM_GPUS_PER_TASK", "1"},
                        {"SLURM_TRES_PER_TASK", "gres:gpu:1"},
                        {"SLURM_GPU_BIND", "single:1"}};
  LaunchRequest request = two_ranks();
  request.launcher = "srun";
  EXPECT_EQ(own_environment(job, request),
            (Environment{{"SLURM_JOB_ID", "7"}, {"SLURM_PMIX_FENCE", "mixed"}}));
  request.launcher = "mpirun";
  EXPECT_EQ(own_environment(job, request), job) << "for whatever a rank may start";
}

TEST(Launcher, RanksOfSrunMeetOnARingUnlessAnotherWayIsSet) {
  LaunchRequest request = two_ranks();
  request.launcher = "srun";
  EXPECT_EQ(own_environment({}, request), (Environment{{"SLURM_PMIX_FENCE", "ring"}}));
  request.launcher = "mpirun";
  EXPECT_EQ(own_environment({}, request), Environment{});
}

TEST(Launcher, AJobOnOneHostHasASessionFolderOfItsOwn) {
  LaunchRequest request = two_ranks();
  request.session_folder = "/tmp/linkgain-1/0-1";
  const Environment own{{"OMPI_MCA_orte_tmpdir_base", "/tmp/linkgain-1/0-1"},
                        {"PRTE_MCA_prte_tmpdir_base", "/tmp/linkgain-1/0-1"}};
  EXPECT_EQ(own_environment({}, request), own);
  for (const char* name : {"OMPI_MCA_orte_tmpdir_base", "OMPI_MCA_orte_local_tmpdir_base",
                           "OMPI_MCA_orte_remote_tmpdir_base", "PRTE_MCA_prte_tmpdir_base"}) {
    const Environment users{{name, "/scratch"}};
    EXPECT_EQ(own_environment(users, request), users);
  }
  request.hostfile = "hosts";
  EXPECT_EQ(own_environment({}, request), Environment{}) << "nobody removes it on other hosts";
  request.hostfile.reset();
  request.session_folder.clear();
  EXPECT_EQ(own_environment({}, request), Environment{});
}

TEST(Launcher, AJobOnOneHostHasItsSharedMemoryInAFolderOfItsOwn) {
  LaunchRequest request = two_ranks();
  request.segments_folder = "/dev/shm/linkgain-job.1";
  EXPECT_EQ(own_environment({}, request),
            (Environment{{"OMPI_MCA_btl_sm_backing_directory", "/dev/shm/linkgain-job.1"},
                         {"OMPI_MCA_btl_vader_backing_directory", "/dev/shm/linkgain-job.1"}}));
  const Environment users{{"OMPI_MCA_btl_vader_backing_directory", "/dev/hugepages"}};
  EXPECT_EQ(own_environment(users, request).at("OMPI_MCA_btl_vader_backing_directory"),
            "/dev/hugepages");
  request.hostfile = "hosts";
  EXPECT_EQ(own_environment({}, request), Environment{}) << "it is not on other hosts";
}

TEST(Launcher, RanksOutputIsNotMarked) {
  LaunchRequest request = two_ranks();
  EXPECT_EQ(own_environment({{"OMPI_MCA_orte_tag_output", "1"}}, request), Environment{});
  request.launcher = "srun";
  EXPECT_FALSE(base_environment({{"SLURM_LABELIO", "1"}}, request).contains("SLURM_LABELIO"));
}

TEST(Launcher, LooksForNoDisplaysButWhereAUserAsks) {
  EXPECT_EQ(base_environment({}, two_ranks()).at("HWLOC_COMPONENTS"), "-gl,-opencl");
  const Environment users{{"HWLOC_COMPONENTS", "-cuda"}};
  EXPECT_EQ(own_environment(users, two_ranks()), users);
}

TEST(Launcher, MpirunIsGivenNoEmptyFolderForTemporaryFiles) {
  EXPECT_FALSE(base_environment({{"TMPDIR", ""}}, two_ranks()).contains("TMPDIR"));
  EXPECT_EQ(base_environment({{"TMPDIR", "/var/tmp"}}, two_ranks()).at("TMPDIR"), "/var/tmp");
}

TEST(Launcher, DaemonsOfTwoMpirunsShareASlurmAllocation) {
  LaunchRequest request = two_ranks();
  const Environment job{{"SLURM_JOB_ID", "7"}};
  EXPECT_EQ(own_environment(job, request), job) << "no daemon on one host";
  request.hostfile = "hosts";
  EXPECT_EQ(own_environment(job, request).at("SLURM_OVERLAP"), "1");
  EXPECT_TRUE(own_environment({}, request).empty());
}

TEST(Launcher, RanksOfOtherHostsGetWhatAffectsThem) {
  const Environment current{{"CUDA_VISIBLE_DEVICES", "4,5"},      {"HOME", "/root"},
                            {"LD_LIBRARY_PATH", "/opt/nccl/lib"}, {"NCCL_ALGO", "Tree"},
                            {"NCCL_SOCKET_IFNAME", "eth1"},       {"OMPI_MCA_btl", "self,tcp"},
                            {"VIRTUAL_ENV", "/opt/torch"}};
  LaunchRequest request = two_ranks();
  request.hostfile = "hosts";
  request.variant_environment = {{"NCCL_ALGO", "Ring"}};
  request.forwarded = variables_to_forward(current);
  EXPECT_THAT(request.forwarded, ElementsAre("CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "NCCL_ALGO",
                                             "NCCL_SOCKET_IFNAME", "VIRTUAL_ENV"));
  EXPECT_THAT(command(request),
              ElementsAre("mpirun", "-np", "2", "--bind-to", "none", "--hostfile", "hosts", "-x",
                          "NCCL_ALGO", "-x", "CUDA_VISIBLE_DEVICES", "-x", "LD_LIBRARY_PATH", "-x",
                          "NCCL_SOCKET_IFNAME", "-x", "VIRTUAL_ENV", "/opt/bin/linkgain-bench",
                          "--serve", "--backend=mpi"));
}

class WithPath : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* path = std::getenv("PATH")) before_ = path;
  }
  void TearDown() override {
    if (before_) {
      setenv("PATH", before_->c_str(), 1);
    } else {
      unsetenv("PATH");
    }
  }

  std::filesystem::path put(const std::string& name, mode_t mode) const {
    std::ofstream(folder_ / name) << "#!/bin/sh\n";
    chmod((folder_ / name).c_str(), mode);
    return folder_ / name;
  }

  ScratchFolder folder_;
  std::optional<std::string> before_;
};

TEST_F(WithPath, CurrentEnvironmentHoldsValuesWithEqualsSigns) {
  setenv("PATH", "/a=b:/c", 1);
  EXPECT_EQ(current_environment().at("PATH"), "/a=b:/c");
}

TEST_F(WithPath, AMissingLauncherSaysWhatToInstall) {
  setenv("PATH", folder_.path().c_str(), 1);
  Situations situations;
  for (const char* launcher : {"mpirun", "srun"}) {
    situations.add(launcher, refusal_of<MachineError>([&] { require_launcher(launcher); }));
  }
  expect_golden(situations.text(), "missing_launchers.txt");
  put("mpirun", 0755);
  EXPECT_NO_THROW(require_launcher("mpirun"));
}

TEST_F(WithPath, TheWorkerBesideTheProgramComesFirst) {
  const std::filesystem::path beside =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "linkgain-bench";
  const auto on_path = put("linkgain-bench", 0755);
  setenv("PATH", folder_.path().c_str(), 1);
  EXPECT_EQ(worker_path(), std::filesystem::exists(beside) ? beside : on_path);
}

TEST_F(WithPath, AMissingWorkerIsAnError) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  if (std::filesystem::exists(self.parent_path() / "linkgain-bench")) {
    GTEST_SKIP() << "linkgain-bench lies beside this test";
  }
  setenv("PATH", folder_.path().c_str(), 1);
  EXPECT_THROW(worker_path(), MachineError);
}

}  // namespace
}  // namespace linkgain::test
