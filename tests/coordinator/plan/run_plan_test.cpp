#include "linkgain/plan/run_plan.hpp"

#include <gmock/gmock.h>

#include <set>
#include <utility>

#include "linkgain/gpt2/training_strategy.hpp"
#include "support/golden.hpp"
#include "support/run_plan_support.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(MakePlan, DecidesEverythingWhereNothingIsAsked) {
  const RunPlan plan = make_plan({}, with_gpus(4));
  EXPECT_EQ(plan.backend, BackendKind::nccl);
  EXPECT_EQ(plan.ranks, 4);
  EXPECT_EQ(plan.launches, 6);
  EXPECT_EQ(plan.schedule, Schedule::paired);
  EXPECT_FALSE(plan.budget);
  EXPECT_EQ(plan.profile, "default");
  EXPECT_EQ(plan.cases.size(), 39U);
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
  options.launch_modes = {LaunchChoice::graph};
  options.in_place = true;
  options.gpus = {3, 1};
  options.variants = {"ring:NCCL_ALGO=Ring", "p2p"};
  options.budget = Seconds{60};
  options.launches = 2;
  options.ci_width = 0.02;
  options.timeout = Seconds{30};
  const RunPlan plan = make_plan(options, with_gpus(4));
  ASSERT_EQ(plan.cases.size(), 1U);
  EXPECT_EQ(case_name(plan.cases[0]), "all_reduce/int8/max/1MiB/np2/inplace/graph");
  EXPECT_THAT(plan.gpus, ElementsAre(3, 1));
  EXPECT_EQ(plan.variants[0].name, "ring");
  EXPECT_EQ(plan.budget, Seconds{60});
  EXPECT_EQ(plan.launches, 2);
  EXPECT_EQ(plan.ci_width, 0.02);
  EXPECT_EQ(plan.timeout, Seconds{30});
}

TEST(MakePlan, TrainsUnlessSizesWereAskedFor) {
  RunOptions options;
  EXPECT_TRUE(make_plan(options, with_gpus(2)).cases.front().training.has_value());
  options.sizes = {Bytes{1024}};
  for (const Case& c : make_plan(options, with_gpus(2)).cases) EXPECT_FALSE(c.training.has_value());
  options.operations = {OperationKind::gpt2_step, OperationKind::all_reduce};
  EXPECT_TRUE(make_plan(options, with_gpus(2)).cases.front().training.has_value());
}

TEST(MakePlan, PutsNothingInADecoderThatWasAskedForOtherwise) {
  const auto in_decoder = [](const RunOptions& options) {
    return std::ranges::count_if(make_plan(options, with_gpus(2)).cases,
                                 [](const Case& each) { return each.hidden != 0; });
  };
  RunOptions options;
  EXPECT_EQ(in_decoder(options), 5 + 5);
  options.kernels = true;
  EXPECT_EQ(in_decoder(options), 5 + 5 + 5);
  options.sizes = {Bytes{1 << 20}};
  EXPECT_EQ(in_decoder(options), 0);
  options = {};
  options.types = {DataType::float16};
  EXPECT_EQ(in_decoder(options), 0);
  options = {};
  options.reductions = {Reduction::max};
  EXPECT_EQ(in_decoder(options), 0);
  options = {};
  options.in_place = true;
  EXPECT_EQ(in_decoder(options), 0);
  options = {};
  options.operations = {OperationKind::all_reduce};
  EXPECT_EQ(in_decoder(options), 0);
  options.profile = Profile::inference;
  EXPECT_GT(in_decoder(options), 0);
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
  EXPECT_EQ(case_name(plan.cases.front()), "all_gather/float32/16B/np2/graph/symmetric");
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

TEST(ChooseBackend, NeverFallsBackToMpi) {
  RunOptions asked;
  asked.backend = BackendKind::nccl;
  RunOptions gpus;
  gpus.gpus = {0, 1};
  for (const RunOptions& options : {RunOptions(), asked, gpus}) {
    Refusal found = refusal(options, with_gpus(1));
    EXPECT_EQ(found.exit_code, ExitCode::machine_cannot);
    EXPECT_THAT(found.text, HasSubstr(with_gpus(1).no_gpus_reason));
    EXPECT_THAT(found.advice, HasSubstr("--backend mpi"));
    found = refusal(options, without_nccl());
    EXPECT_EQ(found.exit_code, ExitCode::machine_cannot);
    EXPECT_THAT(found.text, HasSubstr(without_nccl().nccl_missing));
    EXPECT_THAT(found.advice, HasSubstr("--backend mpi"));
  }
}

TEST(ChooseVariants, TakesOneAlone) {
  RunOptions options;
  options.variants = {"host"};
  EXPECT_EQ(make_plan(options, with_gpus(2)).variants.size(), 1U);
}

TEST(ChooseBackend, OfGpusCanBeShownToBeHealthy) {
  RunOptions options;
  options.require_healthy = true;
  EXPECT_NO_THROW(make_plan(options, with_gpus(2)));
}

TEST(Launches, AreAddedByDefaultAndQuickOnlyWhereItIsAskedFor) {
  RunOptions options;
  EXPECT_FALSE(make_plan(options, with_gpus(2)).adds_launches);
  options.profile = Profile::node;
  EXPECT_TRUE(make_plan(options, with_gpus(2)).adds_launches);
  options.profile = Profile::quick;
  EXPECT_FALSE(make_plan(options, with_gpus(2)).adds_launches);
  options.ci_width = 0.01;
  EXPECT_TRUE(make_plan(options, with_gpus(2)).adds_launches);
  options.ci_width.reset();
  options.budget = Seconds{60.0};
  EXPECT_TRUE(make_plan(options, with_gpus(2)).adds_launches);
}

TEST(Selections, LeaveOutCopiesThatCannotBe) {
  RunOptions options;
  options.sizes = {Bytes{4}};
  EXPECT_EQ(make_plan(options, with_gpus(2)).cases.size(), 2U) << "all_reduce and send_recv";
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

/// Needs no MPI for GPUs of this host.
TEST(ChooseLauncher, TakesMpirunWhereMpiIsNeededAndWhatIsNamed) {
  const auto chosen = [](const RunOptions& options, const Site& site) {
    return make_plan(options, site).launcher;
  };
  const Site site = with_gpus(2);
  EXPECT_EQ(chosen({}, site), "local");
  RunOptions options;
  options.launcher = "/opt/openmpi/bin/mpiexec";
  EXPECT_EQ(chosen(options, site), options.launcher);
  options = {};
  options.backend = BackendKind::mpi;
  EXPECT_EQ(chosen(options, site), "mpirun");
  options.launcher = "local";
  EXPECT_THAT(usage_error(options, site), HasSubstr("--launcher local"));
  options = {};
  options.hostfile = "hosts";
  Site hosts = site;
  hosts.hostfile = Hosts{2, 4};
  EXPECT_EQ(chosen(options, hosts), "mpirun");
  options.launcher = "local";
  EXPECT_THAT(usage_error(options, hosts), HasSubstr("--hostfile"));
  for (const int nodes : {1, 2}) {
    Site allocated = site;
    allocated.allocation = Hosts{nodes, std::nullopt};
    EXPECT_EQ(chosen({}, allocated), nodes == 1 ? "local" : "mpirun") << nodes;
  }
}

/// Allows for older ones, which may know no other way.
TEST(ChooseLauncher, TakesMpirunForWorkersOfOtherBuilds) {
  RunOptions options;
  options.variants = {"new:worker=/bin/true", "old:worker=/bin/true,NCCL_ALGO=Ring"};
  Site site = with_gpus(2);
  site.has_nccl = false;
  EXPECT_EQ(make_plan(options, site).launcher, "mpirun") << "nor is NCCL of this build needed";
  options.variants.front() = "new:NCCL_ALGO=Tree";
  EXPECT_EQ(refusal(options, site).exit_code, ExitCode::machine_cannot);
}

RunOptions of_training() {
  RunOptions options;
  options.operations = {OperationKind::gpt2_step};
  return options;
}

TEST(ChooseTraining, TakesTheTokensThatItIsGiven) {
  RunOptions options = of_training();
  options.steps = 60;
  options.tokens = "/data/tokens.bin";
  options.token_facts = {.count = 1'000'000, .largest = 50'256, .digest = "0123"};
  const RunPlan plan = make_plan(options, with_gpus(2));
  ASSERT_TRUE(plan.training);
  EXPECT_EQ(plan.training->steps, 60);
  EXPECT_EQ(plan.training->tokens, "/data/tokens.bin");
  EXPECT_EQ(plan.training->tokens_digest, "0123");
  options.steps.reset();
  EXPECT_EQ(make_plan(options, with_gpus(2)).training->steps, TrainingPlan{}.steps);
  EXPECT_FALSE(make_plan(of_sizes("1M"), with_gpus(2)).training);
}

TEST(ChooseTraining, DividesItsBlocksAmongLaunches) {
  RunOptions options = of_training();
  options.steps = 130;
  RunPlan plan = make_plan(options, with_gpus(2));
  const Case& training = plan.cases.front();
  const auto rounds = [&](int launches) {
    std::vector<int> all;
    for (int launch = 0; launch < launches; ++launch) {
      all.push_back(rounds_in_launch(plan, training, launch, launches));
    }
    return all;
  };
  EXPECT_THAT(rounds(6), ElementsAre(3, 2, 2, 2, 2, 2));
  EXPECT_THAT(rounds(3), ElementsAre(3, 5, 5)) << "as few launches as the budget holds";
  EXPECT_EQ(rounds_in_launch(plan, make_plan(of_sizes("1M"), with_gpus(2)).cases.front(), 0, 6),
            kRoundsPerLaunch);
}

/// Plans a soak of one size, on two GPUs, for `seconds`.
RunPlan soak(double seconds, std::optional<int> launches = {}) {
  RunOptions options = of_sizes("1M");
  options.profile = Profile::soak;
  options.operations = {OperationKind::all_reduce};
  options.budget = Seconds{seconds};
  options.launches = launches;
  return make_plan(options, with_gpus(2));
}

TEST(Soak, HasALaunchEachMinuteAndLongerSamplesInALongerBudget) {
  EXPECT_EQ(soak(60.0).launches, 8);
  EXPECT_EQ(soak(3600.0).launches, 60);
  EXPECT_EQ(soak(8 * 3600.0).launches, 240);
  EXPECT_EQ(soak(3600.0, 12).launches, 12);
  EXPECT_GT(soak(8 * 3600.0).sample_target.value, soak(60.0).sample_target.value);
  EXPECT_EQ(launches_at_once(soak(3600.0)), 1);
  EXPECT_EQ(launches_at_once(make_plan(of_sizes("1M"), with_gpus(2))), 6);
}

TEST(FitRanks, LeavesOutOrRefusesStrategiesThatCannotShareTheParametersOut) {
  RunOptions options = of_training();
  options.profile = Profile::full;
  const RunPlan plan = make_plan(options, with_gpus(7));
  ASSERT_FALSE(plan.warnings.empty());
  EXPECT_EQ(plan.warnings.front().code, "left-out");
  for (const Case& c : plan.cases) {
    if (!c.training) continue;
    EXPECT_NO_THROW(require_equal_shards(*c.training, c.ranks)) << case_name(c);
  }
  options.training.strategies = {TrainingStrategy::zero3};
  EXPECT_THAT(usage_error(options, with_gpus(7)), HasSubstr("ranks"));
}

TEST(FitTrainings, LeavesOutOrRefusesBfloat16WhereTheGpusLackIt) {
  Site turing = with_gpus(2);
  turing.gpu_name = "NVIDIA TITAN RTX";
  turing.architectures = {75, 75};
  const auto precisions = [](const RunPlan& plan) {
    std::set<TrainingPrecision> found;
    for (const Case& c : plan.cases) {
      if (c.training) found.insert(c.training->precision);
    }
    return found;
  };
  const RunPlan plan = make_plan({}, turing);
  EXPECT_THAT(precisions(plan), ElementsAre(TrainingPrecision::fp32));
  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_EQ(plan.warnings[0].code, "left-out");
  EXPECT_THAT(plan.warnings[0].text, HasSubstr("NVIDIA TITAN RTX (sm_75)"));
  turing.architectures = {80, 80};
  EXPECT_THAT(precisions(make_plan({}, turing)),
              UnorderedElementsAre(TrainingPrecision::fp32, TrainingPrecision::bf16));
  turing.architectures = {75, 75};
  RunOptions asked;
  asked.training.precisions = {TrainingPrecision::bf16};
  EXPECT_THAT(usage_error(asked, turing), HasSubstr("sm_75"));
  Site mixed = with_gpus(3);
  mixed.architectures = {90, 75, 90};
  EXPECT_THAT(usage_error(asked, mixed), HasSubstr("GPU 1 (sm_75)"));
  asked.gpus = {0, 2};
  EXPECT_NO_THROW(make_plan(asked, mixed)) << "of the GPUs that are used";
}

TEST(FitTrainings, RefusesForAPrecisionNoStrategyOfAProfile) {
  RunOptions options = of_training();
  options.profile = Profile::full;
  options.training.precisions = {TrainingPrecision::bf16};
  const RunPlan plan = make_plan(options, with_gpus(7));
  ASSERT_FALSE(plan.warnings.empty());
  EXPECT_EQ(plan.warnings.front().code, "left-out");
}

/// Prints what is refused with these options for a golden.
std::string refused(const std::string& situation, const RunOptions& options,
                    const Site& site = with_gpus(4)) {
  const Refusal found = refusal(options, site);
  const std::string advice = found.advice.empty() ? "" : "    " + found.advice + "\n";
  return situation + " -> exit " + std::to_string(static_cast<int>(found.exit_code)) + "\n    " +
         found.text + "\n" + advice;
}

template <typename Change>
RunOptions options_with(Change change) {
  RunOptions options;
  change(options);
  return options;
}

TEST(MakePlan, SaysWhatItRefuses) {
  using Options = RunOptions&;
  std::string text;
  const auto add = [&](const std::string& situation, const auto& change) {
    text += refused(situation, options_with(change));
  };
  const RunOptions on_gpus = options_with([](Options o) { o.backend = BackendKind::nccl; });
  const RunOptions healthy = options_with([](Options o) { o.require_healthy = true; });
  text += refused("NCCL with one GPU", on_gpus, with_gpus(1));
  text += refused("NCCL without its backend", on_gpus, without_nccl());
  text += refused("a healthy run with one GPU", healthy, with_gpus(1));
  add("a healthy run by MPI", [](Options o) {
    o.require_healthy = true;
    o.backend = BackendKind::mpi;
  });
  add("a training of some size", [](Options o) {
    o.operations = {OperationKind::gpt2_step};
    o.sizes = {Bytes{1024}};
  });
  add("a copy of 4 B", [](Options o) {
    o.operations = {OperationKind::copy_push};
    o.sizes = {Bytes{4}};
  });
  add("6 B", [](Options o) { o.sizes = {Bytes{6}}; });
  add("float16 by MPI", [](Options o) {
    o.backend = BackendKind::mpi;
    o.types = {DataType::float16};
  });
  add("a pair without a pattern", [](Options o) {
    o.operations = {OperationKind::send_recv};
    o.pair = Pair{0, 1, false};
  });
  add("a pair that is not there", [](Options o) {
    o.profile = Profile::full;
    o.pair = Pair{0, 7, false};
  });
  add("a variant without a name", [](Options o) { o.variants = {":NCCL_ALGO=Ring"}; });
  add("two variants of one name", [](Options o) { o.variants = {"p2p", "p2p"}; });
  add("an unknown variant", [](Options o) { o.variants = {"p2"}; });
  add("an unknown launcher", [](Options o) { o.launcher = "mpirum"; });
  add("srun without an allocation", [](Options o) { o.launcher = "srun"; });
  add("a GPU that is not there", [](Options o) { o.gpus = {0, 4}; });
  add("a GPU twice", [](Options o) { o.gpus = {1, 1}; });
  add("one GPU", [](Options o) { o.gpus = {1}; });
  add("GPUs by MPI", [](Options o) {
    o.gpus = {0, 1};
    o.backend = BackendKind::mpi;
  });
  add("too many ranks", [](Options o) { o.ranks = 5; });
  add("no launch", [](Options o) { o.launches = 0; });
  text += refused("the default with one GPU", {}, with_gpus(1));
  text += refused("the default without the nccl backend", {}, without_nccl());
  Site old_driver = with_gpus(4);
  old_driver.built_cuda = "13.0";
  old_driver.driver_cuda = "12.4";
  text += refused("a driver of an older CUDA", {}, old_driver);
  expect_golden(text, "refused_plans.txt");
}

TEST(ChooseTraining, SaysWhatItRefuses) {
  using Options = RunOptions&;
  std::string text;
  const auto add = [&](const std::string& situation, RunOptions options, const auto& change) {
    change(options);
    text += refused(situation, options);
  };
  add("steps without a training", of_sizes("1K"), [](Options o) { o.steps = 100; });
  add("steps and tokens without one", of_sizes("1K"), [](Options o) {
    o.steps = 100;
    o.tokens = "tokens.bin";
  });
  add("too few steps", of_training(), [](Options o) { o.steps = 5; });
  add("steps that are no multiple of ten", of_training(), [](Options o) { o.steps = 105; });
  add("too few steps for all launches", of_training(), [](Options o) { o.steps = 20; });
  add("too few tokens", of_training(), [](Options o) {
    o.tokens = "tokens.bin";
    o.token_facts = {.count = 10, .largest = 9, .largest_at = 9};
  });
  add("tokens that the model does not know", of_training(), [](Options o) {
    o.tokens = "tokens.bin";
    o.token_facts = {.count = 1'000'000, .largest = 60'000, .largest_at = 12};
  });
  expect_golden(text, "refused_trainings.txt");
}

TEST(ChooseRanks, KeepsNpWithinTheGpus) {
  const auto with_np = [](int ranks) {
    RunOptions options;
    options.ranks = ranks;
    return options;
  };
  EXPECT_EQ(make_plan(with_np(2), with_gpus(4)).ranks, 2);
  EXPECT_EQ(make_plan(with_np(4), with_gpus(4)).ranks, 4);
  EXPECT_EQ(usage_error(with_np(5)), "--np 5 is outside 2 to 4");
  for (const int ranks : {-1, 0, 1, 9}) {  // on no machine
    EXPECT_EQ(usage_error(with_np(ranks)), "--np " + std::to_string(ranks) + " is outside 2 to 8");
  }
  RunOptions on_cpus = with_np(1);
  on_cpus.backend = BackendKind::mpi;
  EXPECT_EQ(usage_error(on_cpus), "--np 1 is outside 2 to 1024");
  on_cpus.ranks = 1024;
  on_cpus.sizes = {Bytes{8}};
  Site large = with_gpus(0);
  large.host_memory_bytes.reset();
  EXPECT_EQ(make_plan(on_cpus, large).ranks, 1024);
  RunOptions listed = with_np(3);
  listed.gpus = {0, 1};
  EXPECT_EQ(usage_error(listed), "--np 3 is outside 2 to 2");
}

TEST(ChooseRanks, WithAHostfileGpusOfOtherHostsCount) {
  RunOptions options;
  options.hostfile = "hosts";
  Site site = with_gpus(4);
  site.hostfile = Hosts{3, std::nullopt};
  EXPECT_EQ(make_plan(options, site).ranks, 12) << "as many on each as there are here";
  EXPECT_EQ(make_plan(options, site).hosts, 3);
  site.hostfile->slots = 10;
  EXPECT_EQ(make_plan(options, site).ranks, 10);
  options.ranks = 16;
  EXPECT_EQ(make_plan(options, site).ranks, 16);
  options.ranks = 1025;
  EXPECT_EQ(usage_error(options, site), "--np 1025 is outside 2 to 1024");
  options.ranks = 2;
  options.gpus = {6, 7};
  EXPECT_EQ(make_plan(options, site).gpus, options.gpus) << "other hosts may have more";
}

TEST(ChooseRanks, WithSrunTheAllocationCounts) {
  RunOptions options;
  options.launcher = "srun";
  EXPECT_THAT(usage_error(options), HasSubstr("Slurm"));
  Site site = with_gpus(8);
  site.allocation = Hosts{2, std::nullopt};
  EXPECT_EQ(make_plan(options, site).ranks, 16);
  site.allocation->slots = 4;
  EXPECT_EQ(make_plan(options, site).ranks, 4);
  options.hostfile = "hosts";
  EXPECT_THAT(usage_error(options, site), HasSubstr("--hostfile"));
}

TEST(ChooseRanks, MpirunWithoutAHostfileStaysHereInAnAllocation) {
  Site site = with_gpus(4);
  site.allocation = Hosts{2, 16};
  const RunPlan plan = make_plan({}, site);
  EXPECT_EQ(plan.ranks, 4);
  EXPECT_EQ(plan.hosts, 1);
}

TEST(ChooseRanks, ALoginNodeNeedsNoGpuItself) {
  RunOptions options;
  options.launcher = "srun";
  options.backend = BackendKind::nccl;
  options.ranks = 16;
  Site site = with_gpus(0);
  RunOptions here;
  here.backend = BackendKind::nccl;
  EXPECT_EQ(refusal(here, site).exit_code, ExitCode::machine_cannot);
  site.allocation = Hosts{2, std::nullopt};
  EXPECT_EQ(make_plan(options, site).ranks, 16);
  options.backend.reset();
  EXPECT_EQ(make_plan(options, site).backend, BackendKind::nccl) << "the nodes have GPUs";
}

TEST(ChooseRanks, OfMpiAreTheSlotsOrOneAHost) {
  RunOptions options;
  options.backend = BackendKind::mpi;
  options.hostfile = "hosts";
  Site site = with_gpus(0);
  site.hostfile = Hosts{1, std::nullopt};
  EXPECT_EQ(make_plan(options, site).ranks, 2);
  site.hostfile = Hosts{3, std::nullopt};
  const RunPlan plan = make_plan(options, site);
  EXPECT_EQ(plan.ranks, 3);
  EXPECT_EQ(plan.variants[0].environment.at("OMPI_MCA_btl"), "self,vader,tcp");
  site.hostfile->slots = 6;
  EXPECT_EQ(make_plan(options, site).ranks, 6);
}

TEST(ChooseRanks, RefusesGpusThatAreNotThere) {
  const auto with_list = [](std::vector<int> gpus) {
    RunOptions options;
    options.gpus = std::move(gpus);
    return options;
  };
  EXPECT_THAT(usage_error(with_list({0, 4})), HasSubstr("--gpus 4"));
  EXPECT_THAT(refusal(with_list({0, 4})).advice, HasSubstr("0 to 3"));
  EXPECT_THAT(usage_error(with_list({1, 1})), HasSubstr("GPU 1"));
  EXPECT_THAT(usage_error(with_list({1})), HasSubstr("--gpus"));
  RunOptions on_cpus = with_list({0, 1});
  on_cpus.backend = BackendKind::mpi;
  EXPECT_THAT(usage_error(on_cpus), HasSubstr("--gpus"));
}

}  // namespace
}  // namespace linkgain::test
