#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/coordinator/run_plan.hpp"
#include "linkgain/core/errors.hpp"
#include "linkgain/core/sweep.hpp"

namespace linkgain {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

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
