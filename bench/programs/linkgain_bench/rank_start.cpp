#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>
#include <system_error>

#include "bench_modes.hpp"
#include "linkgain/backends/registry.hpp"
#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/hardware/mpi_version.hpp"
#include "linkgain/runtime/ranks.hpp"
#include "linkgain/runtime/watchdog.hpp"
#include "linkgain/telemetry/host.hpp"
#include "linkgain/telemetry/nvml.hpp"

namespace linkgain {
namespace {

/// Returns whether a launcher of one rank left this variable, by which an mpirun within would take
/// itself for a part of that job and refuse to start. Other OMPI_MCA_* are the user's.
bool is_of_outer_job(std::string_view name) {
  static constexpr std::array<std::string_view, 12> kStarts{
      "PMIX_", "PMI_", "OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_pmix", "OMPI_MCA_initial_wdir",
      "OMPI_MCA_mpi_oversubscribe",
      // Open MPI 5 has these.
      "PRTE_", "OMPI_MCA_PREFIXES", "OMPI_MCA_mca_base_component_path", "OMPI_MCA_num_procs",
      "OMPI_MCA_cpu_type"};
  if (name.starts_with("OMPI_") && !name.starts_with("OMPI_MCA_")) return true;
  return std::ranges::any_of(kStarts,
                             [=](std::string_view start) { return name.starts_with(start); });
}

/// Requires that linkgain, which has this program start ranks, is the only one on this host.
void require_only_linkgain() {
  const int tasks = ranks_of_launcher_here();
  if (tasks < 2) return;
  throw UsageError(
      fmt::format("linkgain starts a rank for each GPU, but a launcher started {} of it here",
                  tasks),
      "start it once on a host: in Slurm as one task a node");
}

void require_no_ranks_yet(const WorkerOptions& options) {
  using Mode = WorkerOptions::Mode;
  if (options.mode == Mode::serve || options.mode == Mode::prove) return require_only_linkgain();
  const int ranks = ranks_of_launcher();
  if (ranks < 2) return;
  const bool as_nccl_tests = options.nccl_tests.gpus * options.nccl_tests.threads > 1;
  throw UsageError(
      fmt::format("{} starts ranks, but this is one of {} ranks already",
                  as_nccl_tests ? "-g or -t above 1" : "--np", ranks),
      as_nccl_tests ? "a rank drives one GPU: leave -g and -t out, and have the launcher start a "
                      "rank for each GPU"
                    : "leave it out, or leave the launcher out");
}

/// Undoes a binding: mpirun binds a rank that it starts alone to one core, on which all would then
/// run.
void forget_outer_binding(const Environment& environment) {
  if (!environment.contains("OMPI_COMM_WORLD_SIZE")) return;
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &all);
  ::sched_setaffinity(0, sizeof all, &all);  // the kernel keeps to those that are allowed
}

int usual_ranks(const WorkerOptions& options) {
  if (options.backend == BackendKind::mpi) return 2;
  if (options.gpus.size() >= 2) return static_cast<int>(options.gpus.size());
  const TimeBound bound("counting the GPUs", options.timeout);
  Machine machine;
  describe_gpus(machine);
  const int gpus = static_cast<int>(machine.ranks.size());
  if (gpus >= 2) return gpus;
  refuse_without_gpus(gpus == 1 ? "there is one GPU" : "no GPU is visible");
}

/// Returns mpirun's command line: ranks are kept on this host, whatever allocation there is around
/// it; ranks bind themselves near their GPUs.
std::vector<std::string> mpirun_line(int ranks) {
  std::vector<std::string> line{
      "mpirun", "-np", fmt::to_string(ranks),          "--bind-to", "none",
      "--mca",  "ras", "^slurm,tm,lsf,gridengine,alps"};
  if (::geteuid() == 0) line.push_back("--allow-run-as-root");
  if (ranks > usable_cores()) line.push_back("--oversubscribe");
  return line;
}

/// Returns the name that this program was called by, which may be that of a link, as a path.
std::string own_path(const std::string& name, const Environment& environment) {
  if (name.find('/') != std::string::npos) return name;
  const auto found = find_program(name, environment);
  return found ? found->string() : "/proc/self/exe";
}

/// Returns the arguments without --np and its value.
std::vector<std::string> without_ranks(const std::vector<std::string>& arguments) {
  std::vector<std::string> kept;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i].starts_with("--np=")) continue;
    if (arguments[i] == "--np") {
      ++i;
      continue;
    }
    kept.push_back(arguments[i]);
  }
  return kept;
}

/// Throws MachineError where this mpirun, the first on PATH, is known to be unable to start ranks.
void require_fit(const std::filesystem::path& mpirun) {
  const auto close = [](std::FILE* pipe) { ::pclose(pipe); };
  const std::unique_ptr<std::FILE, decltype(close)> pipe(
      ::popen("exec mpirun --version 2>&1 </dev/null", "r"), close);
  std::string text;
  std::array<char, 4096> chunk;
  while (pipe && std::fgets(chunk.data(), chunk.size(), pipe.get()) != nullptr) {
    text += chunk.data();
  }
  const Reading<MpiVersion> version = mpi_version_in(text);
  if (!version.measured()) return;
  const std::string unfit = why_mpirun_is_unfit(version.value(), host_name());
  if (unfit.empty()) return;
  throw MachineError(fmt::format("'{}' {}", mpirun.string(), unfit),
                     "linkgain doctor --only mpirun says what to do");
}

/// Becomes mpirun, which starts `command` as so many ranks. Throws MachineError where it cannot be
/// started.
[[noreturn]] void become_mpirun(int ranks, const std::vector<std::string>& command,
                                Environment environment) {
  const auto mpirun = find_program("mpirun", environment);
  if (!mpirun) {
    throw MachineError("'mpirun' is not on PATH",
                       "install Open MPI (apt-get install openmpi-bin) or add its folder to PATH");
  }
  require_fit(*mpirun);
  std::vector<std::string> line = mpirun_line(ranks);
  line.insert(line.end(), command.begin(), command.end());
  if (ranks_of_launcher() > 0) {
    std::erase_if(environment, [](const auto& each) { return is_of_outer_job(each.first); });
  }
  prepare_for_mpirun(environment);
  // A rank that refuses says why itself; mpirun's twelve lines would follow. Open MPI 5 knows
  // neither this nor --quiet.
  environment["OMPI_MCA_orte_execute_quiet"] = "1";
  ::execve(mpirun->c_str(), exec_array(line).data(),
           exec_array(assignments_of(environment)).data());
  throw MachineError(fmt::format("'{}' cannot be started: {}", mpirun->string(),
                                 std::generic_category().message(errno)));
}

}  // namespace

int start_ranks(const WorkerOptions& options, std::vector<std::string> arguments) {
  const Environment environment = current_environment();
  require_no_ranks_yet(options);
  require_built(options.backend);
  forget_outer_binding(environment);
  const RanksToStart asked = options.ranks_to_start.value_or(std::nullopt);
  const int ranks = asked ? *asked : usual_ranks(options);
  std::vector<std::string> command = without_ranks(arguments);
  command.insert(command.begin(), own_path(arguments.front(), environment));
  if (options.mode == WorkerOptions::Mode::nccl_tests) {
    command.insert(command.end(), {"-t", "1", "-g", "1"});  // of a flag given twice the last counts
  }
  if (options.backend == BackendKind::mpi) become_mpirun(ranks, command, environment);
  return start_local_ranks(ranks, command);
}

}  // namespace linkgain
