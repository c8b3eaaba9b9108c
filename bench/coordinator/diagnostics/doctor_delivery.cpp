#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "checks.hpp"

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

}  // namespace linkgain
