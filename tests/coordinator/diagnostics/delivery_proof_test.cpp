#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "doctor_support.hpp"
#include "linkgain/diagnostics/survey.hpp"

namespace linkgain::test {
namespace {

using State = RungResult::State;
using enum CheckVerdict;

std::vector<GpuPair> all_pairs(int gpus) {
  std::vector<GpuPair> pairs;
  for (int first = 0; first < gpus; ++first) {
    for (int second = first + 1; second < gpus; ++second) pairs.push_back({first, second});
  }
  return pairs;
}

TEST(DeliveryProof, PairsOfAGroupShareNoGpuAndGroupsAreAsFewAsCanBe) {
  for (const auto& [gpus, groups_needed] : std::vector<std::pair<int, std::size_t>>{
           {0, 0}, {1, 0}, {2, 1}, {3, 3}, {4, 3}, {5, 5}, {8, 7}}) {
    const auto groups = disjoint_groups(all_pairs(gpus), gpus);
    EXPECT_EQ(groups.size(), groups_needed) << gpus;
    std::size_t pairs = 0;
    for (const std::vector<GpuPair>& group : groups) {
      std::set<int> busy;
      for (const GpuPair& pair : group) {
        EXPECT_TRUE(busy.insert(pair.first).second) << gpus;
        EXPECT_TRUE(busy.insert(pair.second).second) << gpus;
      }
      pairs += group.size();
    }
    EXPECT_EQ(pairs, all_pairs(gpus).size());
  }
}

/// Returns a machine on which one rung comes to something else, and so does the control.
Survey climbed(ProofRung rung, State state, State control = State::passed,
               Survey survey = healthy_survey()) {
  survey.proofs =
      prove_delivery(survey.topology, [&](ProofRung now, const std::vector<GpuPair>& pairs) {
        State outcome = now == rung ? state : State::passed;
        if (now == ProofRung::control) outcome = control;
        return std::vector<RungResult>(pairs.size(), {now, outcome, "was seen"});
      });
  return survey;
}

TEST(DeliveryProof, ClimbsEveryRungThatTheOneBeforeAllowsAndTheControlAlways) {
  EXPECT_EQ(climbed(ProofRung::stores, State::passed).proofs->at(0).rungs.size(), 5U);
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
      {ProofRung::flags, "flags between kernels: was seen"},
      {ProofRung::all_reduce, "NCCL's all-reduce: was seen"}};
  for (const auto& [rung, words] : rungs) {
    for (const State state : {State::not_delivered, State::failed}) {
      expect_finding(climbed(rung, state), kCheck, kPair, problem,
                     "granted but does not deliver: " + words);
    }
    expect_finding(climbed(rung, State::hung), kCheck, kPair, problem, "hangs: " + words);
    for (const State control : {State::not_delivered, State::failed, State::hung}) {
      expect_finding(climbed(rung, State::hung, control), kCheck, kPair, warning,
                     "inconclusive: " + words + "; NCCL without P2P: was seen");
    }
  }
}

TEST(DeliveryProof, WhatWorksIsOkAndNamesNoBandwidth) {
  const Survey works = climbed(ProofRung::stores, State::passed);
  expect_finding(works, kCheck, kPair, ok, "works");
  EXPECT_EQ(finding_of(works, kCheck, kPair).value.text().find("GB/s"), std::string::npos);
}

TEST(DeliveryProof, NcclOnAnotherPathProvesNothing) {
  expect_finding(climbed(ProofRung::all_reduce, State::other_path), kCheck, kPair, warning,
                 "not used by NCCL");
  expect_finding(climbed(ProofRung::flags, State::hung, State::other_path), kCheck, kPair, warning,
                 "inconclusive");
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
