#include <algorithm>
#include <cstddef>

#include "linkgain/diagnostics/survey.hpp"

namespace linkgain {
namespace {

bool is_visible(const Topology& topology, int place) {
  return topology.gpus[static_cast<std::size_t>(place)].cuda_index.measured();
}

std::vector<GpuPair> pairs_to_prove(const Topology& topology) {
  std::vector<GpuPair> pairs;
  for (const TopologyPair& pair : gpu_pairs(topology)) {
    if (!is_visible(topology, pair.from) || !is_visible(topology, pair.to)) continue;
    if (p2p_refusal(topology, pair).why_not.empty()) pairs.push_back({pair.from, pair.to});
  }
  return pairs;
}

bool climbs(const PairProof& proof, ProofRung rung) {
  return rung == ProofRung::control || proof.rungs.empty() ||
         proof.rungs.back().state == RungResult::State::passed;
}

void climb_together(std::vector<PairProof>& proofs, const RungRunner& run) {
  for (const ProofRung rung : kProofRungs) {
    std::vector<PairProof*> climbers;
    std::vector<GpuPair> pairs;
    for (PairProof& proof : proofs) {
      if (!climbs(proof, rung)) continue;
      climbers.push_back(&proof);
      pairs.push_back(proof.pair);
    }
    if (pairs.empty()) continue;
    const std::vector<RungResult> results = run(rung, pairs);
    for (std::size_t i = 0; i < climbers.size(); ++i) climbers[i]->rungs.push_back(results.at(i));
  }
}

}  // namespace

/// Has those GPUs meet in round r whose places add up to r modulo n-1; the last GPU meets the one
/// that would meet itself.
std::vector<std::vector<GpuPair>> disjoint_groups(const std::vector<GpuPair>& pairs, int gpus) {
  const int rounds = std::max(1, gpus - 1 + gpus % 2);
  std::vector<std::vector<GpuPair>> groups(static_cast<std::size_t>(rounds));
  for (const GpuPair& pair : pairs) {
    const bool has_last = pair.second == rounds;
    const int round = (pair.first + (has_last ? pair.first : pair.second)) % rounds;
    groups[static_cast<std::size_t>(round)].push_back(pair);
  }
  std::erase_if(groups, [](const std::vector<GpuPair>& group) { return group.empty(); });
  return groups;
}

std::vector<PairProof> prove_delivery(const Topology& topology, const RungRunner& run) {
  std::vector<PairProof> all;
  const int gpus = static_cast<int>(topology.gpus.size());
  for (const std::vector<GpuPair>& group : disjoint_groups(pairs_to_prove(topology), gpus)) {
    std::vector<PairProof> proofs;
    for (const GpuPair& pair : group) proofs.push_back({pair, {}});
    climb_together(proofs, run);
    all.insert(all.end(), proofs.begin(), proofs.end());
  }
  return all;
}

}  // namespace linkgain
