#include <cmath>
#include <string>

#include "programs/gpu_programs.hpp"

/// gpt2_step on real GPUs, with P2P and without.
namespace linkgain::testing {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

class TrainingOnGpus : public RunOnGpus {};

void expect_right(const CaseResult& result) {
  const std::string name = case_name(result.definition);
  for (const VariantResult& variant : result.variants) {
    ASSERT_TRUE(variant.time) << name << ": " << variant.skipped.value_or("");
    EXPECT_EQ(variant.verification.value().wrong, 0)
        << name << ": " << variant.verification->first_wrong;
    ASSERT_TRUE(variant.training.has_value());
    // With a single block they are the same.
    EXPECT_LE(variant.training->last_loss, variant.training->first_loss) << name;
    EXPECT_LE(variant.skew.value(), 0.02) << name << ": ranks wait for each other in every step";
  }
}

/// By the counters, and above what bytes of the scalars may add.
void expect_evidence(const CaseResult& result) {
  const std::string name = case_name(result.definition);
  const WireEvidence& p2p = result.variants[0].evidence.value();
  const WireEvidence& host = result.variants[1].evidence.value();
  ASSERT_TRUE(p2p.judged) << name << ": " << p2p.reason;
  EXPECT_THAT(p2p.nvlink_share().value(), AllOf(Ge(0.99), Le(1.02))) << name;
  EXPECT_LT(host.nvlink_share().value(), 0.001) << name;
}

// 1e-5 is what float32 allows over 20 steps where sums may go in another order.
TEST_F(TrainingOnGpus, VariantsLearnTheSame) {
  const Outcome outcome = run_linkgain("--only gpt2_step --steps 20");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  const Record record = this->record();
  ASSERT_EQ(record.cases.size(), 2U);
  const CaseResult& ddp = record.cases[0];
  expect_right(ddp);
  expect_evidence(ddp);
  EXPECT_LE(ddp.variants[1].training->loss_difference.value(), 1e-5);
  EXPECT_NEAR(ddp.variants[0].training->first_loss.value(), 9.9, 1.1);
  EXPECT_FALSE(record.cases[1].variants[1].time) << "none needs one variant";
  EXPECT_THAT(outcome.output, HasSubstr("Exposed communication: "));
}

TEST_F(TrainingOnGpus, EveryStrategyTrainsInEveryPrecision) {
  const Outcome outcome = run_linkgain(
      "--only gpt2_step --steps 10 --strategy ddp,zero2,zero3 "
      "--training-precision fp32,tf32,bf16");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  const Record record = this->record();
  ASSERT_EQ(record.cases.size(), 12U);
  for (const CaseResult& result : record.cases) {
    if (!uses_link(result.definition)) continue;
    expect_right(result);
    expect_evidence(result);
    // The strategies of a precision start from the same weights and see the same tokens.
    const double first = record.cases[0].variants[0].training->first_loss.value();
    EXPECT_NEAR(result.variants[0].training->first_loss.value(), first, 0.02 * first);
  }
}

TEST_F(TrainingOnGpus, BucketsMayBeOfAnySize) {
  const Outcome outcome = run_linkgain(
      "--only gpt2_step --model-size tiny --steps 10 --buckets legacy --bucket-mb 1 --batch 2 "
      "--sequence 17 --dropout 0");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  expect_right(record().cases.at(0));
}

}  // namespace
}  // namespace linkgain::testing
