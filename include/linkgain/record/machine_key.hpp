#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/json_document.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// The path between two ranks' GPUs, as far as it is known.
struct KeyLink {
  int from = 0;
  int to = 0;
  std::optional<bool> nvlink;
  std::optional<bool> p2p;
  std::optional<Ancestor> ancestor;
  std::optional<int> nvlinks{};  ///< that join the two; absent where they were not counted
  bool operator==(const KeyLink&) const = default;
};

/// What two runs must have in common for their times to be compared with each other. With NCCL that
/// is GPUs, links and NCCL's minor version; without GPUs the processor and MPI.
struct MachineKey {
  BackendKind backend = BackendKind::nccl;
  int ranks = 0;
  int hosts = 1;
  std::vector<std::string> gpus;            ///< model by rank; empty without GPUs
  std::vector<std::optional<int>> nvlinks;  ///< active links by rank
  std::vector<KeyLink> links;
  std::string nccl;       ///< "2.28"; empty where NCCL did not carry the messages or is not known
  std::string processor;  ///< the next two where MPI carried them
  std::string mpi;
  bool operator==(const MachineKey&) const = default;
};

MachineKey key_of(const Record& record);

/// What keeps `other` from being compared with `key`, a line each: "NCCL: 2.28 there, 2.27 here".
/// What one of them does not know is not compared.
std::vector<std::string> differences(const MachineKey& key, const MachineKey& other);

/// Takes from `other`, which must not differ, what `key` does not know.
void fill_in(MachineKey& key, const MachineKey& other);

/// "2 x NVIDIA H200, NVLink, NCCL 2.28", "2 ranks on <processor>, Open MPI v4.1.4".
std::string describe(const MachineKey& key);

}  // namespace linkgain

namespace linkgain::json {

/// What is not known is null.
Out write_key(const MachineKey& key);
MachineKey read_key(const In& json);

}  // namespace linkgain::json
