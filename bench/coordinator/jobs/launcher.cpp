#include "linkgain/jobs/launcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/protocol/protocol.hpp"
#include "linkgain/record/recorded_variables.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kWorker = "linkgain-bench";

/// Returns srun's options: with them a rank that fails takes its step along, as mpirun has it, and
/// the end of input reaches rank 0, which reads the commands, and nothing is buffered on the way.
/// Ranks bind themselves, near their GPUs.
std::vector<std::string> srun_options(const LaunchRequest& request) {
  std::vector<std::string> options{fmt::format("--ntasks={}", request.ranks),
                                   "--overlap",
                                   "--input=0",
                                   "--unbuffered",
                                   "--kill-on-bad-exit=1",
                                   "--quit-on-interrupt",
                                   "--cpu-bind=none",
                                   "--export=ALL"};
  if (!request.mpi_type_set) options.push_back("--mpi=pmix");
  return options;
}

std::vector<std::string> mpirun_options(const LaunchRequest& request) {
  std::vector<std::string> options{"-np", fmt::to_string(request.ranks), "--bind-to", "none"};
  if (request.as_root) options.push_back("--allow-run-as-root");
  if (request.hostfile) {
    options.insert(options.end(), {"--hostfile", request.hostfile->string()});
  } else {
    options.insert(options.end(), {"--mca", "ras", "^slurm,tm,lsf,gridengine,alps"});
  }
  if (request.ranks > request.cores) options.push_back("--oversubscribe");
  for (const auto& [name, value] : request.variant_environment) {
    if (!name.starts_with("OMPI_MCA_")) options.insert(options.end(), {"-x", name});
  }
  for (const std::string& name : request.forwarded) {
    const bool is_there =
        request.variant_environment.contains(name) || std::ranges::count(request.unset, name) > 0;
    if (!is_there) options.insert(options.end(), {"-x", name});
  }
  return options;
}

/// Settings for session folders of Open MPI 4 and 5; each ignores the other's.
constexpr std::array kSessionFolders{"OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base"};

/// Returns whether a session folder is set already: Open MPI 4 refuses its first one beside one of
/// the others.
bool names_session_folder(const Environment& environment) {
  static constexpr std::array kVariables{kSessionFolders[0],
                                         kSessionFolders[1],
                                         "OMPI_MCA_orte_local_tmpdir_base",
                                         "OMPI_MCA_orte_remote_tmpdir_base",
                                         "PRTE_MCA_prte_local_tmpdir_base",
                                         "PRTE_MCA_prte_remote_tmpdir_base"};
  return std::ranges::any_of(kVariables,
                             [&](const char* name) { return environment.contains(name); });
}

/// Has lines of ranks come without tags, times or XML around them, whatever files of settings say.
void have_output_unmarked(Environment& environment) {
  for (const char* name :
       {"OMPI_MCA_orte_tag_output", "OMPI_MCA_orte_timestamp_output", "OMPI_MCA_orte_xml_output"}) {
    environment[name] = "0";
  }
}

}  // namespace

LauncherKind parse_launcher(std::string_view program) {
  static constexpr std::array<std::string_view, 4> kLaunchers{"local", "mpirun", "mpiexec", "srun"};
  const std::string name = std::filesystem::path(program).filename().string();
  if (program == "local") return LauncherKind::local;
  if (name == "srun") return LauncherKind::srun;
  if (name == "mpirun" || name == "mpiexec") return LauncherKind::mpirun;
  throw UsageError(unknown_name("launcher", std::string(program), kLaunchers));
}

std::vector<std::string> command(const LaunchRequest& request) {
  const LauncherKind launcher = parse_launcher(request.launcher);
  const std::string worker = request.worker.string();
  std::vector<std::string> line;
  if (launcher == LauncherKind::local) {
    line = {worker, "--np", fmt::to_string(request.ranks)};
  } else {
    line = launcher == LauncherKind::srun ? srun_options(request) : mpirun_options(request);
    line.insert(line.begin(), request.launcher);
    line.push_back(worker);
  }
  line.insert(line.end(), request.worker_arguments.begin(), request.worker_arguments.end());
  return line;
}

std::vector<std::string> variables_to_forward(const Environment& current) {
  std::vector<std::string> names;
  for (const auto& [name, value] : current) {
    const bool affects = may_be_recorded(name) && !name.starts_with("OMPI_MCA_");
    const bool finds_libraries =
        name == "LD_LIBRARY_PATH" || name == "VIRTUAL_ENV" || name == "CONDA_PREFIX";
    if (affects || finds_libraries) names.push_back(name);
  }
  return names;
}

Environment base_environment(const Environment& current, const LaunchRequest& request) {
  Environment environment = request.variant_environment;
  environment.insert(current.begin(), current.end());
  for (const std::string& name : request.unset) environment.erase(name);
  const LauncherKind launcher = parse_launcher(request.launcher);
  if (launcher == LauncherKind::local) return environment;
  if (launcher == LauncherKind::srun) {
    for (const char* name :
         {"SLURM_GPUS_PER_TASK", "SLURM_GPU_BIND", "SLURM_TRES_PER_TASK", "SLURM_LABELIO"}) {
      environment.erase(name);
    }
    environment.emplace("SLURM_PMIX_FENCE", "ring");
    return environment;
  }
  prepare_for_mpirun(environment);
  have_output_unmarked(environment);
  if (request.hostfile) {
    if (current.contains("SLURM_JOB_ID")) environment["SLURM_OVERLAP"] = "1";
  } else {
    if (!request.session_folder.empty() && !names_session_folder(environment)) {
      for (const char* name : kSessionFolders) {
        environment[name] = request.session_folder.string();
      }
    }
    if (!request.segments_folder.empty()) {
      name_segments_folder(request.segments_folder, environment);
    }
  }
  return environment;
}

bool has_segments_folder(const LaunchRequest& request) {
  return parse_launcher(request.launcher) == LauncherKind::mpirun && !request.hostfile;
}

void require_launcher(const std::string& launcher) {
  if (launcher == "local") return;
  if (find_program(launcher, current_environment())) return;
  const bool named = launcher.find('/') != std::string::npos;
  const bool slurms = std::filesystem::path(launcher).filename() == "srun";
  throw MachineError(
      named ? fmt::format("there is no program '{}'", launcher)
            : fmt::format("'{}' is not on PATH", launcher),
      slurms ? "run on a node of a Slurm cluster, or omit --launcher"
             : "install Open MPI (apt-get install openmpi-bin) or add its folder to PATH");
}

std::filesystem::path worker_path() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error && is_executable(self.parent_path() / kWorker)) return self.parent_path() / kWorker;
  if (const auto found = find_program(kWorker, current_environment())) {
    return std::filesystem::absolute(*found);
  }
  throw MachineError(fmt::format("'{}' is neither beside this program nor on PATH", kWorker),
                     "install both programs into one folder (cmake --install)");
}

}  // namespace linkgain
