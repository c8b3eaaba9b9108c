#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "checks.hpp"
#include "linkgain/diagnostics/survey.hpp"

namespace linkgain {
namespace {

using State = RungResult::State;

constexpr std::array<Named<ProofRung>, 5> kWords{
    {{ProofRung::stores, "stores of a kernel"},
     {ProofRung::copy_engine, "writes of a copy engine"},
     {ProofRung::flags, "flags between kernels"},
     {ProofRung::all_reduce, "NCCL's all-reduce"},
     {ProofRung::control, "NCCL without P2P"}}};

std::string words_of(const RungResult& result) {
  return fmt::format("{}: {}",
                     std::ranges::find(kWords, result.rung, &Named<ProofRung>::value)->name,
                     result.seen);
}

const RungResult* first_failure(const PairProof& proof) {
  const auto found = std::ranges::find_if(proof.rungs, [](const RungResult& result) {
    return result.state != State::passed && result.rung != ProofRung::control;
  });
  return found == proof.rungs.end() ? nullptr : &*found;
}

/// Judges what failed with P2P where without it all was well.
Finding judge_failure(const Check& check, const RungResult& failure) {
  switch (failure.state) {
    case State::hung:
      return check.found(fault::delivery_hangs, "hangs: " + words_of(failure));
    case State::not_delivered:
    case State::failed:
      return check.found(fault::delivery_fails,
                         "granted but does not deliver: " + words_of(failure));
    case State::other_path:
      return check.found(fault::delivery_unused, "not used by NCCL: " + words_of(failure));
    case State::passed:
      break;
  }
  throw std::logic_error("a rung that passed is no failure");
}

Finding judge(const Check& check, const PairProof& proof) {
  const RungResult* const failure = first_failure(proof);
  const RungResult& control = proof.rungs.back();
  const bool control_passed = control.state == State::passed;
  if (failure != nullptr && control_passed) return judge_failure(check, *failure);
  if (failure != nullptr) {
    return check.found(fault::delivery_inconclusive,
                       fmt::format("inconclusive: {}; {}", words_of(*failure), words_of(control)));
  }
  return control_passed
             ? check.ok("works: stores, copy engine, flags and NCCL's all-reduce, both ways")
             : check.found(fault::control_fails, "works; but " + words_of(control));
}

/// Says why a pair was not looked at, which is not among the proofs.
Finding judge_unproved(const Check& check, const Topology& topology, const TopologyPair& pair) {
  const P2pRefusal refusal = p2p_refusal(topology, pair);
  if (!refusal.why_not.empty()) {
    return check.not_checkable(
        fmt::format("the driver refuses {}: {}", name_of(refusal.use), refusal.why_not));
  }
  return check.not_checkable("CUDA does not see both GPUs");
}

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
  for (const ProofRung rung : kValues<ProofRung>) {
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

void check_delivery(const Survey& survey, Findings& findings) {
  if (!survey.proof_failure.empty()) {
    findings.push_back(Check("p2p-delivery").not_checkable(survey.proof_failure));
    return;
  }
  if (!survey.proofs) return;
  for (const TopologyPair& pair : gpu_pairs(survey.topology)) {
    const Check check("p2p-delivery", device_labels(survey.topology, pair));
    const GpuPair gpus{pair.from, pair.to};
    const auto proof = std::ranges::find(*survey.proofs, gpus, &PairProof::pair);
    findings.push_back(proof == survey.proofs->end() ? judge_unproved(check, survey.topology, pair)
                                                     : judge(check, *proof));
  }
}

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
