#include "linkgain/delivery/delivery_proof.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

namespace linkgain {
namespace {

using State = RungResult::State;

/// From there on stores that are slower than a copy engine do not go straight: measured were
/// fifteen times.
constexpr double kStaged = 5.0;

bool climbs(const PairProof& proof, ProofRung rung) {
  return rung == ProofRung::control || proof.rungs.empty() ||
         proof.rungs.back().state == State::passed;
}

void climb_together(std::vector<PairProof>& proofs, bool under_load, const RungRunner& run) {
  for (const ProofRung rung : kValues<ProofRung>) {
    if (rung == ProofRung::load && !under_load) continue;
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

json::Out write_step(const RungResult& result) {
  json::Out step{
      {"step", name_of(result.rung)}, {"state", name_of(result.state)}, {"seen", result.seen}};
  if (result.seconds > 0.0) step["seconds"] = result.seconds;
  if (!result.nccl_says.empty())
    step["nccl"] = fmt::format("{}", fmt::join(result.nccl_says, "; "));
  return step;
}

json::Out write_pair(const DeliveryReport::Pair& pair) {
  return {{"gpus", pair.gpus},
          {"verdict", name_of(pair.verdict)},
          {"steps", json::array_of(pair.steps, write_step)}};
}

}  // namespace

const RungResult* PairProof::failure() const {
  const auto found = std::ranges::find_if(rungs, [](const RungResult& result) {
    return result.state != State::passed && result.rung != ProofRung::control;
  });
  return found == rungs.end() ? nullptr : &*found;
}

const RungResult* PairProof::find(ProofRung rung) const {
  const auto found = std::ranges::find(rungs, rung, &RungResult::rung);
  return found == rungs.end() ? nullptr : &*found;
}

double stores_over_copies(const PairProof& proof) {
  const RungResult* const stores = proof.find(ProofRung::stores);
  const RungResult* const copies = proof.find(ProofRung::copy_engine);
  if (stores == nullptr || copies == nullptr || copies->seconds <= 0.0) return 0.0;
  return stores->seconds / copies->seconds;
}

DeliveryVerdict verdict_of(const PairProof& proof, bool nvlink) {
  const RungResult* const failure = proof.failure();
  if (failure == nullptr) {
    return !nvlink && stores_over_copies(proof) >= kStaged ? DeliveryVerdict::staged
                                                           : DeliveryVerdict::works;
  }
  const bool is_overruled =
      failure->rung == ProofRung::all_reduce && proof.rungs.back().state != State::passed;
  if (is_overruled) return DeliveryVerdict::not_proved;
  if (failure->state == State::hung) return DeliveryVerdict::hangs;
  return failure->state == State::not_delivered ? DeliveryVerdict::not_delivered
                                                : DeliveryVerdict::not_proved;
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

std::vector<PairProof> prove_delivery(const std::vector<GpuPair>& pairs, int gpus, bool under_load,
                                      const RungRunner& run) {
  std::vector<PairProof> all;
  for (const std::vector<GpuPair>& group : disjoint_groups(pairs, gpus)) {
    std::vector<PairProof> proofs;
    for (const GpuPair& pair : group) proofs.push_back({pair, {}});
    climb_together(proofs, under_load, run);
    all.insert(all.end(), proofs.begin(), proofs.end());
  }
  return all;
}

bool DeliveryReport::proves_any() const {
  return std::ranges::any_of(
      pairs, [](const Pair& pair) { return pair.verdict != DeliveryVerdict::not_proved; });
}

json::Out write_delivery(const DeliveryReport& report) {
  return {{"driver", report.driver}, {"gpus", report.gpus},
          {"board", report.board},   {"bios", report.bios},
          {"nccl", report.nccl},     {"pairs", json::array_of(report.pairs, write_pair)}};
}

}  // namespace linkgain
