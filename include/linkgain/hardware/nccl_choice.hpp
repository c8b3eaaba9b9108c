#pragma once

#include <optional>
#include <string>

#include "linkgain/hardware/topology.hpp"

namespace linkgain {

/// How far NCCL goes by P2P: its path types, as far as two GPUs of one host are told apart by them.
enum class P2pReach { none, nvlink, pix, pxb, phb, sys };

/// The variables that limit it; absent where not set.
struct P2pVariables {
  std::optional<std::string> disable;  ///< NCCL_P2P_DISABLE
  std::optional<std::string> level;    ///< NCCL_P2P_LEVEL
};

struct P2pLimit {
  P2pReach reach = P2pReach::pxb;
  std::string set_by{};  ///< "NCCL_P2P_LEVEL=SYS"; empty: NCCL's default
};

/// Returns the limit of a job of so many GPUs, as NCCL 2.32 has it (paths.cc, ncclTopoCheckP2p()):
/// PCIe switches, no host bridge; any distance where two GPUs are all and the CPU is AMD's; else
/// what the variables say.
P2pLimit p2p_limit(const P2pVariables& variables, bool has_amd_cpu, int gpus);

/// What NCCL takes between two GPUs of one host, and why.
struct NcclChoice {
  enum class Path { nvlink, pcie, host_memory, unknown };
  Path path = Path::unknown;
  std::string why;          ///< "PHB is within NCCL_P2P_LEVEL=SYS"; of unknown what is not known
  bool leaves_p2p = false;  ///< the driver grants P2P and NCCL does not take it
  bool is_of_two_gpus = false;  ///< jobs of two GPUs alone take PCIe
  bool operator==(const NcclChoice&) const = default;
};

/// Returns the choice of a job on all GPUs that CUDA sees, by what the driver grants and by the
/// limit.
NcclChoice nccl_choice(const Topology& topology, const TopologyPair& pair,
                       const P2pVariables& variables = {});

/// Says "P2P over PCIe between GPU0-GPU1: ...", "the path through host memory: ...", for people;
/// `between` names the pairs.
std::string text_of(const NcclChoice& choice, const std::string& between = {});

}  // namespace linkgain
