#include <unistd.h>

#include "linkgain/diagnostics/survey.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain {
namespace {

/// Picks what affects a run and is neither NCCL's nor Open MPI's.
Environment cuda_variables(const Environment& environment) {
  Environment cuda;
  for (const auto& [name, value] : environment) {
    const bool others = name.starts_with("NCCL_") || name.starts_with("OMPI_");
    if (!others && known_variable(name) != nullptr) cuda.emplace(name, value);
  }
  return cuda;
}

}  // namespace

Reading<std::string> find_mpirun(const SurveySources& sources) {
  if (const auto mpirun = find_program("mpirun", sources.environment)) return mpirun->string();
  return Missing{"it is not on PATH"};
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
