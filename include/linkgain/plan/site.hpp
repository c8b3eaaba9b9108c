#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/hardware/machine.hpp"

namespace linkgain {

/// The hosts that a job's ranks are put on, where they are not this one alone.
struct Hosts {
  int count = 1;
  std::optional<int> slots;  ///< ranks that they are meant to take together, where that is said
  bool operator==(const Hosts&) const = default;
};

/// Reads the Slurm allocation that this environment tells of (SLURM_JOB_NUM_NODES, SLURM_NTASKS);
/// nothing outside one. An allocation of one task says nothing of ranks: it has room for a script.
std::optional<Hosts> slurm_allocation(const Environment& environment);

/// What this machine offers to a run, looked up once before anything is started.
struct Site {
  std::string host;
  int processors = 1;
  int gpus = 0;                              ///< visible to CUDA
  std::vector<std::string> gpu_pci_bus_ids;  ///< of each; empty where not known
  std::string gpu_name;                      ///< of the first
  std::string no_gpus_reason;                ///< why there are fewer than two
  std::string no_gpus_advice;  ///< what to do then, where something particular is known
  std::optional<std::int64_t> gpu_memory_bytes;              ///< of the smallest visible GPU
  std::vector<std::optional<std::int64_t>> free_gpu_memory;  ///< now, of each visible GPU, in bytes
  std::optional<std::int64_t> host_memory_bytes;             ///< available now
  std::optional<std::int64_t> shared_memory_bytes;           ///< free in /dev/shm
  std::optional<std::int64_t> processes;          ///< and threads that may still be started
  std::vector<std::optional<int>> architectures;  ///< of each visible GPU: 75 for sm_75
  bool exclusive_compute_mode = false;
  std::string driver_cuda;  ///< the newest CUDA that the driver is for, "13.0"; empty: unknown
  std::string built_cuda;   ///< CUDA that this build is of
  bool has_nccl = false;    ///< this build has the nccl backend
  std::string nccl_missing;
  std::optional<Hosts> allocation;  ///< of Slurm, that this program runs in
  std::optional<Hosts> hostfile;    ///< what `--hostfile` names, where it was given
};

/// Looks at this machine and the environment; `hosts` are those of `--hostfile`. Opens NVML, which
/// starts threads.
Site survey_site(const std::optional<Hosts>& hosts);

/// Parses the text of an Open MPI hostfile, as mpirun reads it: a host a line with words such as
/// `slots = 4`, `max_slots=8` or `username=ann`; `#` and `//` before a comment, `/* */` around one.
/// Another line of a host adds a slot. Slots are known where every host states them, or some host
/// stands on several lines. Names of this host are one. Throws UsageError with the line where
/// mpirun would refuse the file, and for words that it passes over.
Hosts parse_hostfile(std::string_view text);

/// Parses a file. Throws UsageError if it cannot be read, too.
Hosts read_hostfile(const std::filesystem::path& path);

}  // namespace linkgain
