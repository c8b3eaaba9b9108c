#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "checks.hpp"
#include "linkgain/diagnostics/survey.hpp"

namespace linkgain {
namespace {

using State = RungResult::State;

constexpr std::array<Named<ProofRung>, 8> kWords{
    {{ProofRung::stores, "stores of a kernel"},
     {ProofRung::copy_engine, "writes of a copy engine"},
     {ProofRung::loads, "loads of a kernel"},
     {ProofRung::flags, "flags between kernels"},
     {ProofRung::kernels, "linkgain's all-reduce kernel"},
     {ProofRung::all_reduce, "NCCL's all-reduce"},
     {ProofRung::load, "under load"},
     {ProofRung::control, "NCCL without P2P"}}};

std::string words_of(const RungResult& result) {
  return fmt::format("{}: {}",
                     std::ranges::find(kWords, result.rung, &Named<ProofRung>::value)->name,
                     result.seen);
}

/// Gives the lines of NCCL's own diagnosis, if it made one.
std::vector<std::string> nccls_lines(const PairProof& proof) {
  const RungResult* const nccl = proof.find(ProofRung::all_reduce);
  return nccl == nullptr ? std::vector<std::string>{} : nccl->nccl_says;
}

Finding judge(const Check& check, const PairProof& proof, bool nvlink) {
  const RungResult* const failure = proof.failure();
  const RungResult& control = proof.rungs.back();
  const std::vector<std::string> says = nccls_lines(proof);
  const std::string nccl =
      says.empty() ? "" : fmt::format("; NCCL's own diagnosis: {}", fmt::join(says, "; "));
  const bool has_control = control.state == State::passed;
  const std::string after =
      has_control ? "" : "; NCCL without P2P failed after it, too: " + control.seen;
  const std::string but = has_control ? "" : "; but " + words_of(control);
  switch (verdict_of(proof, nvlink)) {
    case DeliveryVerdict::hangs:
      return check.found(fault::delivery_hangs, "hangs: " + words_of(*failure) + after + nccl);
    case DeliveryVerdict::not_delivered:
      return check.found(fault::delivery_fails,
                         "granted but does not deliver: " + words_of(*failure) + after + nccl);
    case DeliveryVerdict::staged:
      return check.found(
          fault::delivery_staged,
          FindingValue("staged: stores take ") +
              quantity("stores_over_copies", Unit::count, stores_over_copies(proof), 1) +
              FindingValue(" times as long as the copy engine" + nccl));
    case DeliveryVerdict::not_proved:
      if (!has_control) {
        return check.found(
            fault::delivery_inconclusive,
            fmt::format("inconclusive: {}; {}{}", words_of(*failure), words_of(control), nccl));
      }
      if (failure->state == State::failed) {
        return check.found(fault::delivery_failed, "not proved: " + words_of(*failure) + nccl);
      }
      return check.found(fault::delivery_unused, "not used by NCCL: " + words_of(*failure) + nccl);
    case DeliveryVerdict::works:
      break;
  }
  const auto is_ok = [](const std::string& line) { return line.starts_with("[OK]"); };
  if (!std::ranges::all_of(says, is_ok)) {
    return check.found(fault::delivery_disputed, "works by linkgain's steps" + but + nccl);
  }
  if (!has_control) return check.found(fault::control_fails, "works" + but + nccl);
  return check.ok(fmt::format(
      "works: stores, copies, loads, flags, all-reduce by linkgain and NCCL{}, both ways{}",
      proof.find(ProofRung::load) == nullptr ? "" : ", also under load", nccl));
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

bool is_joined(const TopologyPair& pair) { return pair.nvlinks.value_or(0) > 0; }

bool is_visible(const Topology& topology, int place) {
  return topology.gpus[static_cast<std::size_t>(place)].cuda_index.measured();
}

}  // namespace

std::vector<GpuPair> pairs_to_prove(const Topology& topology) {
  std::vector<GpuPair> pairs;
  for (const TopologyPair& pair : gpu_pairs(topology)) {
    if (!is_visible(topology, pair.from) || !is_visible(topology, pair.to)) continue;
    if (p2p_refusal(topology, pair).why_not.empty()) pairs.push_back({pair.from, pair.to});
  }
  return pairs;
}

void check_delivery(const Survey& survey, Findings& findings) {
  if (!survey.proof_left.empty()) {
    findings.push_back(Check("p2p-delivery").found(fault::delivery_interrupted, survey.proof_left));
  }
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
                                                     : judge(check, *proof, is_joined(pair)));
  }
}

std::optional<DeliveryReport> delivery_report(const Survey& survey) {
  if (!survey.proofs) return std::nullopt;
  DeliveryReport report;
  report.driver = survey.topology.driver.value_or("");
  report.board = survey.host.board;
  report.bios = survey.host.bios;
  if (survey.software.worker.measured()) {
    report.nccl = survey.software.worker.value().nccl_library.value_or("");
  }
  for (const TopologyGpu& gpu : survey.topology.gpus) {
    if (std::ranges::count(report.gpus, gpu.name) == 0) report.gpus.push_back(gpu.name);
  }
  for (const TopologyPair& pair : gpu_pairs(survey.topology)) {
    DeliveryReport::Pair& one = report.pairs.emplace_back();
    one.gpus = {device_label(survey.topology, pair.from), device_label(survey.topology, pair.to)};
    const auto proof =
        std::ranges::find(*survey.proofs, GpuPair{pair.from, pair.to}, &PairProof::pair);
    if (proof == survey.proofs->end()) continue;
    one.verdict = verdict_of(*proof, is_joined(pair));
    one.steps = proof->rungs;
  }
  return report;
}

}  // namespace linkgain
