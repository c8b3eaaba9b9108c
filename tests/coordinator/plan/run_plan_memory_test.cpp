#include <gmock/gmock.h>

#include "linkgain/base/errors.hpp"
#include "linkgain/cases/option_parsers.hpp"
#include "linkgain/plan/run_plan.hpp"
#include "support/golden.hpp"
#include "support/run_plan_support.hpp"

namespace linkgain::test {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

Site two_gpus(std::int64_t memory) {
  Site site;
  site.gpus = 2;
  site.has_nccl = true;
  site.gpu_memory_bytes = memory;
  site.host_memory_bytes = 1024 * kGiB;
  return site;
}

RunOptions of_size(std::string_view size) {
  RunOptions options;
  options.operations = {OperationKind::all_reduce};
  options.sizes = parse_sizes(size);
  return options;
}

/// Prints what make_plan() says for a golden: the refusal, or the schedule and the warnings.
std::string planned(const std::string& situation, const RunOptions& options, const Site& site) {
  std::string text = situation + "\n";
  try {
    const RunPlan plan = make_plan(options, site);
    text += plan.schedule == Schedule::sequential ? "  sequential\n" : "  together\n";
    for (const Warning& warning : plan.warnings) {
      text += "  " + warning.code + ": " + warning.text + "\n      " + warning.advice + "\n";
    }
  } catch (const UsageError& error) {
    text += std::string("  refused: ") + error.what() + "\n      " + error.advice() + "\n";
  }
  return text;
}

std::vector<std::string> names_of(const RunPlan& plan) {
  std::vector<std::string> names;
  for (const Case& c : plan.cases) names.push_back(case_name(c));
  return names;
}

TEST(FitMemory, LeavesOutATrainingThatOnlyAProfileBrought) {
  const RunPlan plan = make_plan({}, two_gpus(5 * kGiB));
  EXPECT_THAT(names_of(plan), Each(Not(HasSubstr("gpt2_step"))));
  EXPECT_THAT(names_of(plan), Contains("all_reduce/float32/sum/1GiB/np2"));
  EXPECT_FALSE(plan.training);
  ASSERT_FALSE(plan.warnings.empty());
  EXPECT_EQ(plan.warnings[0].code, "left-out");
  EXPECT_THAT(plan.warnings[0].advice, HasSubstr("--batch 2"));
}

TEST(FitMemory, LeavesOutSizesThatOnlyAProfileBrought) {
  RunOptions options;
  options.profile = Profile::quick;
  const RunPlan plan = make_plan(options, two_gpus(5 * kGiB / 2));
  EXPECT_THAT(names_of(plan), Not(Contains("all_reduce/float32/sum/1GiB/np2")));
  EXPECT_THAT(names_of(plan), Contains("all_reduce/float32/sum/256MiB/np2"));
  ASSERT_GE(plan.warnings.size(), 1U);
  EXPECT_EQ(plan.warnings[0].code, "left-out");
  EXPECT_THAT(plan.warnings[0].text, HasSubstr("all-reduce of 1 GiB (3.5 GiB)"));
  EXPECT_THAT(plan.warnings[0].advice, HasSubstr("--sizes"));
}

TEST(FitMemory, LeavesOutWhatDoesNotFitTogetherWherePairsWereAskedFor) {
  RunOptions options;
  options.schedule = Schedule::paired;
  const RunPlan plan = make_plan(options, two_gpus(10 * kGiB));
  EXPECT_EQ(plan.schedule, Schedule::paired);
  EXPECT_THAT(names_of(plan), Each(Not(HasSubstr("gpt2_step"))));
  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_THAT(plan.warnings[0].text, HasSubstr("GPT-2 step in fp32 (6.9 GiB)"));
}

TEST(FitMemory, SaysWhatDoesNotFitAndWhatWould) {
  // An all-reduce needs input, output and a job's own 1.5 GiB; the root of a gather its GiB, its
  // own half, and a job's own.
  const RunOptions reduce = of_size("1G");
  RunOptions gather = reduce;
  gather.operations = {OperationKind::gather};
  std::string text;
  const auto add = [&](const std::string& situation, const RunOptions& options,
                       std::int64_t memory) {
    Site site = two_gpus(memory);
    if (options.backend == BackendKind::mpi) site.host_memory_bytes = 8 * kGiB;
    text += planned(situation, options, site);
  };
  add("1 GiB in 7 GiB", reduce, 7 * kGiB);
  add("1 GiB in just less than 7 GiB", reduce, 7 * kGiB - 1);
  add("8 B and 1 GiB in just less than 3.5 GiB", of_size("8,1G"), 7 * kGiB / 2 - 1);
  add("a gather of 1 GiB in 6 GiB", gather, 6 * kGiB);
  add("a gather of 1 GiB in just less than 3 GiB", gather, 3 * kGiB - 1);
  RunOptions paired = reduce;
  paired.schedule = Schedule::paired;
  add("1 GiB in 5 GiB, --schedule paired", paired, 5 * kGiB);
  RunOptions in_turn = reduce;
  in_turn.schedule = Schedule::sequential;
  add("1 GiB in 5 GiB, --schedule sequential", in_turn, 5 * kGiB);
  for (const char* size : {"1T", "64T"}) {
    add(size, of_size(size), 140 * kGiB);
  }
  RunOptions on_host = in_turn;
  on_host.backend = BackendKind::mpi;
  add("2 ranks of 2 GiB in 8 GiB of the host", on_host, kGiB);
  on_host.ranks = 5;
  add("5 ranks of 2 GiB in 8 GiB of the host", on_host, kGiB);
  on_host.ranks = 1024;
  on_host.sizes = parse_sizes("64T");
  on_host.schedule = Schedule::paired;
  for (int i = 0; i < 16; ++i) on_host.variants.push_back("v" + std::to_string(i) + ":LG=1");
  add("1024 ranks of 64T in 16 variants at once on the host", on_host, kGiB);
  RunOptions gather_on_host = in_turn;
  gather_on_host.operations = {OperationKind::gather};
  gather_on_host.backend = BackendKind::mpi;
  gather_on_host.ranks = 4;
  gather_on_host.sizes = {Bytes{4 * kGiB}};
  add("a gather of 4 GiB and four times 1 in 8 GiB of the host", gather_on_host, kGiB);
  Site unknown = two_gpus(kGiB);
  unknown.gpu_memory_bytes.reset();
  text += planned("1 GiB in memory of unknown size", reduce, unknown);
  expect_golden(text, "memory_of_sizes.txt");
}

/// Expects 1.9 GiB of state, 0.9 for each rank's sequence and 1.5 for a job itself: 6.9 with 4
/// sequences.
TEST(FitMemory, SaysWhichTrainingFits) {
  std::string text;
  const auto add = [&](const std::string& situation, const RunOptions& options,
                       std::int64_t memory) {
    text += planned(situation, options, two_gpus(memory));
  };
  RunOptions training;
  training.operations = {OperationKind::gpt2_step};
  add("a training in 24 GiB", training, 24 * kGiB);
  add("a training in 5 GiB", training, 5 * kGiB);
  add("a training in 3.5 GiB", training, 7 * kGiB / 2);
  add("a training in 2.5 GiB", training, 5 * kGiB / 2);
  RunOptions paired = training;
  paired.schedule = Schedule::paired;
  add("a training in 12 GiB, --schedule paired", paired, 12 * kGiB);
  training.training.samples = 2;
  add("--batch 2 in 5.5 GiB", training, 11 * kGiB / 2);
  training.training.samples = 512;
  add("--batch 512 in 24 GiB", training, 24 * kGiB);
  add("the default profile in 6 GiB", {}, 6 * kGiB);
  add("the default profile in 7 GiB", {}, 7 * kGiB);
  add("the default profile in 12 GiB", {}, 12 * kGiB);
  RunOptions profile;
  profile.schedule = Schedule::paired;
  add("the default profile in 12 GiB, --schedule paired", profile, 12 * kGiB);
  profile = {};
  profile.training.samples = 2;
  add("the default profile with --batch 2 in 12 GiB", profile, 12 * kGiB);
  profile.training.samples = 8;
  add("the default profile with --batch 8 in 6 GiB", profile, 6 * kGiB);
  profile = {};
  profile.steps = 100;
  add("the default profile with --steps 100 in 6 GiB", profile, 6 * kGiB);
  profile = {};
  profile.profile = Profile::full;
  add("the full profile in 2.5 GiB", profile, 5 * kGiB / 2);
  profile.profile = Profile::quick;
  add("the quick profile in 2.5 GiB", profile, 5 * kGiB / 2);
  profile.operations = {OperationKind::all_reduce};
  add("the quick profile's all-reduces in 2.5 GiB", profile, 5 * kGiB / 2);
  add("the quick profile's all-reduces in 1 GiB", profile, kGiB);
  expect_golden(text, "memory_of_profiles.txt");
}

TEST(ChooseSchedule, RunsOneAfterTheOtherWhereGpusCannotBeShared) {
  Site site = two_gpus(140 * kGiB);
  site.exclusive_compute_mode = true;
  RunOptions options = of_size("8");
  std::string text = planned("no schedule asked for", options, site);
  options.schedule = Schedule::sequential;
  text += planned("--schedule sequential", options, site);
  options.schedule = Schedule::paired;
  text += planned("--schedule paired", options, site);
  options.backend = BackendKind::mpi;
  text += planned("--schedule paired, by MPI", options, site);
  expect_golden(text, "exclusive_compute_mode.txt");
}

}  // namespace
}  // namespace linkgain::test
