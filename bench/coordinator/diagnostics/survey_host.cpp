#include "survey_host.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/telemetry/host.hpp"
#include "linkgain/telemetry/pci.hpp"

namespace linkgain {
namespace {

Reading<Capacity> capacity_of(const std::filesystem::path& folder) {
  struct statvfs state {};
  if (::statvfs(folder.c_str(), &state) != 0) {
    return Reading<Capacity>::missing(fmt::format("{}: {}", folder.string(), std::strerror(errno)));
  }
  const auto block = static_cast<std::int64_t>(state.f_frsize);
  return Capacity{block * static_cast<std::int64_t>(state.f_blocks),
                  block * static_cast<std::int64_t>(state.f_bavail)};
}

Reading<MemoryLimit> locked_memory_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) {
    return Reading<MemoryLimit>::missing(std::strerror(errno));
  }
  if (limit.rlim_cur == RLIM_INFINITY) return MemoryLimit{};
  return MemoryLimit{static_cast<std::int64_t>(limit.rlim_cur)};
}

/// Control groups of version 2 ("max 100000" or "150000 100000"), else of version 1.
Reading<double> processor_quota(const std::filesystem::path& sys) {
  const std::filesystem::path groups = sys / "fs/cgroup";
  std::string quota;
  double period = 0.0;
  if (std::ifstream file(groups / "cpu.max"); file >> quota >> period) {
    if (quota == "max" || period <= 0.0) return Reading<double>::missing("unlimited");
    return std::strtod(quota.c_str(), nullptr) / period;
  }
  double used = 0.0;
  std::ifstream quota_file(groups / "cpu/cpu.cfs_quota_us");
  std::ifstream period_file(groups / "cpu/cpu.cfs_period_us");
  if (!(quota_file >> used) || !(period_file >> period) || period <= 0.0) {
    return Reading<double>::missing("the control group does not say");
  }
  if (used < 0.0) return Reading<double>::missing("unlimited");
  return used / period;
}

/// What steers a run and is neither NCCL's nor Open MPI's.
Environment cuda_variables(const Environment& environment) {
  Environment cuda;
  for (const auto& [name, value] : environment) {
    const bool others = name.starts_with("NCCL_") || name.starts_with("OMPI_");
    if (!others && steering_variable(name) != nullptr) cuda.emplace(name, value);
  }
  return cuda;
}

}  // namespace

HostSurvey survey_host(const SurveySources& sources, const std::vector<std::string>& gpus) {
  HostSurvey host;
  host.shared_memory = capacity_of(sources.shared_memory);
  host.locked_memory = locked_memory_limit();
  host.processors = usable_processors();
  host.processor_quota = processor_quota(sources.sys);
  host.iommu_units = iommu_units(sources.sys);
  std::ifstream command_line(sources.proc / "cmdline");
  std::getline(command_line, host.kernel_command_line);
  host.bridges = bridges_above(sources.sys, gpus);
  host.nvidia_devices = nvidia_devices(sources.sys);
  host.xid_events = read_kernel_log(sources.kernel_log);
  return host;
}

Reading<std::string> find_mpirun(const SurveySources& sources) {
  if (const auto mpirun = find_program("mpirun", sources.environment)) return mpirun->string();
  return Reading<std::string>::missing("it is not on PATH");
}

SoftwareSurvey survey_software(const SurveySources& sources) {
  SoftwareSurvey software;
  software.mpirun = find_mpirun(sources);
  software.root = ::geteuid() == 0;
  software.root_allowed = value_of(sources.environment, "OMPI_ALLOW_RUN_AS_ROOT") == "1" &&
                          value_of(sources.environment, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") == "1";
  software.nccl = survey_nccl_settings(sources.environment, sources.home, sources.etc);
  software.cuda_variables = cuda_variables(sources.environment);
  return software;
}

}  // namespace linkgain
