#include "linkgain/gpt2/training_strategy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "linkgain/cases/case.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const ParameterTable& gpt2() {
  static const ParameterTable table(gpt2_config(ModelSize::gpt2));
  return table;
}

StrategyPlan plan(TrainingStrategy strategy, const BucketSettings& buckets = {}, int ranks = 2) {
  return plan_strategy(strategy, gpt2(), buckets, DataType::float32, ranks);
}

TEST(StrategyPlan, HasPyTorchsBucketsUnlessParametersAreSharded) {
  for (const auto strategy :
       {TrainingStrategy::none, TrainingStrategy::ddp, TrainingStrategy::zero2}) {
    EXPECT_EQ(plan(strategy).buckets, gradient_buckets(gpt2(), {}, DataType::float32));
    const BucketSettings legacy{BucketRule::legacy, {}};
    EXPECT_EQ(plan(strategy, legacy).buckets, gradient_buckets(gpt2(), legacy, DataType::float32));
    for (const SegmentPass& pass : plan(strategy).passes) EXPECT_THAT(pass.gathers, IsEmpty());
  }
}

TEST(StrategyPlan, RunsThroughAllSegmentsForwardAndBackward) {
  const auto passes = plan(TrainingStrategy::ddp).passes;
  ASSERT_EQ(passes.size(), 28U);
  for (int i = 0; i < 14; ++i) {
    EXPECT_EQ(passes[static_cast<std::size_t>(i)].segment, i);
    EXPECT_FALSE(passes[static_cast<std::size_t>(i)].is_backward);
    EXPECT_EQ(passes[static_cast<std::size_t>(14 + i)].segment, 13 - i);
    EXPECT_TRUE(passes[static_cast<std::size_t>(14 + i)].is_backward);
  }
}

TEST(StrategyPlan, OfZero3HasABucketPerSegmentAndTheEmbeddingsApart) {
  const auto buckets = plan(TrainingStrategy::zero3).buckets;
  ASSERT_EQ(buckets.size(), 15U);
  EXPECT_EQ(buckets[0].range, gpt2().segment_range(13));
  for (int i = 1; i <= 12; ++i) {
    EXPECT_EQ(buckets[static_cast<std::size_t>(i)].range, gpt2().segment_range(13 - i));
    EXPECT_EQ(buckets[static_cast<std::size_t>(i)].tensors.size(), 12U);
  }
  EXPECT_THAT(buckets[13].tensors, ElementsAre(1));
  EXPECT_THAT(buckets[14].tensors, ElementsAre(0));
  EXPECT_EQ(buckets[14].range, gpt2().tensors()[0].range());
}

TEST(StrategyPlan, OfZero3GathersWholeBucketsTwiceButTheFinalNorm) {
  const auto zero3 = plan(TrainingStrategy::zero3);
  std::map<std::int64_t, int> times;  // by offset
  for (const SegmentPass& pass : zero3.passes) {
    for (const ParameterRange& range : pass.gathers) ++times[range.offset];
  }
  ASSERT_EQ(times.size(), 15U);
  for (const GradientBucket& bucket : zero3.buckets) {
    const bool is_final_norm = bucket.range == gpt2().segment_range(13);
    EXPECT_EQ(times[bucket.range.offset], is_final_norm ? 1 : 2) << bucket.range.offset;
  }
  EXPECT_THAT(zero3.passes[13].gathers,
              ElementsAre(gpt2().segment_range(13), gpt2().tensors()[0].range()));
}

TEST(StrategyPlan, RefusesRanksThatDoNotDivideTheShards) {
  Situations answers;
  const auto ask = [&](const char* what, TrainingStrategy strategy, const Gpt2Config& config,
                       int ranks) {
    answers.refuse(what, [&] {
      plan_strategy(strategy, ParameterTable(config), {}, DataType::float32, ranks);
    });
  };
  // All tensors of GPT-2 are multiples of 768, those of tiny of 64.
  ask("zero3 of gpt2 on 5 ranks", TrainingStrategy::zero3, gpt2_config(ModelSize::gpt2), 5);
  ask("zero2 of gpt2 on 7 ranks", TrainingStrategy::zero2, gpt2_config(ModelSize::gpt2), 7);
  ask("zero3 of tiny on 3 ranks", TrainingStrategy::zero3, gpt2_config(ModelSize::tiny), 3);
  const Gpt2Config odd{.vocabulary = 3, .positions = 1, .channels = 1, .layers = 1, .heads = 1};
  ask("zero3 of a model of odd tensors on 2 ranks", TrainingStrategy::zero3, odd, 2);
  answers.expect_golden("shards_refused.txt");
}

TEST(StrategyPlan, TakesAnyNumberOfRanksWhereNothingIsSharded) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    EXPECT_NO_THROW(plan(TrainingStrategy::ddp, {}, ranks));
    EXPECT_NO_THROW(plan(TrainingStrategy::none, {}, ranks));
  }
}

std::optional<int> buckets_of(const std::string& name) {
  return bucket_count(parse_case_name(name).training.value());
}

TEST(BucketCount, IsWhatAStrategyReduces) {
  EXPECT_EQ(buckets_of("gpt2_step/fp32/gpt2/np2"), 13);
  EXPECT_EQ(buckets_of("gpt2_step/bf16/gpt2/np2/zero2"), 13) << "gradients are float32 there too";
  EXPECT_EQ(buckets_of("gpt2_step/fp32/gpt2/np2/buckets=legacy"), 14);
  EXPECT_EQ(buckets_of("gpt2_step/fp32/gpt2/np2/zero3"), std::nullopt);
  EXPECT_EQ(buckets_of("gpt2_step/fp32/gpt2/np2/none"), std::nullopt);
}

// All of the tiny model's gradients, 884,224 bytes in fp64, are less than the least whole number of
// MiB. The legacy rule keeps its first limit of 1 MiB whatever was given.
TEST(BucketCount, OfTheTinyModelIsMoreThanOneForFractionsOnly) {
  EXPECT_EQ(buckets_of("gpt2_step/fp64/tiny/np2"), 1);
  EXPECT_EQ(buckets_of("gpt2_step/fp64/tiny/np2/bucket-mb=1"), 1);
  EXPECT_EQ(buckets_of("gpt2_step/fp64/tiny/np2/buckets=legacy/bucket-mb=0.1"), 1);
  EXPECT_EQ(buckets_of("gpt2_step/fp64/tiny/np2/bucket-mb=0.1"), 7);
  EXPECT_EQ(buckets_of("gpt2_step/fp64/tiny/np2/zero2/bucket-mb=0.01"), 10);
  EXPECT_NO_THROW(require_equal_shards(
      parse_case_name("gpt2_step/fp64/tiny/np8/zero2/bucket-mb=0.01").training.value(), 8));
}

TEST(BucketSettings, LeaveOutAFractionOfAByteAsPyTorchDoes) {
  TrainingParameters training;
  training.bucket_mib = 0.3;
  EXPECT_EQ(bucket_settings(training).limit, Bytes{314572}) << "of 314572.8";
}

// 497,759,232 bytes in fp32; the final norm has 6,144.
TEST(TrainingPayload, IsThatOfTheFormulas) {
  const double size = 497759232.0;
  const auto payload = [](TrainingStrategy strategy, int ranks) {
    TrainingParameters training;
    training.strategy = strategy;
    return training_payload(training, ranks);
  };
  EXPECT_EQ(payload(TrainingStrategy::none, 8), 0.0);
  EXPECT_EQ(payload(TrainingStrategy::ddp, 1), 0.0);
  EXPECT_EQ(payload(TrainingStrategy::ddp, 2), 2 * size);
  EXPECT_EQ(payload(TrainingStrategy::zero2, 2), 2 * size);
  EXPECT_EQ(payload(TrainingStrategy::zero3, 2), 3 * size - 6144);
  EXPECT_EQ(payload(TrainingStrategy::ddp, 8), 14 * size);
  EXPECT_EQ(payload(TrainingStrategy::zero2, 8), 14 * size);
  EXPECT_EQ(payload(TrainingStrategy::zero3, 8), 21 * size - 7 * 6144);
}

}  // namespace
}  // namespace linkgain::test
