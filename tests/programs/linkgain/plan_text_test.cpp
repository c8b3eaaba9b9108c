#include "bench/programs/linkgain/plan_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/golden.hpp"
#include "support/run_plan_support.hpp"
#include "support/situations.hpp"
#include "tests/coordinator/diagnostics/sample_topologies.hpp"

namespace linkgain::test {
namespace {

RunOptions one_size() {
  RunOptions options;
  options.operations = {OperationKind::all_reduce};
  options.sizes = {Bytes{std::int64_t{256} << 20}};
  options.launches = 4;
  return options;
}

Seconds expected(const RunOptions& options) {
  return expected_duration(make_plan(options, with_gpus(2)));
}

TEST(ExpectedDuration, GrowsWithWhatIsMeasured) {
  const Seconds usual = expected(one_size());
  RunOptions more = one_size();
  more.launches = 8;
  EXPECT_GT(expected(more), usual);
  more = one_size();
  more.variants = {"p2p", "host", "net"};
  EXPECT_GT(expected(more), usual);
  more = one_size();
  more.sizes.push_back(Bytes{8});
  EXPECT_GT(expected(more), usual);
  RunOptions training;
  training.operations = {OperationKind::gpt2_step};
  training.steps = 100;
  const Seconds few = expected(training);
  training.steps = 1000;
  EXPECT_GT(expected(training), few);
}

TEST(ExpectedDuration, IsWithinTheBudget) {
  RunOptions options = one_size();
  options.budget = Seconds{2.0};
  EXPECT_EQ(expected(options), Seconds{2.0});
}

TEST(ExpectedDuration, OfASoakIsItsBudget) {
  RunOptions options;
  options.profile = Profile::soak;
  options.budget = Seconds{8.0 * 3600.0};
  EXPECT_EQ(expected(options), *options.budget);
}

/// Allows a factor of two, on two GPUs.
TEST(ExpectedDuration, OfProfilesIsWhatTheyAreMeantToTake) {
  for (const auto& [profile, seconds] :
       {std::pair{Profile::quick, 18.0}, {Profile::standard, 95.0}}) {
    RunOptions options;
    options.profile = profile;
    EXPECT_GT(expected(options).value, seconds / 2.0);
    EXPECT_LT(expected(options).value, seconds * 2.0);
  }
}

TEST(PreviewPlan, BySlurmWithoutAnAllocationIsThatOfOneNode) {
  RunOptions options = one_size();
  options.launcher = "srun";
  options.backend = BackendKind::mpi;
  options.ranks = 4;
  EXPECT_THROW(make_plan(options, with_gpus(0)), UsageError);
  const RunPlan plan = preview_plan(options, with_gpus(0));
  EXPECT_EQ(plan.ranks, 4);
  EXPECT_EQ(plan.warnings.back().code, "assumed-node");

  Site site = with_gpus(0);
  site.allocation = Hosts{.count = 2, .slots = 8};
  const RunPlan allocated = preview_plan(options, site);
  EXPECT_TRUE(std::ranges::none_of(
      allocated.warnings, [](const Warning& each) { return each.code == "assumed-node"; }));
}

TEST(PreviewPlan, SaysOfAssumedGpusOnlyWhatIsNotKnown) {
  Site no_build = with_gpus(2);
  no_build.has_nccl = false;
  no_build.nccl_missing = "switched off with LINKGAIN_GPU=OFF";
  std::string text;
  const auto add = [&](const std::string& situation, const Site& site, std::optional<int> ranks) {
    RunOptions options = one_size();
    options.ranks = ranks;
    const Warning warning = preview_plan(options, site).warnings.back();
    text += situation + ":\n  " + warning.text + "\n      " + warning.advice + "\n";
  };
  add("no GPU, no CUDA", without_nccl(), {});
  add("two GPUs, no CUDA", no_build, {});
  add("two GPUs of four, no CUDA", no_build, 4);
  add("one GPU", with_gpus(1), {});
  expect_golden(text, "assumed_gpus.txt");
}

TEST(PreviewPlan, BySlurmWithoutGpusAssumesBoth) {
  RunOptions options = one_size();
  options.launcher = "srun";
  const RunPlan plan = preview_plan(options, without_nccl());
  EXPECT_EQ(plan.ranks, 2);
  ASSERT_EQ(plan.warnings.size(), 2U);
  EXPECT_EQ(plan.warnings[0].code, "assumed-gpus");
  EXPECT_EQ(plan.warnings[1].code, "assumed-node");
}

TEST(PreviewPlan, SaysWhereVariantsTakeTheSamePath) {
  Situations texts;
  const auto add = [&](const std::string& name, const Topology& topology,
                       const std::vector<std::string>& variants = {},
                       const Environment& environment = {}) {
    RunOptions options = one_size();
    options.variants = variants;
    SurveySources sources;
    sources.etc = "/nowhere";
    sources.environment = environment;
    const auto notice = same_path_notice(make_plan(options, with_gpus(2)), topology, sources);
    texts.add(name, notice ? notice->text + "\n-> " + notice->advice : "nothing");
  };
  const auto pair_of = [](const std::string& model, int links, Ancestor ancestor,
                          const std::string& why_not) {
    Topology topology;
    NvlinkInfo dark = nvlink(5, 0, links, 0, false);
    dark.switched = Missing{"no link is active"};
    topology.gpus = {gpu(0, model, "1", dark, 4), gpu(1, model, "2", dark, 4)};
    topology.pairs = {pair(0, 1, ancestor, 0, why_not), pair(1, 0, ancestor, 0, why_not)};
    return topology;
  };
  add("a bridge", ga102_pair());
  const Topology bridgeless = pair_of("NVIDIA GeForce RTX 3090", 4, Ancestor::phb, "not supported");
  add("no bridge", bridgeless);
  add("no bridge, one variant", bridgeless, {"p2p"});
  add("no bridge, the network", bridgeless, {"p2p", "net"});
  add("no bridge, three variants", bridgeless, {"p2p", "host", "net"});
  add("no NVLink", pair_of("NVIDIA L4", 0, Ancestor::phb, "not supported"));
  const Topology granted = pair_of("NVIDIA L4", 0, Ancestor::phb, "");
  add("P2P is granted", granted);
  add("P2P is granted, p2p-sys", granted, {"host", "p2p-sys"});
  add("P2P is granted and forbidden", granted, {}, {{"NCCL_P2P_DISABLE", "1"}});
  add("P2P through a switch", pair_of("NVIDIA L4", 0, Ancestor::pix, ""));
  texts.expect_golden("same_path.txt");
}

TEST(PlanText, NamesCasesVariablesMemoryAndTime) {
  RunOptions options = one_size();
  options.gpus = {0, 1};
  RunPlan plan = make_plan(options, with_gpus(2));
  plan.variants.back().worker = "/opt/older/bin/linkgain-bench";
  std::string text = plan_text(plan, 60);
  options = {};
  options.operations = {OperationKind::gpt2_step};
  for (const std::int64_t free : {47 * kGiB / 2, 14 * kGiB, 8 * kGiB}) {
    Site site = with_gpus(2);
    site.free_gpu_memory.assign(2, free);
    text += "\n" + plan_text(make_plan(options, site), 60);
  }
  options = {};
  options.backend = BackendKind::mpi;
  options.profile = Profile::quick;
  options.budget = Seconds{300.0};
  options.schedule = Schedule::sequential;
  options.ranks = 64;
  text += "\n" + plan_text(make_plan(options, with_gpus(2)), 60);
  expect_golden(text, "plan_text.txt");
}

TEST(ChoicesText, NamesWhatOptionsTake) { expect_golden(choices_text(), "choices_text.txt"); }

}  // namespace
}  // namespace linkgain::test
