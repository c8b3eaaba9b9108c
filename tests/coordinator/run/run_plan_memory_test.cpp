#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/base/errors.hpp"
#include "linkgain/cases/selection.hpp"
#include "linkgain/run/run_plan.hpp"

namespace linkgain {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

Site two_gpus(std::int64_t memory) {
  Site site;
  site.gpus = 2;
  site.has_nccl = true;
  site.nccl_version = "2.28.3";
  site.gpu_memory_bytes = memory;
  site.host_memory_bytes = 8 * kGiB;
  return site;
}

RunOptions of_size(std::string_view size) {
  RunOptions options;
  options.operations = {OperationKind::all_reduce};
  options.sizes = parse_sizes(size);
  return options;
}

std::string refusal(const RunOptions& options, const Site& site) {
  try {
    make_plan(options, site);
  } catch (const UsageError& error) {
    return std::string(error.what()) + " / " + error.advice();
  }
  return "accepted";
}

TEST(FitMemory, RefusesWhatNoJobCanHold) {
  // Input, output and a job's own: 1 + 1 + 1 GiB.
  EXPECT_EQ(refusal(of_size("1G"), two_gpus(6 * kGiB)), "accepted");
  EXPECT_THAT(refusal(of_size("8,1G"), two_gpus(3 * kGiB - 1)),
              AllOf(HasSubstr("1 GiB needs 3.0 GiB of GPU memory, 3.0 GiB are there"),
                    HasSubstr("--sizes")));
}

TEST(FitMemory, NamesATrainingThatNoJobCanHold) {
  RunOptions options;
  options.operations = {OperationKind::gpt2_step};
  EXPECT_EQ(refusal(options, two_gpus(24 * kGiB)), "accepted");
  options.training.samples = 512;
  EXPECT_THAT(refusal(options, two_gpus(24 * kGiB)),
              AllOf(HasSubstr("gpt2_step/fp32/gpt2/np2/batch=512 needs"), HasSubstr("--batch")));
}

std::vector<std::string> names_of(const RunPlan& plan) {
  std::vector<std::string> names;
  for (const Case& c : plan.cases) names.push_back(case_name(c));
  return names;
}

/// A job's own GiB and the page's training, which takes 5.4.
constexpr std::int64_t kOneTraining = 13 * kGiB / 2;

TEST(FitMemory, SaysWhichBatchWouldFit) {
  RunOptions options;
  options.operations = {OperationKind::gpt2_step};
  // State takes 1.9 GiB, a sequence 0.9 of each rank, and a job's own 1 GiB.
  EXPECT_THAT(refusal(options, two_gpus(5 * kGiB)), HasSubstr("/ train with --batch 2"));
  options.training.samples = 2;
  EXPECT_EQ(refusal(options, two_gpus(5 * kGiB)), "accepted");
  EXPECT_THAT(refusal(options, two_gpus(7 * kGiB / 2)),
              HasSubstr("/ train with --batch 1 --sequence 512"));
  EXPECT_THAT(refusal(options, two_gpus(5 * kGiB / 2)),
              HasSubstr("/ train with --model-size tiny"));
}

TEST(FitMemory, LeavesOutATrainingThatOnlyAProfileBrought) {
  const RunPlan plan = make_plan({}, two_gpus(6 * kGiB));
  EXPECT_THAT(names_of(plan), Each(Not(HasSubstr("gpt2_step"))));
  EXPECT_THAT(names_of(plan), Contains("all_reduce/float32/sum/1GiB/np2"));
  EXPECT_FALSE(plan.training);
  EXPECT_FALSE(plan.sequential) << "what is left fits together";
  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_EQ(plan.warnings[0].code, "left-out");
  EXPECT_EQ(plan.warnings[0].text,
            "left out, because 6.0 GiB of GPU memory do not hold a job with: "
            "gpt2_step/fp32/gpt2/np2 (6.4 GiB), gpt2_step/fp32/gpt2/np2/none (6.4 GiB)");
  EXPECT_EQ(plan.warnings[0].advice, "measure the training with --only gpt2_step --batch 3");
}

TEST(FitMemory, RefusesATrainingOfAProfileWithWhichSomethingWasAskedFor) {
  RunOptions options;
  options.training.samples = 8;
  EXPECT_THAT(refusal(options, two_gpus(6 * kGiB)), HasSubstr("/ train with --batch 3"));
  options = {};
  options.steps = 100;
  EXPECT_THAT(refusal(options, two_gpus(6 * kGiB)), HasSubstr("gpt2_step/fp32/gpt2/np2 needs"));
}

TEST(FitMemory, LeavesOutSizesThatOnlyAProfileBrought) {
  RunOptions options;
  options.profile = Profile::quick;
  const RunPlan plan = make_plan(options, two_gpus(5 * kGiB / 2));
  EXPECT_THAT(names_of(plan), Not(Contains("all_reduce/float32/sum/1GiB/np2")));
  EXPECT_THAT(names_of(plan), Contains("all_reduce/float32/sum/256MiB/np2"));
  ASSERT_GE(plan.warnings.size(), 1U);
  EXPECT_EQ(plan.warnings[0].code, "left-out");
  EXPECT_THAT(plan.warnings[0].text, HasSubstr("all_reduce/float32/sum/1GiB/np2 (3.0 GiB)"));
  EXPECT_EQ(plan.warnings[0].advice, "ask for smaller sizes with --sizes");
  options.operations = {OperationKind::all_reduce};
  EXPECT_EQ(refusal(options, two_gpus(5 * kGiB / 2)), "accepted") << "nobody named 1 GiB";
  EXPECT_THAT(refusal(options, two_gpus(kGiB)), HasSubstr("1 GiB needs 3.0 GiB"))
      << "nothing would be left";
}

TEST(FitMemory, NamesAFewOfManyThatItLeavesOut) {
  RunOptions options;
  options.profile = Profile::full;
  const RunPlan plan = make_plan(options, two_gpus(5 * kGiB / 2));
  ASSERT_GE(plan.warnings.size(), 1U);
  EXPECT_THAT(plan.warnings[0].text, ContainsRegex("gpt2_step/fp32/gpt2/np2 .* and [0-9]+ more$"));
  EXPECT_EQ(plan.warnings[0].advice,
            "measure the training with --only gpt2_step --model-size tiny; ask for smaller sizes "
            "with --sizes");
}

TEST(FitMemory, NamesTheTrainingForWhichNothingRunsInTurn) {
  const RunPlan plan = make_plan({}, two_gpus(kOneTraining));
  EXPECT_THAT(names_of(plan), Contains("gpt2_step/fp32/gpt2/np2"));
  EXPECT_TRUE(plan.sequential);
  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_EQ(plan.warnings[0].code, "sequential");
  EXPECT_THAT(plan.warnings[0].text,
              AllOf(HasSubstr("each takes up to 6.4 GiB of 6.5 GiB (gpt2_step/fp32/gpt2/np2)")));
  EXPECT_EQ(plan.warnings[0].advice,
            "drift between them is not cancelled; train with --batch 1 --sequence 256 to have them "
            "in turn, or leave the training out with --only");
  const RunPlan large = make_plan({}, two_gpus(12 * kGiB));
  ASSERT_EQ(large.warnings.size(), 1U);
  EXPECT_THAT(large.warnings[0].advice, HasSubstr("train with --batch 3 to have them in turn"));
  RunOptions smaller;
  smaller.training.samples = 2;
  EXPECT_THAT(make_plan(smaller, two_gpus(12 * kGiB)).warnings, IsEmpty());
}

TEST(FitMemory, LeavesOutWhatDoesNotFitTogetherWherePairsWereAskedFor) {
  RunOptions options;
  options.sequential = false;
  const RunPlan plan = make_plan(options, two_gpus(12 * kGiB));
  EXPECT_FALSE(plan.sequential);
  EXPECT_THAT(names_of(plan), Each(Not(HasSubstr("gpt2_step"))));
  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_THAT(plan.warnings[0].text, HasSubstr("12.0 GiB of GPU memory do not hold 2 jobs at once "
                                               "with: gpt2_step/fp32/gpt2/np2 (6.4 GiB)"));
  options.operations = {OperationKind::gpt2_step};
  EXPECT_THAT(refusal(options, two_gpus(12 * kGiB)),
              AllOf(HasSubstr("do not fit into memory together: each of 2 needs 6.4 GiB"),
                    HasSubstr("leave out --schedule paired, or train with --batch 3")));
}

TEST(FitMemory, RefusesAbsurdSizesWithoutOverflow) {
  for (const char* size : {"1024T", "1048576T", "8388607T", "4611686018427387904"}) {
    EXPECT_THAT(refusal(of_size(size), two_gpus(140 * kGiB)), HasSubstr("of GPU memory")) << size;
  }
  RunOptions options = of_size("8388607T");
  options.backend = BackendKind::mpi;
  options.ranks = 1024;
  EXPECT_THAT(refusal(options, two_gpus(kGiB)), HasSubstr("of host memory"));
}

TEST(FitMemory, CountsEveryRankOfAHost) {
  RunOptions options = of_size("1G");
  options.backend = BackendKind::mpi;
  options.sequential = true;
  EXPECT_EQ(refusal(options, two_gpus(kGiB)), "accepted") << "2 ranks of 2 GiB in 8";
  options.ranks = 5;
  EXPECT_THAT(refusal(options, two_gpus(kGiB)), HasSubstr("10.0 GiB of host memory, 8.0 GiB"));
}

TEST(FitMemory, CountsWhatEachRankHolds) {
  RunOptions options = of_size("1G");
  options.operations = {OperationKind::gather};
  // The root's GiB, its own half, and a job's own.
  EXPECT_EQ(refusal(options, two_gpus(5 * kGiB)), "accepted");
  EXPECT_THAT(refusal(options, two_gpus(5 * kGiB / 2 - 1)), HasSubstr("2.5 GiB of GPU memory"));
  options.backend = BackendKind::mpi;
  options.sequential = true;
  options.ranks = 4;
  options.sizes = {Bytes{4 * kGiB}};
  EXPECT_EQ(refusal(options, two_gpus(kGiB)), "accepted") << "4 GiB and four times one in 8";
}

TEST(FitMemory, FallsBackToOneJobAtATimeAndSaysSo) {
  const RunPlan tight = make_plan(of_size("1G"), two_gpus(6 * kGiB - 1));
  EXPECT_TRUE(tight.sequential);
  ASSERT_EQ(tight.warnings.size(), 1U);
  EXPECT_EQ(tight.warnings[0].code, "sequential");
  EXPECT_THAT(tight.warnings[0].text, HasSubstr("memory is too short"));
  const RunPlan enough = make_plan(of_size("1G"), two_gpus(6 * kGiB));
  EXPECT_FALSE(enough.sequential);
  EXPECT_THAT(enough.warnings, IsEmpty());
}

TEST(FitMemory, HoldsToASchedule) {
  RunOptions options = of_size("1G");
  options.sequential = false;
  EXPECT_THAT(refusal(options, two_gpus(5 * kGiB)), HasSubstr("do not fit into memory together"));
  options.sequential = true;
  EXPECT_THAT(make_plan(options, two_gpus(5 * kGiB)).warnings, IsEmpty());
}

TEST(FitMemory, LetsThroughWhatItDoesNotKnow) {
  Site site = two_gpus(kGiB);
  site.gpu_memory_bytes.reset();
  EXPECT_EQ(refusal(of_size("1G"), site), "accepted");
}

TEST(ChooseSchedule, RunsOneAfterTheOtherWhereGpusCannotBeShared) {
  Site site = two_gpus(140 * kGiB);
  site.exclusive_compute_mode = true;
  const RunPlan plan = make_plan(of_size("8"), site);
  EXPECT_TRUE(plan.sequential);
  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_THAT(plan.warnings[0].text, HasSubstr("exclusive compute mode"));
  RunOptions options = of_size("8");
  options.sequential = true;
  EXPECT_THAT(make_plan(options, site).warnings, IsEmpty()) << "it was asked for";
  options.sequential = false;
  EXPECT_THAT(refusal(options, site), HasSubstr("--schedule paired"));
  options.backend = BackendKind::mpi;
  EXPECT_FALSE(make_plan(options, site).sequential) << "MPI shares no GPU";
}

}  // namespace
}  // namespace linkgain
