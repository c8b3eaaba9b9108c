#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "checks.hpp"

namespace linkgain {
namespace {

using State = RungResult::State;

/// What is looked for and how to see whether it is the cause.
constexpr const char* kCauses =
    "until it is fixed set NCCL_P2P_DISABLE=1. IOMMU: start the kernel with iommu=pt or turn it "
    "off "
    "in the firmware (dmesg | grep -i -e dmar -e iommu). ACS: turn it off on the bridges (lspci "
    "-vvv "
    "| grep ACSCtl shows + where it is on). BAR size: without NVLink BAR1 must hold all of the "
    "GPU's memory (nvidia-smi -q -d MEMORY; Resizable BAR in the firmware). Driver: remove patches "
    "that grant P2P (modinfo nvidia), install NVIDIA's own. With NVLink: reseat the bridge, or "
    "look "
    "at nvidia-fabricmanager's log. After each run linkgain doctor --prove again";

std::string_view words_for(ProofRung rung) {
  switch (rung) {
    case ProofRung::stores:
      return "stores of a kernel";
    case ProofRung::copy_engine:
      return "writes of a copy engine";
    case ProofRung::flags:
      return "flags between kernels";
    case ProofRung::all_reduce:
      return "NCCL's all-reduce";
    case ProofRung::control:
      return "NCCL without P2P";
  }
  throw std::logic_error("unhandled rung");
}

std::string words_of(const RungResult& result) {
  return fmt::format("{}: {}", words_for(result.rung), result.seen);
}

const RungResult* first_failure(const PairProof& proof) {
  const auto found = std::ranges::find_if(proof.rungs, [](const RungResult& result) {
    return result.state != State::passed && result.rung != ProofRung::control;
  });
  return found == proof.rungs.end() ? nullptr : &*found;
}

/// Whatever failed with P2P, without it all was well.
Finding judge_failure(const Check& check, const RungResult& failure) {
  switch (failure.state) {
    case State::hung:
      return check.problem("hangs: " + words_of(failure),
                           "the driver grants P2P, and whoever waits for data on this path "
                           "waits for ever: training and inference stand still",
                           kCauses);
    case State::not_delivered:
    case State::failed:
      return check.problem("granted but does not deliver: " + words_of(failure),
                           "the driver grants P2P, and programs that rely on it end with an error "
                           "or compute with wrong data",
                           kCauses);
    case State::other_path:
      return check.warning("not used by NCCL: " + words_of(failure),
                           "what goes from GPU to GPU without NCCL arrives; NCCL itself was not "
                           "seen to use P2P, so that nothing is proved of it",
                           "see the findings nccl-variable and nccl-conf, and NCCL_DEBUG=INFO");
    case State::passed:
      break;
  }
  throw std::logic_error("a rung that passed is no failure");
}

Finding judge(const Check& check, const PairProof& proof) {
  const RungResult* const failure = first_failure(proof);
  const RungResult& control = proof.rungs.back();
  const bool control_passed = control.state == State::passed;
  if (failure == nullptr && control_passed) {
    return check.ok("works: stores, copy engine, flags and NCCL's all-reduce, both ways");
  }
  if (failure == nullptr) {
    return check.warning("works; but " + words_of(control),
                         "P2P delivers, and what must do without it fails: variant host, and jobs "
                         "with NCCL_P2P_DISABLE=1",
                         "see the finding shared-memory");
  }
  if (control_passed) return judge_failure(check, *failure);
  return check.warning(fmt::format("inconclusive: {}; {}", words_of(*failure), words_of(control)),
                       "what fails without P2P as well is no evidence against P2P",
                       "fix what stops NCCL without P2P, then run linkgain doctor --prove again");
}

/// Why a pair was not looked at; it is not among the proofs.
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
    findings.push_back(
        Check(CheckGroup::connectivity, "p2p-delivery", kHost).not_checkable(survey.proof_failure));
    return;
  }
  if (!survey.proofs) return;
  for (const TopologyPair& pair : gpu_pairs(survey.topology)) {
    const Check check(CheckGroup::connectivity, "p2p-delivery",
                      device_labels(survey.topology, pair));
    const GpuPair gpus{pair.from, pair.to};
    const auto proof = std::ranges::find(*survey.proofs, gpus, &PairProof::pair);
    findings.push_back(proof == survey.proofs->end() ? judge_unproved(check, survey.topology, pair)
                                                     : judge(check, *proof));
  }
}

}  // namespace linkgain
