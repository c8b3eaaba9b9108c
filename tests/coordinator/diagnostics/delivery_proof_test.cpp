#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "doctor_support.hpp"
#include "linkgain/diagnostics/survey.hpp"

namespace linkgain::test {
namespace {

using State = RungResult::State;
using enum CheckVerdict;

/// Returns a machine on which one rung comes to something else, and so does the control.
Survey climbed(ProofRung rung, State state, State control = State::passed,
               Survey survey = healthy_survey(), bool under_load = false) {
  const auto run = [&](ProofRung now, const std::vector<GpuPair>& pairs) {
    State outcome = now == rung ? state : State::passed;
    if (now == ProofRung::control) outcome = control;
    return std::vector<RungResult>(pairs.size(), {now, outcome, "was seen"});
  };
  survey.proofs = prove_delivery(pairs_to_prove(survey.topology),
                                 static_cast<int>(survey.topology.gpus.size()), under_load, run);
  return survey;
}

TEST(DeliveryProof, ClimbsEveryRungThatTheOneBeforeAllowsAndTheControlAlways) {
  EXPECT_EQ(climbed(ProofRung::stores, State::passed).proofs->at(0).rungs.size(), 7U);
  const Survey loaded =
      climbed(ProofRung::stores, State::passed, State::passed, healthy_survey(), true);
  EXPECT_EQ(loaded.proofs->at(0).rungs.size(), 8U);
  for (const State state : {State::not_delivered, State::hung, State::failed, State::other_path}) {
    const Survey survey = climbed(ProofRung::copy_engine, state);
    const std::vector<RungResult>& rungs = survey.proofs->at(0).rungs;
    ASSERT_EQ(rungs.size(), 3U);
    EXPECT_EQ(rungs[0].rung, ProofRung::stores);
    EXPECT_EQ(rungs[1].rung, ProofRung::copy_engine);
    EXPECT_EQ(rungs[2].rung, ProofRung::control);
  }
}

constexpr const char* kCheck = "p2p-delivery";
constexpr const char* kPair = "GPU0-GPU1";

TEST(DeliveryProof, TheRungThatFailsIsNamed) {
  const std::vector<std::pair<ProofRung, std::string>> rungs{
      {ProofRung::stores, "stores of a kernel: was seen"},
      {ProofRung::copy_engine, "writes of a copy engine: was seen"},
      {ProofRung::loads, "loads of a kernel: was seen"},
      {ProofRung::flags, "flags between kernels: was seen"},
      {ProofRung::kernels, "linkgain's all-reduce kernel: was seen"},
      {ProofRung::all_reduce, "NCCL's all-reduce: was seen"},
      {ProofRung::load, "under load: was seen"}};
  const auto climbed_with = [](ProofRung rung, State state, State control = State::passed) {
    return climbed(rung, state, control, healthy_survey(), true);
  };
  for (const auto& [rung, words] : rungs) {
    expect_finding(climbed_with(rung, State::not_delivered), kCheck, kPair, problem,
                   "granted but does not deliver: " + words);
    expect_finding(climbed_with(rung, State::hung), kCheck, kPair, problem, "hangs: " + words);
    expect_finding(climbed_with(rung, State::failed), kCheck, kPair, warning,
                   "not proved: " + words);
  }
}

TEST(DeliveryProof, TheControlOverrulesNcclsOwnStepAndThoseThatCouldNotRun) {
  for (const ProofRung rung : kValues<ProofRung>) {
    if (rung == ProofRung::control) continue;
    for (const State control : {State::not_delivered, State::failed, State::hung}) {
      const auto with = [&](State state) {
        return climbed(rung, state, control, healthy_survey(), true);
      };
      expect_finding(with(State::failed), kCheck, kPair, warning, "inconclusive: ");
      for (const State state : {State::not_delivered, State::hung}) {
        const bool is_by_nccl = rung == ProofRung::all_reduce;
        expect_finding(with(state), kCheck, kPair, is_by_nccl ? warning : problem,
                       is_by_nccl             ? "inconclusive: "
                       : state == State::hung ? "hangs: "
                                              : "granted but does not deliver: ");
        expect_finding(with(state), kCheck, kPair, is_by_nccl ? warning : problem,
                       is_by_nccl ? "; NCCL without P2P: was seen"
                                  : "; NCCL without P2P failed after it, too: was seen");
      }
    }
  }
}

TEST(DeliveryProof, OnlyWhatWasSeenOfTheDataIsAVerdictOnThePath) {
  for (const ProofRung rung : kValues<ProofRung>) {
    if (rung == ProofRung::control) continue;
    const auto verdict = [&](State state) {
      return verdict_of({{0, 1}, {{rung, state, "seen"}, {ProofRung::control, State::passed, ""}}},
                        false);
    };
    EXPECT_EQ(verdict(State::failed), DeliveryVerdict::not_proved) << name_of(rung);
    EXPECT_EQ(verdict(State::other_path), DeliveryVerdict::not_proved) << name_of(rung);
    EXPECT_EQ(verdict(State::not_delivered), DeliveryVerdict::not_delivered) << name_of(rung);
    EXPECT_EQ(verdict(State::hung), DeliveryVerdict::hangs) << name_of(rung);
  }
}

TEST(DeliveryProof, WhatWorksIsOkAndNamesNoBandwidth) {
  const Survey works = climbed(ProofRung::stores, State::passed);
  expect_finding(works, kCheck, kPair, ok, "works");
  EXPECT_EQ(finding_of(works, kCheck, kPair).value.text().find("GB/s"), std::string::npos);
}

/// Gives the verdict where stores of 64 MiB took so many times as long as the copy engine.
DeliveryVerdict verdict_at(double times, bool nvlink) {
  Survey survey = climbed(ProofRung::stores, State::passed);
  PairProof& proof = survey.proofs->at(0);
  proof.rungs.at(0).seconds = times * 0.002;
  proof.rungs.at(1).seconds = 0.002;
  return verdict_of(proof, nvlink);
}

TEST(DeliveryProof, StoresThatAreManyTimesSlowerThanCopiesOverPcieGoThroughTheHost) {
  EXPECT_EQ(verdict_at(15.0, false), DeliveryVerdict::staged);
  EXPECT_EQ(verdict_at(15.0, true), DeliveryVerdict::works) << "NVLink joins them";
  EXPECT_EQ(verdict_at(1.3, false), DeliveryVerdict::works);
  Survey survey = climbed(ProofRung::stores, State::passed);
  for (TopologyPair& pair : survey.topology.pairs) pair.nvlinks = 0;
  survey.proofs->at(0).rungs.at(0).seconds = 0.030;
  survey.proofs->at(0).rungs.at(1).seconds = 0.002;
  expect_finding(survey, kCheck, kPair, warning, "stores take 15.0 times");
}

TEST(DeliveryProof, NcclsOwnDiagnosisStandsBesideOurs) {
  const auto expect_beside = [](Survey survey, CheckVerdict verdict, const std::string& ours) {
    survey.proofs->at(0).rungs.at(5).nccl_says = {"[INFO] no peer read", "[OK] all else"};
    expect_finding(survey, kCheck, kPair, verdict, ours);
    expect_finding(survey, kCheck, kPair, verdict,
                   "; NCCL's own diagnosis: [INFO] no peer read; [OK] all else");
  };
  expect_beside(climbed(ProofRung::stores, State::passed), warning, "works by linkgain's steps");
  expect_beside(climbed(ProofRung::stores, State::passed, State::failed), warning,
                "steps; but NCCL without P2P: was seen");
  for (const auto& [state, ours] : std::vector<std::pair<State, std::string>>{
           {State::not_delivered, "granted but"}, {State::hung, "hangs"}}) {
    expect_beside(climbed(ProofRung::all_reduce, state), problem, ours);
    expect_beside(climbed(ProofRung::all_reduce, state, State::failed), warning, "inconclusive");
  }
  expect_beside(climbed(ProofRung::all_reduce, State::failed), warning, "not proved");
  expect_beside(climbed(ProofRung::all_reduce, State::other_path), warning, "not used");
  Survey staged = climbed(ProofRung::stores, State::passed);
  for (TopologyPair& pair : staged.topology.pairs) pair.nvlinks = 0;
  staged.proofs->at(0).rungs.at(0).seconds = 0.030;
  staged.proofs->at(0).rungs.at(1).seconds = 0.002;
  expect_beside(staged, warning, "stores take 15.0 times");
}

TEST(DeliveryProof, NcclsDiagnosisThatIsOkDisputesNothing) {
  Survey survey = climbed(ProofRung::stores, State::passed);
  survey.proofs->at(0).rungs.at(5).nccl_says = {"[OK] verified"};
  expect_finding(survey, kCheck, kPair, ok, "both ways; NCCL's own diagnosis: [OK] verified");
  survey = climbed(ProofRung::stores, State::passed, State::failed);
  survey.proofs->at(0).rungs.at(5).nccl_says = {"[OK] verified"};
  expect_finding(survey, kCheck, kPair, warning, "works; but NCCL without P2P: was seen");
}

TEST(DeliveryProof, AnEarlierProofThatDidNotEndIsNamed) {
  Survey survey = healthy_survey();
  survey.proof_left = "the machine went down in step loads";
  expect_finding(survey, kCheck, "host", warning, "the machine went down in step loads");
}

TEST(DeliveryProof, NcclOnAnotherPathProvesNothing) {
  expect_finding(climbed(ProofRung::all_reduce, State::other_path), kCheck, kPair, warning,
                 "not used by NCCL");
  expect_finding(climbed(ProofRung::all_reduce, State::hung, State::other_path), kCheck, kPair,
                 warning, "inconclusive");
}

TEST(DeliveryProof, ThatOnlyTheControlFailsIsNoProblemOfP2p) {
  expect_finding(climbed(ProofRung::stores, State::passed, State::failed), kCheck, kPair, warning,
                 "works; but NCCL without P2P");
}

TEST(DeliveryProof, PairsThatCannotBeProvedAreNotClimbed) {
  Survey refused = healthy_survey();
  refused.topology.pairs[1].write = P2pStatus{false, "chipset not supported"};
  refused = climbed(ProofRung::stores, State::passed, State::passed, refused);
  EXPECT_TRUE(refused.proofs->empty());
  expect_finding(refused, kCheck, kPair, not_checkable, "writes: chipset not supported");
  Survey hidden = healthy_survey();
  hidden.topology.gpus[1].cuda_index = hidden_from_cuda();
  hidden = climbed(ProofRung::stores, State::passed, State::passed, hidden);
  EXPECT_TRUE(hidden.proofs->empty());
  expect_finding(hidden, kCheck, kPair, not_checkable, "CUDA does not see both");
}

TEST(DeliveryProof, IsSilentWhereNobodyAskedAndSaysWhyThereIsNone) {
  Survey survey = healthy_survey();
  for (const Finding& finding : check_machine(survey)) EXPECT_NE(finding.id, kCheck);
  survey.proof_failure = "no mpirun";
  expect_finding(survey, kCheck, "host", not_checkable, "no mpirun");
}

}  // namespace
}  // namespace linkgain::test
