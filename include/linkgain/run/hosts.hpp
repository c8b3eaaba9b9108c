#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "linkgain/hardware/machine.hpp"

namespace linkgain {

/// The hosts that a job's ranks are put on, where they are not this one alone.
struct Hosts {
  int count = 1;
  std::optional<int> slots;  ///< ranks that they are meant to take together, where that is said
  bool operator==(const Hosts&) const = default;
};

/// Of the text of an Open MPI hostfile: a host a line, as in `node1 slots=4`, `#` before a comment.
/// A host on several lines counts once, with a slot for each that states none; else slots are
/// known where every line states them. Throws
/// UsageError where there is no host in it or a line is none.
Hosts parse_hostfile(std::string_view text);

/// The same of a file. Throws UsageError where it cannot be read, too.
Hosts read_hostfile(const std::filesystem::path& path);

/// Of the Slurm allocation that this environment tells of (SLURM_JOB_NUM_NODES, SLURM_NTASKS);
/// absent outside one. An allocation of one task says nothing of ranks: it has room for a script.
std::optional<Hosts> slurm_allocation(const Environment& environment);

}  // namespace linkgain
