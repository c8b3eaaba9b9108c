#include "linkgain/diagnostics/survey.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor_support.hpp"
#include "support/fake_sys.hpp"
#include "support/nvml_scenario.hpp"

namespace linkgain::test {
namespace {

using enum CheckVerdict;
using ::testing::HasSubstr;

/// Places of a made-up machine that has nothing but what a test writes.
class SurveyTest : public ::testing::Test {
 protected:
  SurveySources sources() const {
    SurveySources sources;
    sources.sys = sys.root();
    sources.proc = sys.root() / "proc";
    sources.shared_memory = sys.root();
    sources.kernel_log = sys.root() / "kmsg";
    sources.etc = sys.root() / "etc";
    sources.home = sys.root() / "home";
    sources.environment = {{"PATH", (sys.root() / "bin").string()}};
    return sources;
  }

  Survey survey_of(const std::string& scenario) const {
    const NvmlScenario nvml(scenario, NVML_DOUBLE);
    return survey_machine(sources());
  }

  FakeSys sys;
};

TEST_F(SurveyTest, ReadsAHealthyMachine) {
  const Survey survey = survey_of("h200x2");
  ASSERT_EQ(survey.gpus.size(), 2U);
  const GpuSurvey& gpu = survey.gpus[0];
  EXPECT_TRUE(gpu.lost.empty());
  EXPECT_EQ(gpu.temperature_c, Reading<int>(45));
  EXPECT_EQ(gpu.slowdown_temperature_c, Reading<int>(89));
  EXPECT_EQ(survey.topology.gpus[0].nvlink.dark, Reading<std::vector<int>>(std::vector<int>{}));
  ASSERT_TRUE(gpu.power.measured());
  EXPECT_EQ(gpu.power.value().default_limit_w, 700.0);
  EXPECT_EQ(gpu.load.reason(), "needs --load");
  for (const char* id : {"power-limit", "power-brake", "temperature", "thermal-slowdown",
                         "nvlink-links", "nvlink-errors", "compute-mode", "persistence"}) {
    expect_finding(survey, id, "GPU0", ok, "");
  }
  expect_finding(survey, "p2p", "GPU0-GPU1", ok, "NV18");
}

TEST_F(SurveyTest, ReadsThePagesMachine) {
  const Survey survey = survey_of("titan-rtx-nv2");
  expect_finding(survey, "nvlink-links", "GPU0", ok, "2 of 2");
  expect_finding(survey, "p2p", "GPU0-GPU1", ok, "NV2");
}

TEST_F(SurveyTest, EveryScenarioShowsItsFault) {
  expect_finding(survey_of("one-link-down"), "nvlink-links", "GPU0", problem, "17 of 18");
  expect_finding(survey_of("p2p-refused"), "p2p", "GPU0-GPU1", problem, "refused");
  expect_finding(survey_of("no-nvlink"), "nvlink-links", "GPU0", ok, "has no NVLink");
  EXPECT_THAT(finding_of(survey_of("no-nvlink"), "p2p", "GPU0-GPU1").advice,
              HasSubstr("no bridge fits"));
  expect_finding(survey_of("persistence-off"), "persistence", "GPU0", warning, "off");
  expect_finding(survey_of("exclusive"), "compute-mode", "GPU0", warning, "one process");
  expect_finding(survey_of("prohibited"), "compute-mode", "GPU0", problem, "prohibited");
  expect_finding(survey_of("remap-pending"), "memory-rows", "GPU1", problem, "wait");
  expect_finding(survey_of("link-errors"), "nvlink-errors", "GPU0", warning, "CRC");
  expect_finding(survey_of("lost-gpu"), "gpu-responds", "GPU1", problem, "lost");
  expect_finding(survey_of("lost-gpu-at-start"), "gpu-responds", "GPU1", problem, "no handle");
}

TEST_F(SurveyTest, WithoutADriverTheHostIsStillSurveyed) {
  const Survey survey = survey_of("no-driver");
  EXPECT_TRUE(survey.gpus.empty());
  expect_finding(survey, "gpu-driver", "host", not_checkable, "river");
  EXPECT_TRUE(survey.host.shared_memory.measured());
  EXPECT_GT(survey.host.processors, 0);
}

TEST_F(SurveyTest, ReadsTheHostsFiles) {
  sys.write("kmsg", "4,1,2000000,-;NVRM: Xid (PCI:0000:06:00): 79, GPU has fallen off the bus.");
  sys.write("etc/nccl.conf", "NCCL_P2P_DISABLE=1");
  sys.write("proc/self/cgroup", "0::/");
  sys.write("fs/cgroup/cpu.max", "150000 100000");
  sys.write("proc/cmdline", "quiet iommu=pt");
  sys.write("class/iommu/dmar0/name", "dmar0");
  std::filesystem::create_directories(sys.root() / "proc/self/ns");
  std::filesystem::create_symlink("pid:[4026531999]", sys.root() / "proc/self/ns/pid");
  const Survey survey = survey_of("h200x2");
  ASSERT_TRUE(survey.host.xid_events.measured());
  EXPECT_EQ(survey.host.xid_events.value().at(0).code, 79);
  EXPECT_EQ(survey.software.nccl.in_force.at(0).name, "NCCL_P2P_DISABLE");
  EXPECT_EQ(survey.host.processor_quota, Reading<double>(1.5));
  EXPECT_EQ(survey.host.processes, Reading<ProcessView>(ProcessView::container));
  EXPECT_EQ(survey.host.kernel_command_line, "quiet iommu=pt");
  EXPECT_EQ(survey.host.iommu_units.value(), std::vector<std::string>{"dmar0"});
}

TEST_F(SurveyTest, ReadsWhoseProcessesAreShown) {
  std::filesystem::create_directories(sys.root() / "proc/self/ns");
  std::filesystem::create_symlink("pid:[4026531836]", sys.root() / "proc/self/ns/pid");
  EXPECT_EQ(survey_of("no-driver").host.processes, Reading<ProcessView>(ProcessView::user));
  std::filesystem::create_directory(sys.root() / "proc/1");
  EXPECT_EQ(survey_of("no-driver").host.processes, Reading<ProcessView>(ProcessView::machine));
}

TEST_F(SurveyTest, FindsMpirunOnThePathThatItIsGiven) {
  EXPECT_FALSE(survey_of("no-driver").software.mpirun.measured());
  sys.write("bin/mpirun", "#!/bin/sh");
  EXPECT_FALSE(survey_of("no-driver").software.mpirun.measured()) << "it is not executable";
  std::filesystem::permissions(sys.root() / "bin/mpirun", std::filesystem::perms::owner_all);
  EXPECT_EQ(survey_of("no-driver").software.mpirun.value(), sys.root() / "bin/mpirun");
}

TEST_F(SurveyTest, RootMustBeMeantTwice) {
  SurveySources meant = sources();
  meant.environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1";
  const NvmlScenario nvml("no-driver", NVML_DOUBLE);
  EXPECT_FALSE(survey_machine(meant).software.root_allowed);
  meant.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  EXPECT_TRUE(survey_machine(meant).software.root_allowed);
}

TEST_F(SurveyTest, FindsVariablesOfCuda) {
  SurveySources set = sources();
  set.environment["NVIDIA_TF32_OVERRIDE"] = "1";
  set.environment["CUDA_HOME"] = "/usr/local/cuda";
  set.environment["NCCL_ALGO"] = "Ring";
  const NvmlScenario nvml("no-driver", NVML_DOUBLE);
  EXPECT_EQ(survey_machine(set).software.cuda_variables,
            (Environment{{"NVIDIA_TF32_OVERRIDE", "1"}}));
}

TEST_F(SurveyTest, AnEmptyRestrictionIsOne) {
  SurveySources hidden = sources();
  EXPECT_FALSE(survey_of("h200x2").visible_devices);
  hidden.environment["CUDA_VISIBLE_DEVICES"] = "";
  const NvmlScenario nvml("h200x2", NVML_DOUBLE);
  EXPECT_EQ(survey_machine(hidden).visible_devices, "");
}

TEST_F(SurveyTest, WatchesALoad) {
  const NvmlScenario nvml("h200x2", NVML_DOUBLE);
  Survey survey = survey_machine(sources());
  LoadWatch watch(survey);
  watch.look();
  watch.look();
  survey.topology.gpus[1].cuda_index = hidden_from_cuda();
  watch.put_into(survey);
  ASSERT_TRUE(survey.gpus[0].load.measured()) << survey.gpus[0].load.reason();
  const GpuLoad& load = survey.gpus[0].load.value();
  EXPECT_EQ(load.pcie_generation, survey.topology.gpus[0].pcie.generation);
  EXPECT_EQ(load.highest_temperature_c, Reading<int>(45));
  EXPECT_TRUE(load.highest_power_w.measured());
  EXPECT_THAT(survey.gpus[1].load.reason(), HasSubstr("hidden by CUDA_VISIBLE_DEVICES"));
}

}  // namespace
}  // namespace linkgain::test
