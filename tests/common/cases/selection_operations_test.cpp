#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/cases/profiles.hpp"
#include "plan_cases.hpp"

/// How selections become cases of the operations that have roots, buffers or split sizes.
namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

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
      if (!has_type(operation)) continue;
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
    const bool memory = works_on_memory(operation);
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
