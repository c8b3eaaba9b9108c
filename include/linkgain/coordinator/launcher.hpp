#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/core/machine.hpp"

namespace linkgain {

/// One start of a job's processes through Open MPI's mpirun.
struct LaunchRequest {
  std::string launcher = "mpirun";
  int ranks = 2;
  std::optional<std::filesystem::path> hostfile;
  std::filesystem::path worker;
  std::vector<std::string> worker_arguments;
  Environment variant_environment;
  bool as_root = false;  ///< mpirun refuses to be started by root unless told that it is meant
  int cores = 1;         ///< of this host: as many ranks does mpirun start on it unless told more
};

/// The command line, the launcher first. A variable's value is not in it: `-x NAME` has mpirun pass
/// on its own environment's to all ranks. OMPI_MCA_* variables are for mpirun itself, which hands
/// them on by its own means.
std::vector<std::string> command(const LaunchRequest& request);

/// This process's environment.
Environment current_environment();

/// What the launcher is started with: `current` with the variant's variables put over it. One that
/// the variant sets to nothing is set, and empty.
Environment base_environment(const Environment& current, const Environment& variant);

/// Throws MachineError that says what to install where the launcher is not on PATH.
void require_launcher(const std::string& launcher);

/// linkgain-bench beside the running program, else on PATH. Throws MachineError.
std::filesystem::path worker_path();

/// Physical cores that this process may run on, at least 1. Where the kernel does not tell cores
/// from hardware threads each thread counts.
int usable_cores();

}  // namespace linkgain
