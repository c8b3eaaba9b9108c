#include "linkgain/cases/selection.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "linkgain/base/errors.hpp"
#include "linkgain/cases/profiles.hpp"
#include "plan_cases.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

std::vector<Case> cases_of(Profile profile, BackendKind backend, int ranks = 2) {
  return expand(plan_of(profile, backend).selections, ranks, backend);
}

Selection send_recv(std::vector<Pattern> patterns) {
  Selection selection;
  selection.operations = {OperationKind::send_recv};
  selection.sizes = {Bytes{1024}};
  selection.patterns = std::move(patterns);
  return selection;
}

std::vector<std::string> pairs_of(Pattern pattern, int ranks) {
  std::vector<std::string> pairs;
  for (const Case& c : expand({send_recv({pattern})}, ranks, BackendKind::nccl)) {
    const std::string name = case_name(c);
    const std::size_t pair = name.find("pair=");
    pairs.push_back(pair == std::string::npos ? "" : name.substr(pair));
  }
  return pairs;
}

TEST(Profiles, QuickIsTheSizeSweepOfAllReduceAndCopies) {
  const std::vector<Case> cases = cases_of(Profile::quick, BackendKind::nccl);
  ASSERT_EQ(cases.size(), 14U + 2U);
  EXPECT_EQ(case_name(cases.front()), "all_reduce/float32/sum/16B/np2/graph");
  EXPECT_EQ(case_name(cases[1]), "all_reduce/float32/sum/64B/np2/graph");
  EXPECT_EQ(case_name(cases[13]), "all_reduce/float32/sum/1GiB/np2");
  EXPECT_EQ(case_name(cases[14]), "copy_push/256MiB/np2/pair=0-1");
  EXPECT_EQ(case_name(cases[15]), "copy_push/256MiB/np2/pair=0-1/both");
  const std::vector<Case> on_cpus = cases_of(Profile::quick, BackendKind::mpi);
  ASSERT_EQ(on_cpus.size(), 12U);
  EXPECT_EQ(case_name(on_cpus.back()), "all_reduce/float32/sum/64MiB/np2");
}

TEST(Profiles, DefaultBeginsWithThePagesTraining) {
  const std::vector<Case> cases = cases_of(Profile::standard, BackendKind::nccl, 4);
  ASSERT_EQ(cases.size(), 4U + 14U + 8U + 2U + 1U + 5U + 5U);
  EXPECT_EQ(case_name(cases[28]), "latency/8B/np4/pair=0-1");
  EXPECT_EQ(case_name(cases[29]), "all_reduce/bfloat16/sum/8KiB/np4/graph/hidden=4096");
  EXPECT_EQ(case_name(cases.back()), "product_norm/bfloat16/32MiB/np4/graph/hidden=4096");
  EXPECT_EQ(case_name(cases[0]), "gpt2_step/bf16/gpt2/np4");
  EXPECT_EQ(case_name(cases[1]), "gpt2_step/bf16/gpt2/np4/none");
  EXPECT_EQ(case_name(cases[2]), "gpt2_step/fp32/gpt2/np4");
  EXPECT_EQ(case_name(cases[3]), "gpt2_step/fp32/gpt2/np4/none");
  EXPECT_EQ(case_name(cases[18]), "send_recv/float32/16B/np4/graph");
  EXPECT_EQ(case_name(cases[19]), "send_recv/float32/256B/np4/graph");
  EXPECT_EQ(case_name(cases[25]), "send_recv/float32/1GiB/np4");
  const std::vector<Case> on_cpus = cases_of(Profile::standard, BackendKind::mpi);
  EXPECT_EQ(on_cpus.size(), 2U + 12U + 7U);
  EXPECT_EQ(case_name(on_cpus[0]), "gpt2_step/fp64/tiny/np2");
}

/// Wants them near in time to the step that they are compared with, and in every launch.
TEST(Profiles, FullComparesStrategiesWithTheirPrecisionsStepWithoutCommunication) {
  std::vector<std::string> expected;
  for (const std::string precision : {"fp32", "tf32", "bf16"}) {
    for (const std::string strategy : {"", "/zero2", "/zero3", "/none"}) {
      expected.push_back("gpt2_step/" + precision + "/gpt2/np2" + strategy);
    }
  }
  std::vector<std::string> first = names_of(cases_of(Profile::full, BackendKind::nccl));
  first.resize(expected.size());
  EXPECT_EQ(first, expected);
}

TEST(Profiles, LeaveOutCopiesThatCannotBe) {
  EXPECT_EQ(cases_of(Profile::standard, BackendKind::nccl, 16).size(), 14U + 8U + 5U + 5U)
      << "8 at most";
  std::vector<Selection> odd = plan_of(Profile::standard, BackendKind::nccl).selections;
  for (Selection& selection : odd) selection.sizes = {Bytes{4}};
  EXPECT_THAT(names_of(expand(odd, 2, BackendKind::nccl)),
              ElementsAre("gpt2_step/bf16/gpt2/np2", "gpt2_step/bf16/gpt2/np2/none",
                          "gpt2_step/fp32/gpt2/np2", "gpt2_step/fp32/gpt2/np2/none",
                          "all_reduce/float32/sum/4B/np2/graph", "send_recv/float32/4B/np2/graph"));
}

TEST(Profiles, NodeIsMadeForRepetition) {
  EXPECT_EQ(plan_of(Profile::node, BackendKind::nccl).launches, 8);
  EXPECT_THAT(
      names_of(cases_of(Profile::node, BackendKind::nccl)),
      ElementsAre("all_reduce/float32/sum/8B/np2/graph", "all_reduce/float32/sum/1MiB/np2",
                  "all_reduce/float32/sum/256MiB/np2", "send_recv/float32/256MiB/np2/pair=0-1",
                  "send_recv/float32/256MiB/np2/pair=1-0",
                  "send_recv/float32/256MiB/np2/pair=0-1/both"));
  EXPECT_EQ(case_name(cases_of(Profile::node, BackendKind::mpi)[2]),
            "all_reduce/float32/sum/64MiB/np2");
}

TEST(Profiles, BridgeHasFewSizesOfWhatABridgeChanges) {
  const ProfilePlan plan = plan_of(Profile::bridge, BackendKind::nccl);
  EXPECT_EQ(plan.launches, 8);
  EXPECT_EQ(plan.budget, Seconds{50}) << "of less than a minute in all";
  EXPECT_THAT(names_of(cases_of(Profile::bridge, BackendKind::nccl)),
              ElementsAre("all_reduce/float32/sum/8B/np2/graph", "all_reduce/float32/sum/1MiB/np2",
                          "all_reduce/float32/sum/256MiB/np2", "send_recv/float32/256MiB/np2",
                          "copy_push/256MiB/np2/pair=0-1", "copy_push/256MiB/np2/pair=0-1/both"));
  EXPECT_THAT(names_of(cases_of(Profile::bridge, BackendKind::mpi)),
              ElementsAre("all_reduce/float32/sum/8B/np2", "all_reduce/float32/sum/1MiB/np2",
                          "all_reduce/float32/sum/64MiB/np2", "send_recv/float32/64MiB/np2"));
}

TEST(Profiles, SoakHasALargeAndASmallSizeAndEveryPair) {
  const ProfilePlan plan = plan_of(Profile::soak, BackendKind::nccl);
  EXPECT_EQ(plan.budget, Seconds{3600});
  EXPECT_THAT(
      names_of(cases_of(Profile::soak, BackendKind::nccl)),
      ElementsAre("all_reduce/float32/sum/8B/np2/graph", "all_reduce/float32/sum/256MiB/np2",
                  "send_recv/float32/256MiB/np2/pair=0-1/both",
                  "copy_push/256MiB/np2/pair=0-1/both"));
  EXPECT_EQ(cases_of(Profile::soak, BackendKind::nccl, 8).size(), 2U + 2U * 28U);
  EXPECT_THAT(names_of(cases_of(Profile::soak, BackendKind::mpi)),
              ElementsAre("all_reduce/float32/sum/8B/np2", "all_reduce/float32/sum/4MiB/np2",
                          "send_recv/float32/4MiB/np2/pair=0-1/both"));
}

TEST(Profiles, FullHasEveryTypeReductionLaunchModeAndPair) {
  for (const BackendKind backend : {BackendKind::nccl, BackendKind::mpi}) {
    std::set<DataType> types;
    std::set<Reduction> reductions;
    std::set<LaunchMode> launches;
    std::set<bool> in_place;
    std::set<std::string> pairs;
    for (const Case& c : cases_of(Profile::full, backend, 3)) {
      types.insert(c.type);
      reductions.insert(c.reduction);
      launches.insert(c.launch);
      in_place.insert(c.in_place);
      const bool sends = c.operation == OperationKind::send_recv;
      if (sends && c.pair) pairs.insert(case_name(c));
    }
    const bool gpu = backend == BackendKind::nccl;
    EXPECT_EQ(types.size(), gpu ? 12U : 8U);
    EXPECT_EQ(reductions.size(), gpu ? 6U : 4U);
    EXPECT_EQ(launches.size(), gpu ? 2U : 1U);
    EXPECT_EQ(in_place.size(), 2U);
    EXPECT_EQ(pairs.size(), 6U + 3U);
  }
  EXPECT_EQ(plan_of(Profile::full, BackendKind::nccl).launches, 8);
  EXPECT_EQ(plan_of(Profile::full, BackendKind::nccl).budget, Seconds{900});
}

TEST(Profiles, OthersHaveSixLaunchesAndNoBudget) {
  for (const Profile profile : {Profile::quick, Profile::standard}) {
    EXPECT_EQ(plan_of(profile, BackendKind::nccl).launches, 6);
    EXPECT_FALSE(plan_of(profile, BackendKind::nccl).budget);
  }
}

TEST(Expand, NamesEveryCaseOnce) {
  for (const BackendKind backend : {BackendKind::nccl, BackendKind::mpi}) {
    for (const Profile profile : kValues<Profile>) {
      const std::vector<std::string> names = names_of(cases_of(profile, backend, 4));
      EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
    }
  }
  Selection twice;
  twice.sizes = {Bytes{8}, Bytes{16}, Bytes{8}};
  EXPECT_THAT(
      names_of(expand({twice, twice}, 2, BackendKind::nccl)),
      ElementsAre("all_reduce/float32/sum/8B/np2/graph", "all_reduce/float32/sum/16B/np2/graph"));
}

TEST(Expand, KeepsTheOrderOfSelectionsAndSizes) {
  Selection selection;
  selection.operations = {OperationKind::send_recv, OperationKind::all_reduce};
  selection.sizes = {Bytes{1024}, Bytes{8}};
  EXPECT_THAT(names_of(expand({selection}, 2, BackendKind::mpi)),
              ElementsAre("send_recv/float32/1KiB/np2", "send_recv/float32/8B/np2",
                          "all_reduce/float32/sum/1KiB/np2", "all_reduce/float32/sum/8B/np2"));
}

TEST(Expand, ParametersThatAnOperationLacksDoNotMultiplyIt) {
  Selection selection = send_recv({Pattern::ring});
  selection.reductions = {Reduction::min, Reduction::max};
  selection.in_place = {false, true};
  EXPECT_THAT(names_of(expand({selection}, 2, BackendKind::nccl)),
              ElementsAre("send_recv/float32/1KiB/np2/graph"));
  Selection reduce;
  reduce.sizes = {Bytes{1024}};
  reduce.patterns = {Pattern::ring, Pattern::one_way, Pattern::both_ways};
  EXPECT_THAT(names_of(expand({reduce}, 4, BackendKind::nccl)),
              ElementsAre("all_reduce/float32/sum/1KiB/np4/graph"));
}

TEST(Expand, MultipliesWhatAnOperationHas) {
  Selection selection;
  selection.sizes = {Bytes{8}, Bytes{16}, Bytes{32}};
  selection.types = {DataType::float32, DataType::int8};
  selection.reductions = {Reduction::sum, Reduction::max};
  selection.in_place = {false, true};
  selection.launches = {LaunchChoice::stream, LaunchChoice::graph};
  EXPECT_EQ(expand({selection}, 2, BackendKind::nccl).size(), 3U * 16U);
}

TEST(Expand, PatternsGiveEveryPairOfRanks) {
  EXPECT_THAT(pairs_of(Pattern::ring, 3), ElementsAre(""));
  EXPECT_THAT(pairs_of(Pattern::one_way, 2), ElementsAre("pair=0-1", "pair=1-0"));
  EXPECT_THAT(pairs_of(Pattern::both_ways, 2), ElementsAre("pair=0-1/both"));
  EXPECT_THAT(pairs_of(Pattern::one_way, 3),
              ElementsAre("pair=0-1", "pair=0-2", "pair=1-0", "pair=1-2", "pair=2-0", "pair=2-1"));
  EXPECT_THAT(pairs_of(Pattern::both_ways, 3),
              ElementsAre("pair=0-1/both", "pair=0-2/both", "pair=1-2/both"));
  EXPECT_EQ(pairs_of(Pattern::one_way, 4).size(), 12U);
  EXPECT_EQ(pairs_of(Pattern::both_ways, 4).size(), 6U);
}

TEST(Expand, TakesTheOnePairThatIsAskedFor) {
  Selection selection = send_recv({Pattern::ring, Pattern::one_way, Pattern::both_ways});
  selection.pair = Pair{2, 0, false};
  EXPECT_THAT(
      names_of(expand({selection}, 3, BackendKind::nccl)),
      ElementsAre("send_recv/float32/1KiB/np3/graph", "send_recv/float32/1KiB/np3/graph/pair=2-0",
                  "send_recv/float32/1KiB/np3/graph/pair=2-0/both"));
}

TEST(Expand, RefusesWhatCannotBe) {
  Situations answers;
  const auto ask = [&](const char* what, const Selection& selection, BackendKind backend,
                       int ranks = 2) {
    answers.refuse(what, [&] { expand({selection}, ranks, backend); });
  };
  answers.about("on every backend");
  ask("all_reduce of 7 bytes", of(OperationKind::all_reduce, "7"), BackendKind::nccl);
  ask("all_gather of 7 bytes", of(OperationKind::all_gather, "7"), BackendKind::nccl);
  ask("reduce_scatter of 4 and 8 bytes on 4 ranks", of(OperationKind::reduce_scatter, "4,8"),
      BackendKind::nccl, 4);
  Selection outside = send_recv({Pattern::one_way});
  outside.pair = Pair{0, 2, false};
  ask("pair 0-2", outside, BackendKind::nccl);
  Selection root = of(OperationKind::all_gather, "1K");
  root.roots = {1};
  ask("all_gather to root 1", root, BackendKind::nccl);
  root = of(OperationKind::gather, "1K");
  root.roots = {2};
  ask("gather to root 2", root, BackendKind::nccl);

  Selection unused = of(OperationKind::all_reduce, "1K");
  unused.pair = Pair{0, 1, false};
  ask("all_reduce of pair 0-1", unused, BackendKind::nccl);
  unused = send_recv({Pattern::ring});
  unused.pair = Pair{0, 1, false};
  ask("send_recv in a ring of pair 0-1", unused, BackendKind::nccl);

  answers.about("on a backend that lacks it");
  Selection selection = of(OperationKind::all_reduce, "1K");
  selection.types = {DataType::bfloat16};
  EXPECT_NO_THROW(expand({selection}, 2, BackendKind::nccl));
  ask("bfloat16 over MPI", selection, BackendKind::mpi);
  selection.types = {DataType::float32};
  selection.reductions = {Reduction::avg};
  ask("avg over MPI", selection, BackendKind::mpi);
  selection.reductions = {Reduction::sum};
  selection.launches = {LaunchChoice::graph};
  ask("a graph over MPI", selection, BackendKind::mpi);
  selection.launches = {LaunchChoice::stream};
  selection.buffers = {Buffers::plain, Buffers::symmetric};
  ask("symmetric buffers over MPI", selection, BackendKind::mpi);
  answers.expect_golden("selections_refused.txt");
}

TEST(Expand, WherePossibleLeavesOutWhatCannotBe) {
  Selection selection = of(OperationKind::all_reduce, "6,8");
  selection.operations = {OperationKind::all_reduce, OperationKind::copy_push,
                          OperationKind::gpt2_step};
  selection.sizes.push_back(Bytes{1024});
  selection.where_possible = true;
  EXPECT_THAT(
      names_of(expand({selection}, 8, BackendKind::nccl)),
      ElementsAre("all_reduce/float32/sum/8B/np8/graph", "all_reduce/float32/sum/1KiB/np8/graph",
                  "copy_push/1KiB/np8", "gpt2_step/fp32/gpt2/np8", "gpt2_step/fp32/gpt2/np8/none"));
  EXPECT_THAT(
      names_of(expand({selection}, 9, BackendKind::nccl)),
      ElementsAre("all_reduce/float32/sum/8B/np9/graph", "all_reduce/float32/sum/1KiB/np9/graph"))
      << "copies and trainings go across 8 GPUs at most";
}

/// Expands the same operation at 8 B, just below and at 1 MiB, by these choices.
std::vector<std::string> launched(std::vector<LaunchChoice> choices, BackendKind backend) {
  Selection selection = of(OperationKind::all_reduce, "8,1048572,1M");
  selection.launches = std::move(choices);
  return names_of(expand({selection}, 2, backend));
}

TEST(LaunchChoices, AutomaticIsGraphBelowAMebibyteAndStreamFromThereOn) {
  const std::vector<std::string> automatic{"all_reduce/float32/sum/8B/np2/graph",
                                           "all_reduce/float32/sum/1048572B/np2/graph",
                                           "all_reduce/float32/sum/1MiB/np2"};
  EXPECT_EQ(launched({LaunchChoice::automatic}, BackendKind::nccl), automatic);
  EXPECT_EQ(launched(Selection{}.launches, BackendKind::nccl), automatic) << "the default";
}

TEST(LaunchChoices, AutomaticIsStreamWhereThereAreNoGraphs) {
  const std::vector<std::string> streams = launched({LaunchChoice::stream}, BackendKind::mpi);
  EXPECT_THAT(streams,
              ElementsAre("all_reduce/float32/sum/8B/np2", "all_reduce/float32/sum/1048572B/np2",
                          "all_reduce/float32/sum/1MiB/np2"));
  EXPECT_EQ(launched({LaunchChoice::automatic}, BackendKind::mpi), streams);
}

TEST(LaunchChoices, OfSeveralEachCaseIsThereOnce) {
  EXPECT_THAT(
      launched({LaunchChoice::automatic, LaunchChoice::stream}, BackendKind::nccl),
      ElementsAre("all_reduce/float32/sum/8B/np2/graph",
                  "all_reduce/float32/sum/1048572B/np2/graph", "all_reduce/float32/sum/8B/np2",
                  "all_reduce/float32/sum/1048572B/np2", "all_reduce/float32/sum/1MiB/np2"));
  EXPECT_EQ(launched({LaunchChoice::graph, LaunchChoice::automatic, LaunchChoice::stream},
                     BackendKind::nccl),
            launched({LaunchChoice::graph, LaunchChoice::stream}, BackendKind::nccl));
}

TEST(LaunchChoices, LeaveWorkOnMemoryAsItIs) {
  Selection copies = of(OperationKind::copy_push, "64K,64M");
  EXPECT_THAT(names_of(expand({copies}, 2, BackendKind::nccl)),
              ElementsAre("copy_push/64KiB/np2", "copy_push/64MiB/np2"));
}

TEST(LaunchBound, AreOperationsBelowAMebibyteThatReachAGpuOneByOne) {
  const auto bound = [](const char* name, BackendKind backend = BackendKind::nccl) {
    return is_launch_bound(backend, parse_case_name(name));
  };
  EXPECT_TRUE(bound("all_reduce/float32/sum/1048572B/np2"));
  EXPECT_FALSE(bound("all_reduce/float32/sum/1MiB/np2"));
  EXPECT_FALSE(bound("all_reduce/float32/sum/8B/np2/graph"));
  EXPECT_TRUE(bound("all_reduce/float32/sum/8B/np2/kernel"));
  EXPECT_TRUE(bound("copy_push/64KiB/np2/pair=0-1"));
  EXPECT_FALSE(bound("latency/8B/np2/pair=0-1")) << "1024 in a launch";
  EXPECT_FALSE(bound("load_latency/64KiB/np2/pair=0-1"));
  EXPECT_FALSE(bound("gpt2_step/fp32/tiny/np2"));
  EXPECT_FALSE(bound("all_reduce/float32/sum/8B/np2", BackendKind::mpi));
}

TEST(PlanNames, ParseBack) {
  for (const LaunchChoice choice :
       {LaunchChoice::automatic, LaunchChoice::stream, LaunchChoice::graph}) {
    EXPECT_EQ(from_name<LaunchChoice>(name_of(choice)), choice);
  }
  EXPECT_EQ(name_of(LaunchChoice::automatic), "auto");
  for (const Pattern pattern : {Pattern::ring, Pattern::one_way, Pattern::both_ways}) {
    EXPECT_EQ(from_name<Pattern>(name_of(pattern)), pattern);
  }
  for (const Profile profile : kValues<Profile>) {
    EXPECT_EQ(from_name<Profile>(name_of(profile)), profile);
  }
  EXPECT_EQ(name_of(Profile::standard), "default");
}

// How selections become cases of the operations that have roots, buffers or split sizes.

std::vector<std::int64_t> sizes_of(OperationKind operation, std::string_view sizes, int ranks) {
  std::vector<std::int64_t> values;
  for (const Case& c : expand({of(operation, sizes)}, ranks, BackendKind::nccl)) {
    values.push_back(c.size.value);
  }
  return values;
}

TEST(SplitSizes, AreRoundedDownToWholeElementsForEveryRank) {
  EXPECT_THAT(sizes_of(OperationKind::all_gather, "8:64:x2", 2), ElementsAre(8, 16, 32, 64));
  EXPECT_THAT(sizes_of(OperationKind::all_gather, "16,32,64,100", 3), ElementsAre(12, 24, 60, 96));
  EXPECT_THAT(sizes_of(OperationKind::broadcast, "16,32,64,100", 3), ElementsAre(16, 32, 64, 100));
}

TEST(SplitSizes, ThatHoldNothingAreLeftOut) {
  EXPECT_THAT(sizes_of(OperationKind::scatter, "8:64:x2", 8), ElementsAre(32, 64));
  EXPECT_THAT(sizes_of(OperationKind::alltoall, "8:1G:x2", 8), SizeIs(26));
}

TEST(SplitSizes, ThatBecomeTheSameAreOneCase) {
  EXPECT_THAT(sizes_of(OperationKind::gather, "16,20,24,28,32", 4), ElementsAre(16, 32));
}

TEST(Roots, MultiplyWhatHasThem) {
  Selection selection = of(OperationKind::broadcast, "1K");
  selection.operations = {OperationKind::broadcast, OperationKind::all_gather};
  selection.roots = {0, 2};
  EXPECT_THAT(names_of(expand({selection}, 4, BackendKind::mpi)),
              ElementsAre("broadcast/float32/1KiB/np4", "broadcast/float32/1KiB/np4/root=2",
                          "all_gather/float32/1KiB/np4"));
}

TEST(BuffersOfCases, MultiplyEveryOperation) {
  Selection selection = of(OperationKind::all_reduce, "1K");
  selection.operations = {OperationKind::all_reduce, OperationKind::send_recv};
  selection.buffers = {Buffers::plain, Buffers::symmetric};
  EXPECT_THAT(names_of(expand({selection}, 2, BackendKind::nccl)),
              ElementsAre("all_reduce/float32/sum/1KiB/np2/graph",
                          "all_reduce/float32/sum/1KiB/np2/graph/symmetric",
                          "send_recv/float32/1KiB/np2/graph",
                          "send_recv/float32/1KiB/np2/graph/symmetric"));
}

TEST(Hidden, PutsAnAllReduceBetweenAProductAndANormByGraph) {
  Selection selection = of(OperationKind::all_reduce, "8K,12K,4M");
  selection.operations = {OperationKind::all_reduce, OperationKind::product_norm};
  selection.types = {DataType::bfloat16};
  selection.kernels = {false, true};
  selection.hidden = {4096};
  EXPECT_THAT(names_of(expand({selection}, 2, BackendKind::nccl)),
              ElementsAre("all_reduce/bfloat16/sum/8KiB/np2/graph/hidden=4096",
                          "all_reduce/bfloat16/sum/4MiB/np2/graph/hidden=4096",
                          "all_reduce/bfloat16/sum/8KiB/np2/graph/hidden=4096/kernel",
                          "all_reduce/bfloat16/sum/4MiB/np2/graph/hidden=4096/kernel",
                          "product_norm/bfloat16/8KiB/np2/graph/hidden=4096",
                          "product_norm/bfloat16/4MiB/np2/graph/hidden=4096"))
      << "of whole rows";
  EXPECT_THROW(expand({selection}, 2, BackendKind::mpi), UsageError);
  selection.types = {DataType::float32};
  EXPECT_THROW(expand({selection}, 2, BackendKind::nccl), UsageError);
}

TEST(InferenceProfile, HasEverySizeInADecoderAndBackToBack) {
  const std::vector<Case> cases = cases_of(Profile::inference, BackendKind::nccl, 2);
  for (const bool kernel : {false, true}) {
    for (const bool in_decoder : {false, true}) {
      std::set<Bytes> sizes;
      for (const Case& c : cases) {
        const bool is_one = c.operation == OperationKind::all_reduce && c.kernel == kernel;
        if (is_one && (c.hidden != 0) == in_decoder) sizes.insert(c.size);
      }
      EXPECT_THAT(sizes, SizeIs(15));
      EXPECT_EQ(*sizes.begin(), Bytes{4096});
      EXPECT_EQ(*sizes.rbegin(), Bytes{64 << 20});
    }
  }
}

TEST(PingPong, HasItsPairAlways) {
  Selection selection = of(OperationKind::ping_pong, "8");
  EXPECT_THAT(names_of(expand({selection}, 4, BackendKind::nccl)),
              ElementsAre("ping_pong/float32/8B/np4/graph/pair=0-1"));
  selection.pair = Pair{3, 2, false};
  selection.patterns = {Pattern::ring, Pattern::both_ways};
  EXPECT_THAT(names_of(expand({selection}, 4, BackendKind::nccl)),
              ElementsAre("ping_pong/float32/8B/np4/graph/pair=3-2"));
}

TEST(FullProfile, HasEveryOperationInEveryForm) {
  for (const BackendKind backend : {BackendKind::nccl, BackendKind::mpi}) {
    const bool gpu = backend == BackendKind::nccl;
    const std::vector<Case> cases = expand(plan_of(Profile::full, backend).selections, 2, backend);
    for (const OperationKind operation : kOperations) {
      if (!calls_library(operation)) continue;
      std::set<DataType> types;
      std::set<Reduction> reductions;
      std::set<bool> in_place;
      std::set<LaunchMode> launches;
      std::set<int> roots;
      std::set<Buffers> buffers;
      for (const Case& c : cases) {
        if (c.operation != operation) continue;
        types.insert(c.type);
        reductions.insert(c.reduction);
        in_place.insert(c.in_place);
        launches.insert(c.launch);
        roots.insert(c.root);
        buffers.insert(c.buffers);
      }
      const std::string_view name = name_of(operation);
      const std::size_t all_types = gpu ? 12 : 8;
      const std::size_t all_reductions = gpu ? 6 : 4;
      EXPECT_EQ(types.size(), operation == OperationKind::send_recv ? 1U : all_types) << name;
      EXPECT_EQ(reductions.size(), has_reduction(operation) ? all_reductions : 1U) << name;
      EXPECT_EQ(in_place.size(), supports_in_place(operation) ? 2U : 1U) << name;
      EXPECT_EQ(launches.size(), gpu ? 2U : 1U) << name;
      EXPECT_EQ(roots.size(), has_root(operation) ? 2U : 1U) << name;
      EXPECT_EQ(buffers.size(), gpu ? 3U : 1U) << name;
    }
  }
}

TEST(FullProfile, HoldsOnAnyNumberOfRanks) {
  for (const int ranks : {3, 5, 8}) {
    EXPECT_NO_THROW(
        expand(plan_of(Profile::full, BackendKind::nccl).selections, ranks, BackendKind::nccl));
  }
}

TEST(UsualSelection, IsASizeSweepOfEachOperation) {
  for (const OperationKind operation : kOperations) {
    const bool memory = works_on_memory(operation) || operation == OperationKind::product_norm;
    const BackendKind backend = memory ? BackendKind::nccl : BackendKind::mpi;
    const Selection selection = usual_selection(operation, backend);
    EXPECT_THAT(selection.operations, ElementsAre(operation));
    const std::size_t fewest = is_training(operation) ? 2 : memory ? 3 : 7;
    EXPECT_THAT(expand({selection}, 2, backend), SizeIs(testing::Ge(fewest)));
    if (memory) {
      EXPECT_THROW(expand({selection}, 2, BackendKind::mpi), UsageError);
    }
  }
}

TEST(Kernels, StandBesideTheOperationsThatHaveOne) {
  Selection selection = of(OperationKind::all_reduce, "1K");
  selection.types = {DataType::float32, DataType::int32};
  selection.kernels = {false, true};
  EXPECT_THAT(names_of(expand({selection}, 2, BackendKind::nccl)),
              ElementsAre("all_reduce/float32/sum/1KiB/np2/graph",
                          "all_reduce/float32/sum/1KiB/np2/graph/kernel",
                          "all_reduce/int32/sum/1KiB/np2/graph"));
  EXPECT_THAT(names_of(expand({selection}, 9, BackendKind::nccl)), SizeIs(2)) << "8 ranks at most";
  EXPECT_THROW(expand({selection}, 2, BackendKind::mpi), UsageError);
}

TEST(Kernels, AreInTheFullProfileOfGpusAlone) {
  const auto count = [](BackendKind backend) {
    std::size_t kernels = 0;
    for (const Case& c : expand(plan_of(Profile::full, backend).selections, 2, backend)) {
      kernels += c.kernel ? 1 : 0;
    }
    return kernels;
  };
  EXPECT_GT(count(BackendKind::nccl), 0U);
  EXPECT_EQ(count(BackendKind::mpi), 0U);
  const ProfilePlan plan = plan_of(Profile::full, BackendKind::nccl);
  const std::vector<std::string> names = names_of(expand(plan.selections, 2, BackendKind::nccl));
  for (const char* type : {"float32", "float16", "bfloat16"}) {
    const std::string library = fmt::format("all_reduce/{}/sum/16MiB/np2", type);
    EXPECT_THAT(names, testing::IsSupersetOf({library, library + "/kernel"}));
  }
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size()) << "each once";
  EXPECT_NO_THROW(expand(plan.selections, 9, BackendKind::nccl));
}

}  // namespace
}  // namespace linkgain::test
