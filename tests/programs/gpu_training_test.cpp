#include <cmath>
#include <string>
#include <utility>

#include "gpu_programs.hpp"

/// gpt2_step on real GPUs, with P2P and without.
namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

class TrainingOnGpus : public RunOnGpus {};

/// Returns how far a loss may be from another's that only sums in another order, relative to it. In
/// results/2xH200-training-strategies losses of zero2 and zero3 stray from those of ddp by 1.2e-7
/// with tf32 and by 7.9e-6 with bf16 at most; those of a training that exchanges nothing by 9e-4
/// after the first block already.
double tolerance(const Case& definition) {
  return definition.training->precision == TrainingPrecision::bf16 ? 1e-4 : 1e-5;
}

double distance(double value, double from) { return std::abs(value - from) / from; }

/// Judges runs of two blocks at least.
void expect_right(const VariantResult& variant, const Case& definition, bool is_first) {
  const std::string name = case_name(definition) + " with " + variant.variant;
  ASSERT_TRUE(variant.time) << name << ": " << why_skipped(variant);
  EXPECT_EQ(variant.verification.value().wrong, 0)
      << name << ": " << variant.verification->first_wrong;
  ASSERT_TRUE(variant.training.has_value()) << name;
  const TrainingResult& training = *variant.training;
  ASSERT_TRUE(training.first_loss && training.last_loss) << name;
  ASSERT_TRUE(std::isfinite(*training.first_loss)) << name;
  EXPECT_LT(*training.last_loss, *training.first_loss) << name;
  ASSERT_EQ(training.loss_difference.has_value(), !is_first) << name;
  EXPECT_LE(training.loss_difference.value_or(0.0), tolerance(definition)) << name;
  // Steps of the tiny model are so short that whatever else a host does shows in them.
  if (definition.training->model != ModelSize::gpt2) return;
  EXPECT_LE(variant.skew.value(), 0.02) << name << ": ranks wait for each other in every step";
}

void expect_right(const CaseResult& result) {
  for (const VariantResult& variant : result.variants) {
    expect_right(variant, result.definition, &variant == &result.variants.front());
  }
}

/// Judges by the counters, and above what bytes of the scalars may add.
void expect_evidence(const CaseResult& result) {
  const std::string name = case_name(result.definition);
  const TrafficEvidence& p2p = result.variants[0].evidence.value();
  const TrafficEvidence& host = result.variants[1].evidence.value();
  ASSERT_TRUE(p2p.judged) << name << ": " << p2p.reason;
  EXPECT_THAT(p2p.nvlink_share().value(), AllOf(Ge(0.99), Le(1.02))) << name;
  EXPECT_LT(host.nvlink_share().value(), 0.001) << name;
}

/// Takes the first variant's, whose losses expect_right() has found to be there.
const TrainingResult& training_of(const CaseResult& result) {
  return result.variants.at(0).training.value();
}

// Expects losses as on two H200: 9.213128 after the first block, which is that of step 12, as in
// results/2xH200-training, and 7.528612 after the last of one launch. Left to itself every rank had
// 9.222322, which is 1.0e-3 off; what learns nothing stays near ln(50257) = 10.82. With other
// algorithms for its products the training differs by less than 1e-5 over 20 steps:
// has_the_same_losses_whatever_….
TEST_F(TrainingOnGpus, VariantsLearnTheSame) {
  const Outcome outcome = with_status(
      0, run_linkgain("--only gpt2_step --steps 200 --launches 1 --training-precision fp32"));
  const Record record = this->record();
  ASSERT_EQ(record.cases.size(), 2U);
  const CaseResult& ddp = record.cases[0];
  expect_right(ddp);
  if (HasFatalFailure()) return;
  expect_evidence(ddp);
  EXPECT_LT(distance(*training_of(ddp).first_loss, 9.213128), 1e-4) << *training_of(ddp).first_loss;
  EXPECT_LT(distance(*training_of(ddp).last_loss, 7.528612), 1e-4) << *training_of(ddp).last_loss;
  EXPECT_FALSE(record.cases[1].variants[1].time) << "none needs one variant";
  const std::string report = "cat " + (directory_ / "report.md").string();
  EXPECT_THAT(run_shell(report).output, HasSubstr("exposed"));
}

// Derives the loss from the learning rate of 20 steps, whose sum over the first 12 is 9.80 times
// the initial one, where it was 11.44 with 100 steps (first loss 9.2208 in three strategies and two
// precisions) and 11.71 with 200 (9.2131): on the line through both it is 9.27, or somewhat higher,
// since the first steps lower it most.
TEST_F(TrainingOnGpus, EveryStrategyTrainsInEveryPrecision) {
  const Outcome outcome = with_status(
      0, run_linkgain("--only gpt2_step --steps 20 --launches 1 --strategy ddp,zero2,zero3 "
                      "--training-precision fp32,tf32,bf16"));
  const Record record = this->record();
  ASSERT_EQ(record.cases.size(), 12U);
  const TrainingResult* ddp = nullptr;
  for (const CaseResult& result : record.cases) {
    const std::string name = case_name(result.definition);
    if (result.definition.training->strategy == TrainingStrategy::ddp) {
      ddp = &training_of(result);
      ASSERT_TRUE(ddp->first_loss && ddp->last_loss) << name;
      EXPECT_NEAR(*ddp->first_loss, 9.3, 0.1) << name;
      // Precisions differed by 1.8e-5 at most (tf32 and bf16, over 100 steps).
      EXPECT_LT(distance(*ddp->first_loss, *training_of(record.cases[0]).first_loss), 2e-4) << name;
    }
    ASSERT_NE(ddp, nullptr) << name << " before ddp";
    const double first = distance(training_of(result).first_loss.value(), *ddp->first_loss);
    const double last = distance(training_of(result).last_loss.value(), *ddp->last_loss);
    if (!uses_link(result.definition)) {
      EXPECT_GT(first, 3 * tolerance(result.definition)) << name << " learns from all ranks";
      continue;
    }
    expect_right(result);
    expect_evidence(result);
    // The strategies of a precision start from the same weights and see the same tokens.
    EXPECT_LE(first, tolerance(result.definition)) << name;
    EXPECT_LE(last, tolerance(result.definition)) << name;
  }
}

// Expects losses as on the mpi backend, which computes in fp64 on CPUs: 4.796634 and 4.726683;
// where nothing is exchanged 4.807478 and 4.744349.
TEST_F(TrainingOnGpus, BucketsMayBeOfAnySize) {
  for (const auto& [size, buckets] : {std::pair{"0.01", 9}, {"0.1", 4}, {"1", 1}}) {
    const Outcome outcome = run_linkgain(
        "--only gpt2_step --model-size tiny --steps 20 --launches 1 --strategy ddp,zero2 --batch 2 "
        "--training-precision fp32 --sequence 17 --dropout 0 --bucket-mb " +
        std::string(size));
    ASSERT_EQ(outcome.status, 0) << outcome.output;
    const Record record = this->record();
    ASSERT_EQ(record.cases.size(), 3U);
    for (const std::size_t i : {0U, 1U}) {
      const CaseResult& result = record.cases[i];
      expect_right(result);
      if (HasFatalFailure()) return;
      EXPECT_EQ(training_of(result).buckets, buckets) << size;
      const double first = *training_of(result).first_loss;
      const double last = *training_of(result).last_loss;
      EXPECT_LT(distance(first, 4.796634), 1e-4) << case_name(result.definition) << ": " << first;
      EXPECT_LT(distance(last, 4.726683), 1e-4) << case_name(result.definition) << ": " << last;
    }
  }
}

TEST_F(TrainingOnGpus, BucketsMayBeThoseOfThePagesTime) {
  const Outcome outcome = with_status(
      0,
      run_linkgain(
          "--only gpt2_step --steps 20 --launches 1 --buckets legacy --training-precision fp32"));
  const CaseResult ddp = record().cases.at(0);
  expect_right(ddp);
  if (HasFatalFailure()) return;
  expect_evidence(ddp);
  EXPECT_EQ(training_of(ddp).buckets, 14);
  EXPECT_NEAR(*training_of(ddp).first_loss, 9.3, 0.1);
}

}  // namespace
}  // namespace linkgain::test
