#include "linkgain/gpt2/training_case.hpp"

#include <gtest/gtest.h>

#include "support/situations.hpp"

namespace linkgain::test {
namespace {

TEST(TrainingCaseNames, AreReadBack) {
  for (const auto size : kModelSizes) EXPECT_EQ(parse_model_size(name_of(size)), size);
  for (const auto each : kTrainingStrategies) {
    EXPECT_EQ(parse_training_strategy(name_of(each)), each);
  }
  for (const auto rule : kBucketRules) EXPECT_EQ(parse_bucket_rule(name_of(rule)), rule);
  for (const auto each : kTrainingPrecisions) {
    EXPECT_EQ(parse_training_precision(name_of(each)), each);
  }
}

TEST(TrainingCaseNames, AreThoseOfOptions) {
  EXPECT_EQ(parse_model_size("tiny"), ModelSize::tiny);
  EXPECT_EQ(parse_training_strategy("zero2"), TrainingStrategy::zero2);
  EXPECT_EQ(parse_bucket_rule("legacy"), BucketRule::legacy);
  EXPECT_EQ(parse_training_precision("tf32"), TrainingPrecision::tf32);
}

TEST(TrainingCaseNames, OthersAreRefusedWithTheNearest) {
  Situations answers;
  answers.refuse_each({"gpt3"}, parse_model_size);
  answers.refuse_each({"zero1"}, parse_training_strategy);
  answers.refuse_each({"legcy"}, parse_bucket_rule);
  answers.refuse_each({"tf23"}, parse_training_precision);
  answers.expect_golden("names_refused.txt");
}

}  // namespace
}  // namespace linkgain::test
