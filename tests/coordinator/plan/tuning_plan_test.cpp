#include "tuning_plan.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "support/run_plan_support.hpp"
#include "support/scoped_environment.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::Not;

std::vector<std::string> names_of(const std::vector<Variant>& variants) {
  std::vector<std::string> names;
  for (const Variant& variant : variants) names.push_back(variant.name);
  return names;
}

RunOptions tuned() {
  RunOptions options;
  options.tune = true;
  return options;
}

TEST(TuningPlan, RacesAllReducesByGraph) {
  const RunPlan plan = make_plan(tuned(), with_gpus(2));
  EXPECT_EQ(plan.race, RaceStages{});
  EXPECT_EQ(plan.launches, plan.race->screening);
  EXPECT_EQ(plan.cases.size(), 13U);
  EXPECT_EQ(case_name(plan.cases.front()), "all_reduce/float32/sum/64KiB/np2/graph");
  EXPECT_EQ(case_name(plan.cases.back()), "all_reduce/float32/sum/256MiB/np2/graph");
  EXPECT_EQ(plan.variants.front(), (Variant{"default", {}}));
  EXPECT_THAT(names_of(plan.variants), IsSupersetOf({"ll128", "tree", "min-ctas-32"}));
}

TEST(TuningPlan, TakesOperationsSizesAndLaunchesThatAreAskedFor) {
  RunOptions options = tuned();
  options.backend = BackendKind::mpi;
  options.operations = {OperationKind::send_recv, OperationKind::alltoall};
  options.sizes = parse_sizes("1M,4M");
  options.launches = 3;
  const RunPlan plan = make_plan(options, with_gpus(0));
  EXPECT_EQ(plan.race->confirming, 3);
  EXPECT_EQ(plan.cases.size(), 4U);
  EXPECT_THAT(names_of(plan.variants), Contains("nvl-chunks-2M"));
  EXPECT_THAT(names_of(plan.variants), Not(Contains("ll128")));
}

TEST(TuningPlan, LeavesTreesToAllReduces) {
  const std::vector<OperationKind> two{OperationKind::all_reduce, OperationKind::all_gather};
  EXPECT_THAT(names_of(tuning_variants(two, {})), Not(Contains("tree")));
}

TEST(TuningPlan, RacesWithoutWhatTheCallerSetsForSpeed) {
  const Environment caller{{"NCCL_PROTO", "Simple"},     {"NCCL_MAX_CTAS", "4"},
                           {"NCCL_P2P_DISABLE", "1"},     // decides about the path
                           {"NCCL_BUFFSIZE", "4194304"},  // as NCCL has it anyway
                           {"NCCL_DEBUG", "INFO"},       {"CUDA_LAUNCH_BLOCKING", "1"}};
  const auto variants = tuning_variants({OperationKind::all_reduce}, caller);
  EXPECT_EQ(variants[1].name, "unset");
  EXPECT_THAT(variants[1].unset, ElementsAre("NCCL_MAX_CTAS", "NCCL_PROTO"));
  const ScopedEnvironment set("NCCL_PROTO", "Simple");
  EXPECT_THAT(make_plan(tuned(), with_gpus(2)).variants[1].unset, ElementsAre("NCCL_PROTO"));
}

TEST(TuningPlan, RefusesWhatContradictsIt) {
  Situations refusals;
  const auto refuse = [&](const std::string& what, const auto& change) {
    RunOptions options = tuned();
    change(options);
    const Refusal found = refusal(options);
    EXPECT_EQ(found.exit_code, ExitCode::usage) << what;
    refusals.add(what, found.text + "\n-> " + found.advice);
  };
  refuse("--variant", [](RunOptions& options) { options.variants = {"p2p"}; });
  refuse("--profile", [](RunOptions& options) { options.profile = Profile::quick; });
  refuse("--kernels", [](RunOptions& options) { options.kernels = true; });
  refuse("--budget", [](RunOptions& options) { options.budget = Seconds{60}; });
  refuse("--ci-width", [](RunOptions& options) { options.ci_width = 0.01; });
  refuse("--launches 1", [](RunOptions& options) { options.launches = 1; });
  refuse("both kinds of operations", [](RunOptions& options) {
    options.operations = {OperationKind::all_reduce, OperationKind::send_recv};
  });
  refuse("a training",
         [](RunOptions& options) { options.operations = {OperationKind::gpt2_step}; });
  refusals.expect_golden("refused_tunings.txt");
}

}  // namespace
}  // namespace linkgain::test
