#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// What two runs must have in common for their times to be compared with each other. With NCCL that
/// is GPUs, links and NCCL's minor version; without GPUs the processor and MPI.
struct MachineKey {
  BackendKind backend = BackendKind::nccl;
  int ranks = 0;
  int hosts = 1;
  std::vector<std::string> gpus;            ///< model by rank; empty without GPUs
  std::vector<std::optional<int>> nvlinks;  ///< active links by rank
  std::vector<PairLink> links;
  std::optional<std::string> nccl;  ///< "2.28"; absent where NCCL carried nothing or is not known
  std::optional<std::string> processor;  ///< the next two where MPI carried them
  std::optional<std::string> mpi;
};

/// Returns "2.28" of "2.28.3"; nothing where it is not known.
std::optional<std::string> nccl_release(const std::optional<std::string>& version);

/// Returns what others must have in common with the record.
MachineKey key_of(const Record& record);

/// Returns a record of what the key knows and of nothing else, for differences_between().
Record known_by(const MachineKey& key);

/// Takes from `other`, which must not differ, what `key` does not know.
void fill_in(MachineKey& key, const MachineKey& other);

/// Returns "2 x NVIDIA H200, NVLink, NCCL 2.28", "2 ranks on <processor>, Open MPI v4.1.4".
std::string key_text(const MachineKey& key);

}  // namespace linkgain
