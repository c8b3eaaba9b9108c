#include <gmock/gmock.h>

#include <initializer_list>
#include <string>

#include "linkgain/cases/option_parsers.hpp"
#include "linkgain/plan/run_plan.hpp"
#include "support/golden.hpp"
#include "support/run_plan_support.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// Has plenty of everything.
Site roomy() {
  Site site;
  site.gpus = 4;
  site.has_nccl = true;
  site.gpu_memory_bytes = 140 * kGiB;
  site.free_gpu_memory.assign(4, 139 * kGiB);
  site.host_memory_bytes = 1024 * kGiB;
  site.shared_memory_bytes = 64 * kGiB;
  site.processes = 10000;
  site.processors = 64;
  return site;
}

RunOptions pair_of_size(std::string_view size) {
  RunOptions options;
  options.operations = {OperationKind::all_reduce};
  options.sizes = parse_sizes(size);
  options.ranks = 2;
  return options;
}

TEST(LaunchGroups, AreNotNeededWhereAllFit) {
  const RunPlan plan = make_plan(pair_of_size("1G"), roomy());
  EXPECT_FALSE(plan.launches_at_once);
  EXPECT_TRUE(plan.warnings.empty());
  EXPECT_EQ(plan.launches, 6);
}

TEST(LaunchGroups, AreAsLargeAsFreeGpuMemoryAllows) {
  const auto at_once = [](std::string_view size, std::int64_t free) {
    Site site = roomy();
    site.free_gpu_memory.assign(4, free);
    return make_plan(pair_of_size(size), site).launches_at_once.value_or(6);
  };
  // Twelve jobs of 1.5 GiB, and what two of them have open.
  EXPECT_EQ(at_once("1G", 22 * kGiB), 6);
  EXPECT_EQ(at_once("1G", 22 * kGiB - 1), 3) << "five fit, and groups are alike";
  EXPECT_EQ(at_once("2G", 24 * kGiB), 3);
  EXPECT_EQ(at_once("4G", 24 * kGiB), 2);
  EXPECT_EQ(at_once("4G", 19 * kGiB), 1);
}

TEST(LaunchGroups, OfJobsThatAreUpTogetherFitIntoMemory) {
  for (const BackendKind backend : {BackendKind::nccl, BackendKind::mpi}) {
    for (std::int64_t free = 4 * kGiB; free <= 48 * kGiB; free += 200 * kMiB) {
      RunOptions options;
      options.backend = backend;
      Site site = roomy();
      (backend == BackendKind::nccl ? site.free_gpu_memory[0] : site.host_memory_bytes) = free;
      const RunPlan plan = make_plan(options, site);
      const JobMemory job = job_memory(plan);
      const auto variants = std::ssize(plan.variants);
      const bool together = plan.schedule == Schedule::paired;
      const auto measuring = together ? variants : 1;
      const auto waiting = together ? (launches_at_once(plan) - 1) * variants : 0;
      EXPECT_LE(measuring * job.measuring + waiting * job.waiting, free) << name_of(backend);
      EXPECT_EQ(plan.memory, free);
    }
  }
}

TEST(LaunchGroups, GoByTheGpusThatAreUsed) {
  Site site = roomy();
  site.free_gpu_memory[3] = 8 * kGiB;
  RunOptions options = pair_of_size("1M");
  EXPECT_FALSE(make_plan(options, site).launches_at_once);
  options.gpus = {0, 3};
  EXPECT_EQ(make_plan(options, site).launches_at_once, 2);
}

TEST(LaunchGroups, AreOf32JobsAtMost) {
  const auto at_once = [](int launches, int variants) {
    RunOptions options = pair_of_size("8");
    options.launches = launches;
    for (int i = 0; i < variants; ++i) {
      options.variants.push_back("v" + std::to_string(i) + ":NCCL_ALGO=Ring");
    }
    return launches_at_once(make_plan(options, roomy()));
  };
  EXPECT_EQ(at_once(8, 4), 8);
  EXPECT_EQ(at_once(9, 4), 5) << "eight would do, and groups are alike";
  EXPECT_EQ(at_once(50, 2), 13);
  EXPECT_EQ(at_once(6, 16), 2);
}

TEST(LaunchGroups, AreOfJobsWhoseStartLeavesHalfOfTheBudget) {
  const auto at_once = [](int launches, double budget) {
    RunOptions options = pair_of_size("8");
    options.launches = launches;
    options.budget = Seconds{budget};
    return launches_at_once(make_plan(options, roomy()));
  };
  EXPECT_LE(guessed_start_time(BackendKind::nccl, 12).value, 7.0);
  EXPECT_EQ(at_once(6, 14.0), 6);
  EXPECT_EQ(at_once(6, 13.0), 3);
  EXPECT_EQ(at_once(50, 2.0), 3) << "to which a budget lowers them";
  EXPECT_EQ(at_once(2, 1.0), 2);
}

TEST(LaunchGroups, AreNotMadeOfASequentialRun) {
  Site site = roomy();
  site.exclusive_compute_mode = true;
  site.processes = 1;
  const RunPlan plan = make_plan(pair_of_size("1M"), site);
  EXPECT_EQ(plan.schedule, Schedule::sequential);
  EXPECT_FALSE(plan.launches_at_once);
}

TEST(LaunchGroups, AreNoneWhereASharedMemoryHoldsNotOneJobOfEveryVariant) {
  Site site = roomy();
  site.shared_memory_bytes = 56 * kMiB;  // two jobs of two ranks, one with NCCL's segments
  EXPECT_EQ(make_plan(pair_of_size("8"), site).launches_at_once, 1);
  EXPECT_EQ(make_plan(pair_of_size("8"), site).schedule, Schedule::paired);
  *site.shared_memory_bytes -= 1;
  const RunPlan plan = make_plan(pair_of_size("8"), site);
  EXPECT_EQ(plan.schedule, Schedule::sequential);
  EXPECT_FALSE(plan.launches_at_once);
  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_EQ(plan.warnings[0].code, "sequential");
  RunOptions paired = pair_of_size("8");
  paired.schedule = Schedule::paired;
  EXPECT_EQ(make_plan(paired, site).launches_at_once, 1) << "as was asked for";
}

TEST(LaunchGroups, SayWhatIsTooLittle) {
  std::string text;
  const auto add = [&](const std::string& situation, const RunOptions& options, const Site& site) {
    const RunPlan plan = make_plan(options, site);
    text += situation + (plan.schedule == Schedule::sequential ? ": sequential\n" : ":\n");
    for (const Warning& warning : plan.warnings) {
      text += "  " + warning.code + ": " + warning.text + "\n      " + warning.advice + "\n";
    }
  };
  Site site = roomy();
  site.free_gpu_memory.assign(4, 24 * kGiB);
  add("24 GiB of each GPU", pair_of_size("8,2G"), site);
  site.gpu_memory_bytes = 25 * kGiB;
  add("nothing else on GPUs of 25 GiB", pair_of_size("8,2G"), site);
  site.free_gpu_memory.assign(4, 20 * kGiB);
  add("something else on GPUs that are too small for all", pair_of_size("8,2G"), site);
  site = roomy();
  site.host_memory_bytes = 16 * kGiB;
  add("16 GiB of the host", pair_of_size("8"), site);
  site = roomy();
  site.shared_memory_bytes = 64 * kMiB;
  add("a container's usual /dev/shm", pair_of_size("8"), site);
  site = roomy();
  site.processes = 200;
  add("200 processes", pair_of_size("8"), site);
  site.processes = 50;
  add("50 processes", pair_of_size("8"), site);
  RunOptions on_host = pair_of_size("8");
  on_host.backend = BackendKind::mpi;
  site.shared_memory_bytes = 64 * kMiB;
  add("the same with MPI and 64 MiB of /dev/shm", on_host, site);
  RunOptions many = pair_of_size("8");
  many.launches = 50;
  add("50 launches", many, roomy());
  many.budget = Seconds{2.0};
  add("50 launches in 2 s", many, roomy());
  expect_golden(text, "launch_groups.txt");
}

std::vector<std::string> ordered(std::initializer_list<const char*> names, bool limited) {
  std::vector<Case> cases;
  for (const char* name : names) cases.push_back(parse_case_name(name));
  std::vector<std::string> result;
  for (const int index : order_within(cases, limited)) {
    result.push_back(case_name(cases[static_cast<std::size_t>(index)]));
  }
  return result;
}

TEST(CaseOrder, IsTheirOwnWhereTimeIsNotLimited) {
  EXPECT_THAT(ordered({"latency/16B/np2/pair=0-1", "latency/8B/np2/pair=0-1"}, false),
              ElementsAre("latency/16B/np2/pair=0-1", "latency/8B/np2/pair=0-1"));
}

TEST(CaseOrder, BeginsWithTheLargestOfEachOperationThenTheSmallestThenThoseBetween) {
  EXPECT_THAT(
      ordered({"gpt2_step/fp32/gpt2/np2", "all_reduce/float32/sum/16B/np2/graph",
               "all_reduce/float32/sum/1KiB/np2/graph", "all_reduce/float32/sum/64KiB/np2/graph",
               "all_reduce/float32/sum/4MiB/np2", "all_reduce/float16/sum/64KiB/np2",
               "all_reduce/float16/sum/4MiB/np2", "send_recv/float32/16B/np2",
               "send_recv/float32/1MiB/np2"},
              true),
      ElementsAre("gpt2_step/fp32/gpt2/np2", "all_reduce/float32/sum/4MiB/np2",
                  "send_recv/float32/1MiB/np2", "all_reduce/float16/sum/4MiB/np2",
                  "all_reduce/float32/sum/16B/np2/graph", "all_reduce/float16/sum/64KiB/np2",
                  "send_recv/float32/16B/np2", "all_reduce/float32/sum/64KiB/np2/graph",
                  "all_reduce/float32/sum/1KiB/np2/graph"));
}

TEST(CaseOrder, LargestOfAnOperationIsThatOfAllItsCurves) {
  EXPECT_THAT(
      ordered({"all_reduce/float16/sum/64KiB/np2", "all_reduce/float32/sum/4MiB/np2"}, true),
      ElementsAre("all_reduce/float32/sum/4MiB/np2", "all_reduce/float16/sum/64KiB/np2"));
}

}  // namespace
}  // namespace linkgain::test
