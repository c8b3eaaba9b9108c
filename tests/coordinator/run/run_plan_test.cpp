#include "linkgain/run/run_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/run_plan_support.hpp"

namespace linkgain {
namespace {

using test::of_sizes;
using test::Refusal;
using test::refusal;
using test::usage_error;
using test::with_gpus;
using test::without_nccl;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(MakePlan, DecidesEverythingWhereNothingIsAsked) {
  const RunPlan plan = make_plan({}, with_gpus(4));
  EXPECT_EQ(plan.backend, BackendKind::nccl);
  EXPECT_EQ(plan.ranks, 4);
  EXPECT_EQ(plan.launches, 1);
  EXPECT_FALSE(plan.sequential);
  EXPECT_FALSE(plan.budget);
  EXPECT_EQ(plan.profile, "default");
  EXPECT_EQ(plan.cases.size(), 27U);
  EXPECT_EQ(plan.cases[0].ranks, 4);
  ASSERT_EQ(plan.variants.size(), 2U);
  EXPECT_EQ(plan.variants[0].name, "p2p");
  EXPECT_EQ(plan.variants[1].name, "host");
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(MakePlan, TakesAtMostEightGpusByItself) { EXPECT_EQ(make_plan({}, with_gpus(16)).ranks, 8); }

TEST(MakePlan, TakesWhatIsAskedFor) {
  RunOptions options = of_sizes("1M");
  options.profile = Profile::node;
  options.operations = {OperationKind::all_reduce};
  options.types = {DataType::int8};
  options.reductions = {Reduction::max};
  options.launch_modes = {LaunchMode::graph};
  options.in_place = true;
  options.gpus = {3, 1};
  options.variants = {"ring:NCCL_ALGO=Ring", "p2p"};
  options.budget = Seconds{60};
  options.launches = 2;
  options.precision = 0.02;
  options.deadline = Seconds{30};
  const RunPlan plan = make_plan(options, with_gpus(4));
  ASSERT_EQ(plan.cases.size(), 1U);
  EXPECT_EQ(case_name(plan.cases[0]), "all_reduce/int8/max/1MiB/np2/inplace/graph");
  EXPECT_THAT(plan.gpus, ElementsAre(3, 1));
  EXPECT_EQ(plan.variants[0].name, "ring");
  EXPECT_EQ(plan.budget, Seconds{60});
  EXPECT_EQ(plan.launches, 2);
  EXPECT_EQ(plan.precision, 0.02);
  EXPECT_EQ(plan.deadline, Seconds{30});
}

TEST(MakePlan, TrainsUnlessSizesWereAskedFor) {
  RunOptions options;
  EXPECT_TRUE(make_plan(options, with_gpus(2)).cases.front().training.has_value());
  options.sizes = {Bytes{1024}};
  for (const Case& c : make_plan(options, with_gpus(2)).cases) EXPECT_FALSE(c.training.has_value());
  options.operations = {OperationKind::gpt2_step, OperationKind::all_reduce};
  EXPECT_TRUE(make_plan(options, with_gpus(2)).cases.front().training.has_value());
  options.operations = {OperationKind::gpt2_step};
  EXPECT_THAT(usage_error(options), HasSubstr("--sizes goes with operations that have one"));
}

TEST(MakePlan, TakesAnOperationThatTheProfileLeavesOutFromTheDefault) {
  RunOptions options;
  options.profile = Profile::quick;
  options.operations = {OperationKind::send_recv};
  EXPECT_EQ(make_plan(options, with_gpus(2)).cases.size(), 8U);
}

TEST(MakePlan, MeasuresAnOperationOfNoProfileAtItsUsualSizes) {
  RunOptions options;
  options.operations = {OperationKind::all_gather, OperationKind::broadcast};
  options.roots = {1};
  options.buffers = {Buffers::symmetric};
  const RunPlan plan = make_plan(options, with_gpus(2));
  ASSERT_EQ(plan.cases.size(), 14U + 14U);
  EXPECT_EQ(case_name(plan.cases.front()), "all_gather/float32/16B/np2/symmetric");
  EXPECT_EQ(case_name(plan.cases.back()), "broadcast/float32/1GiB/np2/symmetric/root=1");
}

TEST(ChooseBackend, IsNcclWhereThereAreTwoGpus) {
  EXPECT_EQ(make_plan({}, with_gpus(2)).backend, BackendKind::nccl);
  RunOptions options;
  options.backend = BackendKind::mpi;
  const RunPlan asked = make_plan(options, with_gpus(2));
  EXPECT_EQ(asked.backend, BackendKind::mpi);
  EXPECT_EQ(asked.variants[0].name, "shared-memory");
  EXPECT_THAT(asked.warnings, IsEmpty()) << "it was asked for";
}

TEST(ChooseBackend, FallsBackToMpiAndSaysWhy) {
  const RunPlan one_gpu = make_plan({}, with_gpus(1));
  EXPECT_EQ(one_gpu.backend, BackendKind::mpi);
  EXPECT_EQ(one_gpu.ranks, 2);
  ASSERT_EQ(one_gpu.warnings.size(), 1U);
  EXPECT_EQ(one_gpu.warnings[0].code, "mpi-backend");
  EXPECT_THAT(one_gpu.warnings[0].text, HasSubstr("not GPUs: there is one GPU"));
  const RunPlan no_build = make_plan({}, without_nccl());
  EXPECT_THAT(no_build.warnings.at(0).text, HasSubstr("no nccl backend: nccl.h was not found"));
}

TEST(ChooseBackend, DoesNotFallBackFromWhatWasAskedFor) {
  RunOptions options;
  options.backend = BackendKind::nccl;
  Refusal found = refusal(options, with_gpus(1));
  EXPECT_EQ(found.exit_code, ExitCode::machine_cannot);
  EXPECT_THAT(found.text, HasSubstr("needs two GPUs: there is one GPU"));
  EXPECT_THAT(found.advice, HasSubstr("nvidia-smi"));
  found = refusal(options, without_nccl());
  EXPECT_EQ(found.exit_code, ExitCode::machine_cannot);
  EXPECT_THAT(found.text, HasSubstr("nccl.h was not found"));
  EXPECT_THAT(found.advice, HasSubstr("install"));
  RunOptions gpus;
  gpus.gpus = {0, 1};
  EXPECT_EQ(refusal(gpus, without_nccl()).exit_code, ExitCode::machine_cannot);
}

TEST(ChooseVariants, RefusesWhatCannotBeMeant) {
  const auto with_variants = [](std::vector<std::string> variants) {
    RunOptions options;
    options.variants = std::move(variants);
    return options;
  };
  EXPECT_THAT(usage_error(with_variants({":NCCL_ALGO=Ring"})), HasSubstr("has no name"));
  EXPECT_EQ(usage_error(with_variants({"p2p", "p2p"})), "two variants are named 'p2p'");
  EXPECT_THAT(usage_error(with_variants({"p2"})), HasSubstr("did you mean p2p?"));
  EXPECT_EQ(make_plan(with_variants({"host"}), with_gpus(2)).variants.size(), 1U);
}

TEST(ChooseBackend, OfMpiCannotBeShownToBeHealthy) {
  RunOptions options;
  options.require_healthy = true;
  EXPECT_NO_THROW(make_plan(options, with_gpus(2)));
  EXPECT_THAT(usage_error(options, with_gpus(1)), HasSubstr("--require-healthy goes with"));
  options.backend = BackendKind::mpi;
  EXPECT_THAT(usage_error(options, with_gpus(2)), HasSubstr("--require-healthy goes with"));
  EXPECT_THAT(refusal(options).advice, HasSubstr("leave --require-healthy away"));
}

TEST(Ranges, AreNamed) {
  RunOptions options;
  options.launches = 0;
  EXPECT_EQ(usage_error(options), "--launches 0 is outside 1 to 1000");
  options = {};
  options.precision = 0.9;
  EXPECT_EQ(usage_error(options), "--precision 0.9 is outside 0.0001 to 0.5");
  options.precision = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(usage_error(options), HasSubstr("--precision nan"));
  options = {};
  options.deadline = Seconds{0};
  EXPECT_EQ(usage_error(options), "--deadline 0 is outside 1 to 86400");
  options = {};
  options.budget = Seconds{-5};
  EXPECT_EQ(usage_error(options), "--budget -5 is outside 1 to 604800");
}

TEST(Selections, CopiesThatWereAskedForAreRefusedWhereTheyCannotBe) {
  RunOptions options;
  options.sizes = {Bytes{4}};
  EXPECT_EQ(make_plan(options, with_gpus(2)).cases.size(), 2U) << "all_reduce and send_recv";
  options.operations = {OperationKind::copy_push};
  EXPECT_THAT(usage_error(options), HasSubstr("no multiple of the 16 bytes of copy_push"));
}

TEST(Selections, HaveMoreThanAProfilesTasteOfWhatIsNamed) {
  const auto cases_of = [](OperationKind operation, Profile profile) {
    RunOptions options;
    options.profile = profile;
    options.operations = {operation};
    return make_plan(options, with_gpus(2)).cases.size();
  };
  for (const Profile profile : {Profile::quick, Profile::standard}) {
    EXPECT_EQ(cases_of(OperationKind::copy_push, profile),
              cases_of(OperationKind::copy_pull, profile));
    EXPECT_GT(cases_of(OperationKind::latency, profile), 1U) << "8 B are the taste";
  }
  EXPECT_GT(cases_of(OperationKind::copy_push, Profile::full),
            cases_of(OperationKind::copy_push, Profile::standard));
}

TEST(Selections, RefuseAPairWithoutAPattern) {
  RunOptions options;
  options.operations = {OperationKind::send_recv};
  options.pair = Pair{0, 1, false};
  EXPECT_THAT(usage_error(options), HasSubstr("--pair goes with ping_pong"));
  options.patterns = {Pattern::one_way};
  EXPECT_EQ(case_name(make_plan(options, with_gpus(2)).cases.back()),
            "send_recv/float32/1GiB/np2/pair=0-1");
  options.operations = {OperationKind::all_reduce};
  EXPECT_THAT(usage_error(options), HasSubstr("--pair goes with ping_pong"));
  options = {};
  options.profile = Profile::full;
  options.pair = Pair{1, 0, false};
  EXPECT_NO_THROW(make_plan(options, with_gpus(2)));
  options.pair = Pair{0, 7, false};
  EXPECT_THAT(usage_error(options), HasSubstr("0 to 3"));
}

TEST(Selections, RefuseWhatTheBackendLacks) {
  RunOptions options;
  options.backend = BackendKind::mpi;
  options.types = {DataType::float16};
  EXPECT_EQ(usage_error(options), "the mpi backend has no type float16");
  EXPECT_THAT(usage_error(of_sizes("6")), HasSubstr("no multiple of the 4 bytes"));
}

TEST(MakePlan, KnowsOpenMpisLauncherOnly) {
  RunOptions options;
  options.launcher = "/opt/openmpi/bin/mpiexec";
  EXPECT_EQ(make_plan(options, with_gpus(2)).ranks, 2);
  options.launcher = "mpirum";
  const Refusal found = refusal(options);
  EXPECT_THAT(found.text, HasSubstr("did you mean mpirun?"));
}

}  // namespace
}  // namespace linkgain
