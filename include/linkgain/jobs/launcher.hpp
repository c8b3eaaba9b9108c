#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/hardware/machine.hpp"

namespace linkgain {

/// What starts a job's processes: linkgain-bench itself on this host, Open MPI's mpirun, or Slurm's
/// srun as a step of its allocation.
enum class LauncherKind { local, mpirun, srun };

/// Knows the launcher by its name, with or without its path: local, mpirun, mpiexec, srun. Throws
/// UsageError for any other.
LauncherKind parse_launcher(std::string_view program);

/// One start of a job's processes.
struct LaunchRequest {
  std::string launcher = "mpirun";
  int ranks = 2;
  std::optional<std::filesystem::path> hostfile;
  std::filesystem::path worker;
  std::vector<std::string> worker_arguments;
  Environment variant_environment;
  std::vector<std::string> unset;  ///< Variant::unset
  /// A folder of this job's own for Open MPI's session, which mpirun makes; empty: its usual one.
  std::filesystem::path session_folder;
  /// The same for the files of shared memory of its ranks, which must be there.
  std::filesystem::path segments_folder;
  /// Names of the caller's own variables that ranks on other hosts must have, too.
  std::vector<std::string> forwarded;
  bool as_root = false;  ///< mpirun refuses to be started by root without an option that allows it
  int cores = 1;         ///< of this host: as many ranks mpirun starts on it by default
  bool mpi_type_set = false;  ///< SLURM_MPI_TYPE names a way, which srun heeds
};

/// Returns the command line, the launcher first; it is the worker itself where that starts its
/// ranks. A variable's value is not in it: both launchers
/// pass on their own environment's. `-x NAME` has mpirun do so, for the variant's and for
/// `forwarded`; OMPI_MCA_* variables are for mpirun itself, which hands them on by its own means.
/// Without a hostfile mpirun is kept on this host, whatever allocation it could find around it.
/// srun shares its allocation with the other variants' steps, and speaks PMIx with the ranks unless
/// SLURM_MPI_TYPE names another way.
std::vector<std::string> command(const LaunchRequest& request);

/// Returns variables that affect what is measured (may_be_recorded) or where libraries
/// are found, of those that are set. mpirun starts ranks of other hosts with what a login there
/// has.
std::vector<std::string> variables_to_forward(const Environment& current);

/// Returns what the launcher is started with: `current` with the variant's variables put over it.
/// One that the variant sets to nothing is set, and empty. Of Slurm's own: each task is to see all
/// GPUs of the job on its host, so that srun is not told of GPUs for each task; its PMIx plugin has
/// fences go round a ring unless another way is set, for with its trees (22.05) a rank can leave
/// MPI_Init while another still waits in its first fence, whose Open MPI the first message then
/// ends (SIGSEGV in mca_btl_tcp, 6 of 100 starts of four ranks on two nodes, none of 100 with
/// rings); and the daemons of one mpirun, which are steps as well, must not wait for those of
/// another. mpirun on one host gets `session_folder`, unless the user set one: in the usual folder,
/// which all jobs of a user share, one that ends can remove what one that starts has just found
/// there. `segments_folder` likewise: of ranks that were killed nobody else would remove the files.
/// No launcher is to mark the ranks' output, which is a protocol.
Environment base_environment(const Environment& current, const LaunchRequest& request);

/// Returns whether base_environment() heeds `segments_folder`: Open MPI's ranks of this host do.
bool has_segments_folder(const LaunchRequest& request);

/// Throws MachineError that says what to do where the launcher is not on PATH.
void require_launcher(const std::string& launcher);

/// Finds linkgain-bench beside the running program, else on PATH. Throws MachineError.
std::filesystem::path worker_path();

}  // namespace linkgain
