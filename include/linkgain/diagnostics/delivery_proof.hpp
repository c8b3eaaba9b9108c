#pragma once

#include <functional>
#include <string>
#include <vector>

#include "linkgain/hardware/delivery.hpp"
#include "linkgain/hardware/topology.hpp"

namespace linkgain {

/// Two GPUs whose delivery is looked at: places in Topology::gpus, the lower first.
struct GpuPair {
  int first = 0;
  int second = 0;
  bool operator==(const GpuPair&) const = default;
};

/// What came of one rung between two GPUs.
struct RungResult {
  enum class State {
    passed,
    not_delivered,  ///< data did not arrive, or not as they were sent
    hung,           ///< a kernel gave up waiting, or the job said nothing until its time was up
    failed,         ///< the job ended with an error
    other_path,     ///< NCCL's data were right, but did not take the path that the rung is about
  };
  ProofRung rung = ProofRung::stores;
  State state = State::failed;
  std::string seen;  ///< in words; of an error its text
  bool operator==(const RungResult&) const = default;
};

/// The rungs that were climbed between two GPUs, in order. After one that did not pass only the
/// control is.
struct PairProof {
  GpuPair pair;
  std::vector<RungResult> rungs;
};

/// Climbs one rung for several pairs at a time, none of which share a GPU: a result for each, in
/// order.
using RungRunner =
    std::function<std::vector<RungResult>(ProofRung rung, const std::vector<GpuPair>& pairs)>;

/// The pairs in groups of which no two share a GPU: for an even number n of GPUs, all of whose
/// pairs are there, n-1 groups (n for an odd one), as a round-robin tournament has it.
std::vector<std::vector<GpuPair>> disjoint_groups(const std::vector<GpuPair>& pairs, int gpus);

/// Climbs all rungs between the GPUs that CUDA sees and whose P2P the driver does not refuse, group
/// after group. Throws what `run` throws.
std::vector<PairProof> prove_delivery(const Topology& topology, const RungRunner& run);

}  // namespace linkgain
