#include <gtest/gtest.h>

#include "doctor_support.hpp"

namespace linkgain::test {
namespace {

using enum CheckVerdict;
using ::testing::HasSubstr;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

Survey with_shared_memory(std::int64_t bytes, std::int64_t free_bytes, Survey survey) {
  survey.host.shared_memory = Capacity{bytes, free_bytes};
  return survey;
}

TEST(DoctorHost, SharedMemory) {
  expect_finding(healthy_survey(), "shared-memory", "host", ok, "256 GiB free of 256 GiB");
  const auto two_gpus = healthy_survey();
  expect_finding(with_shared_memory(64 * kMiB, 64 * kMiB, two_gpus), "shared-memory", "host",
                 warning, "64 MiB free of 64 MiB");
  expect_finding(with_shared_memory(64 * kMiB, 10 * kMiB, two_gpus), "shared-memory", "host",
                 problem, "10 MiB free of 64 MiB");
  Survey eight = two_gpus;
  for (int index = 2; index < 8; ++index) eight.topology.gpus.push_back(healthy_links(index));
  expect_finding(with_shared_memory(64 * kMiB, 64 * kMiB, eight), "shared-memory", "host", problem,
                 "64 MiB");
  Survey survey = two_gpus;
  survey.host.shared_memory = Missing{"/dev/shm: No such file"};
  expect_finding(survey, "shared-memory", "host", not_checkable, "No such file");
}

TEST(DoctorHost, LockedMemoryMattersWhereThereAreAdapters) {
  Survey survey = healthy_survey();
  expect_finding(survey, "locked-memory", "host", ok, "unlimited");
  survey.host.locked_memory = MemoryLimit{8 * kMiB};
  expect_finding(survey, "locked-memory", "host", ok, "8 MiB");
  survey.topology.nics.push_back({"mlx5_0", "0000:0a:00.0", 0});
  expect_finding(survey, "locked-memory", "host", warning, "8 MiB");
  survey.host.locked_memory = MemoryLimit{64 * 1024 * kMiB};
  expect_finding(survey, "locked-memory", "host", ok, "64 GiB");
  survey.host.locked_memory = Missing{"refused"};
  expect_finding(survey, "locked-memory", "host", not_checkable, "refused");
}

TEST(DoctorHost, Cores) {
  Survey survey = healthy_survey();
  expect_finding(survey, "cores", "host", ok, "32 processors for 2 ranks");
  survey.host.processors = 3;
  expect_finding(survey, "cores", "host", warning, "3 processors");
  survey.host.processors = 1;
  expect_finding(survey, "cores", "host", problem, "1 processor for 2 ranks");
  survey.host.processors = 32;
  survey.host.processor_quota = 1.5;
  expect_finding(survey, "cores", "host", problem, "1.5 of 32 processors' time");
}

TEST(DoctorHost, ContainersHideProcessesOfOthers) {
  Survey survey = healthy_survey();
  expect_finding(survey, "process-ids", "host", ok, "of the machine");
  survey.host.processes = ProcessView::container;
  expect_finding(survey, "process-ids", "host", warning, "of its own");
  survey.host.processes = ProcessView::user;
  expect_finding(survey, "process-ids", "host", warning, "hidepid");
  survey.gpus.clear();
  expect_finding(survey, "process-ids", "host", ok, "no GPUs");
  survey.host.processes = Missing{"no /proc"};
  expect_finding(survey, "process-ids", "host", not_checkable, "no /proc");
}

TEST(DoctorHost, SysMustShowDevices) {
  Survey survey = healthy_survey();
  expect_finding(survey, "sysfs", "host", ok, "/sys");
  survey.host.nvidia_devices = Missing{"/sys/bus/pci/devices: No such file"};
  expect_finding(survey, "sysfs", "host", warning, "No such file");
  expect_finding(no_gpu_survey(), "sysfs", "host", ok, "/sys");
}

/// Returns a healthy machine whose worker says this of its software.
Survey with_software(Software software) {
  Survey survey = healthy_survey();
  survey.software.worker = std::move(software);
  return survey;
}

Software healthy_software() { return healthy_survey().software.worker.value(); }

TEST(DoctorSoftware, Worker) {
  expect_finding(healthy_survey(), "worker", "host", ok, "linkgain-bench 0.2.0 (nccl+mpi");
  expect_finding(no_gpu_survey(), "worker", "host", ok, "(mpi, Release)");
  Survey survey = healthy_survey();
  survey.software.worker = no_gpu_survey().software.worker;
  expect_finding(survey, "worker", "host", warning, "(mpi, Release)");
  survey.software.worker = Missing{"'linkgain-bench' is not on PATH"};
  expect_finding(survey, "worker", "host", not_checkable, "not on PATH");
}

TEST(DoctorSoftware, DriverAndRuntime) {
  expect_finding(healthy_survey(), "cuda-driver", "host", ok, "driver for CUDA 13.0, runtime 13.0");
  Software old_driver = healthy_software();
  old_driver.cuda_driver = "12.8";
  expect_finding(with_software(old_driver), "cuda-driver", "host", problem, "12.8, runtime 13.0");
  old_driver.cuda_runtime = "12.9";
  expect_finding(with_software(old_driver), "cuda-driver", "host", warning, "12.8, runtime 12.9");
  old_driver.cuda_runtime = "11.8";
  expect_finding(with_software(old_driver), "cuda-driver", "host", ok, "12.8, runtime 11.8");
  old_driver.cuda_driver.reset();
  expect_finding(with_software(old_driver), "cuda-driver", "host", not_checkable,
                 "does not report");
  old_driver.cuda_runtime.reset();
  expect_finding(with_software(old_driver), "cuda-driver", "host", not_checkable, "without CUDA");
}

TEST(DoctorSoftware, DriverOfAWorkerThatFails) {
  Survey survey = healthy_survey();
  survey.software.worker = Missing{"CUDA: system not yet initialized"};
  expect_finding(survey, "cuda-driver", "host", not_checkable, "system not yet initialized");
  Survey none = no_gpu_survey();
  none.software.worker = survey.software.worker;
  for (const Finding& finding : check_machine(none)) EXPECT_NE(finding.id, "cuda-driver");
  Software no_driver = healthy_software();
  no_driver.cuda_driver.reset();
  none.software.worker = no_driver;
  for (const Finding& finding : check_machine(none)) EXPECT_NE(finding.id, "cuda-driver");
}

TEST(DoctorSoftware, NcclHeaderAndLibrary) {
  expect_finding(healthy_survey(), "nccl-version", "host", ok, "library 2.28.9, header 2.28.9");
  Software mixed = healthy_software();
  mixed.nccl_library = "2.30.7";
  mixed.nccl_path = "/opt/nccl/libnccl.so.2";
  mixed.nccl_found_by = "LINKGAIN_NCCL";
  expect_finding(with_software(mixed), "nccl-version", "host", ok,
                 "header 2.28.9; /opt/nccl/libnccl.so.2 (LINKGAIN_NCCL)");
  mixed.nccl_library = "2.19.3";
  expect_finding(with_software(mixed), "nccl-version", "host", ok, "library 2.19.3");
  mixed.nccl_library = "3.0.1";
  expect_finding(with_software(mixed), "nccl-version", "host", problem, "library 3.0.1");
  mixed.nccl_library = "unknown";
  expect_finding(with_software(mixed), "nccl-version", "host", not_checkable, "does not report");
  mixed.nccl_library.reset();
  mixed.nccl_missing = "NCCL could not be loaded: libnccl.so.2: no such file";
  expect_finding(with_software(mixed), "nccl-version", "host", problem, "none was opened");
}

TEST(DoctorSoftware, NcclKnownBugs) {
  expect_finding(healthy_survey(), "nccl-known-bugs", "host", ok, "2.28.9");
  Software buggy = healthy_software();
  for (const char* version : {"2.28.3", "2.28.6"}) {
    buggy.nccl_library = version;
    expect_finding(with_software(buggy), "nccl-known-bugs", "host", warning, version);
  }
  for (const char* version : {"2.27.7", "2.28.7", "2.30.4"}) {
    buggy.nccl_library = version;
    expect_finding(with_software(buggy), "nccl-known-bugs", "host", ok, version);
  }
  buggy.nccl_library.reset();
  expect_finding(with_software(buggy), "nccl-known-bugs", "host", not_checkable, "does not report");
}

TEST(DoctorSoftware, Launcher) {
  Survey survey = healthy_survey();
  expect_finding(survey, "mpirun", "host", ok, "/usr/bin/mpirun, Open MPI 4.1.4");
  survey.software.root = true;
  expect_finding(survey, "mpirun", "host", ok, "as root: linkgain run tells mpirun");
  survey.software.root_allowed = true;
  expect_finding(survey, "mpirun", "host", ok, "/usr/bin/mpirun");
  survey.software.mpirun = Missing{"it is not on PATH"};
  expect_finding(survey, "mpirun", "host", ok, "not on PATH; several hosts and --backend mpi");
  Software without_gpus = healthy_software();
  without_gpus.nccl_library.reset();
  survey.software.worker = without_gpus;
  expect_finding(survey, "mpirun", "host", problem, "not on PATH");
}

/// Returns a healthy machine whose `mpirun --version` says this.
Survey with_launcher(const std::string& text) {
  Survey survey = healthy_survey();
  survey.software.mpirun_version = mpi_version_in(text);
  return survey;
}

TEST(DoctorSoftware, LauncherOfAnotherMpi) {
  expect_finding(with_launcher("HYDRA build details:\n    Version:    4.0.2\n"), "mpirun", "host",
                 problem,
                 "/usr/bin/mpirun, MPICH 4.0.2; linkgain-bench's library is Open MPI 4.1.4");
  const Survey newer = with_launcher("mpirun (Open MPI) 5.0.3\n");
  expect_finding(newer, "mpirun", "host", problem,
                 "/usr/bin/mpirun, Open MPI 5.0.3; linkgain-bench's library is Open MPI 4.1.4");
  EXPECT_THAT(finding_of(newer, "mpirun", "host").advice, HasSubstr("Open MPI 4"));
  expect_finding(with_launcher("mpirun (Open MPI) 4.1.7\n"), "mpirun", "host", ok,
                 "/usr/bin/mpirun, Open MPI 4.1.7; linkgain-bench's library is Open MPI 4.1.4");
  Survey both = with_launcher("HYDRA build details:\n    Version:    4.0.2\n");
  Software mpich = healthy_software();
  mpich.mpi = "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7\n";
  both.software.worker = mpich;
  expect_finding(both, "mpirun", "host", problem, "library is MPICH 4.0.2");
}

TEST(DoctorSoftware, LauncherThatFails) {
  Survey survey = healthy_survey();
  survey.software.mpirun_failure = "mpirun: exit status 127";
  expect_finding(survey, "mpirun", "host", problem, "/usr/bin/mpirun: mpirun: exit status 127");
}

TEST(DoctorSoftware, LauncherOnAHostWithALongName) {
  Survey survey = healthy_survey();
  survey.topology.host = std::string(56, 'a');
  expect_finding(survey, "mpirun", "host", ok, "Open MPI 4.1.4");
  survey.topology.host += "a";
  expect_finding(survey, "mpirun", "host", problem, "Open MPI 4.1.4");
  EXPECT_THAT(finding_of(survey, "mpirun", "host").why, HasSubstr("stack smashing"));
}

TEST(DoctorSoftware, LauncherThatCannotBeComparedWithTheLibrary) {
  expect_finding(with_launcher("usage: mpirun PROGRAM"), "mpirun", "host", not_checkable,
                 "/usr/bin/mpirun: 'usage: mpirun PROGRAM' names no version");
  Survey silent = healthy_survey();
  silent.software.mpirun_version = Missing{"mpirun did not answer"};
  expect_finding(silent, "mpirun", "host", not_checkable, "/usr/bin/mpirun: mpirun did not answer");
  Survey survey = healthy_survey();
  survey.software.worker = Missing{"'linkgain-bench' is not on PATH"};
  expect_finding(survey, "mpirun", "host", not_checkable, "'linkgain-bench' is not on PATH");
  survey.software.mpirun_version = MpiVersion{"MPICH", 4, "4.0.2"};
  expect_finding(survey, "mpirun", "host", problem, "MPICH 4.0.2");
}

Survey with_settings(std::vector<NcclSetting> settings, std::vector<std::string> faults = {}) {
  Survey survey = healthy_survey();
  survey.software.nccl = {std::move(settings), std::move(faults)};
  return survey;
}

TEST(DoctorNccl, NothingSet) {
  expect_finding(healthy_survey(), "nccl-variable", "host", ok, "none set");
  const Survey harmless = with_settings({{"NCCL_DEBUG", "WARN"},
                                         {"NCCL_P2P_DISABLE", "0"},
                                         {"NCCL_SOCKET_IFNAME", "eth0", "/etc/nccl.conf"}});
  expect_finding(harmless, "nccl-variable", "host", ok, "none set");
}

TEST(DoctorNccl, WhatForbidsP2pIsAProblem) {
  expect_finding(with_settings({{"NCCL_P2P_DISABLE", "1", "/etc/nccl.conf"}}), "nccl-variable",
                 "NCCL_P2P_DISABLE", problem, "=1 (/etc/nccl.conf)");
  for (const char* level : {"LOC", "00", "0"}) {
    expect_finding(with_settings({{"NCCL_P2P_LEVEL", level}}), "nccl-variable", "NCCL_P2P_LEVEL",
                   problem, level);
  }
}

TEST(DoctorNccl, WordsInPlaceOfNumbersDoNothing) {
  for (const char* value : {"true", "2"}) {
    const Survey survey = with_settings({{"NCCL_P2P_DISABLE", value}});
    expect_finding(survey, "nccl-variable", "NCCL_P2P_DISABLE", warning, value);
    const Finding finding = finding_of(survey, "nccl-variable", "NCCL_P2P_DISABLE");
    EXPECT_THAT(finding.why, HasSubstr("not in force"));
    EXPECT_THAT(finding.advice, HasSubstr("write NCCL_P2P_DISABLE=1"));
  }
  const Survey read_as_0 = with_settings({{"NCCL_NVLS_ENABLE", "true"}});
  EXPECT_THAT(finding_of(read_as_0, "nccl-variable", "NCCL_NVLS_ENABLE").why,
              HasSubstr("NVLink multicast"));
}

TEST(DoctorNccl, WhatAffectsTheRunIsAWarning) {
  for (const char* name : {"NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_ALGO", "NCCL_PROTO",
                           "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_NTHREADS",
                           "NCCL_TOPO_FILE", "NCCL_NET", "NCCL_NET_GDR_LEVEL"}) {
    const Survey survey = with_settings({{name, "PIX"}});
    expect_finding(survey, "nccl-variable", name, warning, "=PIX (environment)");
    EXPECT_THAT(finding_of(survey, "nccl-variable", name).advice,
                HasSubstr(std::string("unset ") + name));
  }
  for (const char* name : {"NCCL_NVLS_ENABLE", "NCCL_CUMEM_ENABLE"}) {
    expect_finding(with_settings({{name, "0"}}), "nccl-variable", name, warning, "=0");
  }
  const Survey file = with_settings({{"NCCL_ALGO", "Ring", "/home/me/.nccl.conf"}});
  EXPECT_THAT(finding_of(file, "nccl-variable", "NCCL_ALGO").advice,
              HasSubstr("/home/me/.nccl.conf"));
  const Survey odd = with_settings({{"NCCL_ALGO", "Ring", "environment"}});
  EXPECT_THAT(finding_of(odd, "nccl-variable", "NCCL_ALGO").advice,
              testing::Not(HasSubstr("unset")));
}

TEST(DoctorNccl, LogsOfEachCallAreAWarning) {
  using Settings = std::vector<NcclSetting>;
  const auto debug = [](const std::string& level, const std::string& subsystems) {
    Settings settings{{"NCCL_DEBUG", level}};
    if (!subsystems.empty()) settings.push_back({"NCCL_DEBUG_SUBSYS", subsystems});
    return with_settings(settings);
  };
  for (const auto& survey : {debug("TRACE", ""), debug("INFO", "INIT,COLL"), debug("info", "all"),
                             debug("INFO", "TUNING"), debug("INFO", "^INIT")}) {
    expect_finding(survey, "nccl-variable", "NCCL_DEBUG", warning, "=");
  }
  for (const auto& survey :
       {debug("INFO", ""), debug("INFO", "INIT,ENV"), debug("WARN", "ALL"), debug("VERSION", "")}) {
    expect_finding(survey, "nccl-variable", "host", ok, "none set");
  }
}

TEST(DoctorCuda, VariablesThatAffectTheRunAreWarnings) {
  expect_finding(healthy_survey(), "cuda-variable", "host", ok, "none set");
  Survey survey = healthy_survey();
  survey.software.cuda_variables = {{"CUDA_LAUNCH_BLOCKING", "0"},
                                    {"CUDA_DEVICE_MAX_CONNECTIONS", "8"}};
  expect_finding(survey, "cuda-variable", "host", ok, "none set");
  survey.software.cuda_variables = {{"CUDA_LAUNCH_BLOCKING", "1"},
                                    {"CUDA_DEVICE_MAX_CONNECTIONS", "1"},
                                    {"NVIDIA_TF32_OVERRIDE", "0"}};
  for (const auto& [name, value] : survey.software.cuda_variables) {
    expect_finding(survey, "cuda-variable", name, warning, "=" + value);
    EXPECT_THAT(finding_of(survey, "cuda-variable", name).advice, HasSubstr("unset " + name));
  }
  EXPECT_THAT(finding_of(survey, "cuda-variable", "NVIDIA_TF32_OVERRIDE").why, HasSubstr("TF32"));
}

TEST(DoctorNccl, FaultsOfFilesAreWarnings) {
  expect_finding(with_settings({}, {"/etc/nccl.conf, line 3: blanks"}), "nccl-conf", "host",
                 warning, "line 3");
}

}  // namespace
}  // namespace linkgain::test
