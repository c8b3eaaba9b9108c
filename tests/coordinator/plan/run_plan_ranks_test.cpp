#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "support/run_plan_support.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;

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
