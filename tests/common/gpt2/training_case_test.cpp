#include "linkgain/gpt2/training_case.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

template <typename Parse>
auto refuses(Parse parse, const char* name) {
  return [parse, name] { parse(name); };
}

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
  const auto says = [](const char* what, const char* nearest) {
    return ThrowsMessage<UsageError>(AllOf(HasSubstr(what), HasSubstr(nearest)));
  };
  EXPECT_THAT(refuses(parse_model_size, "gpt3"), says("model size 'gpt3'", "did you mean gpt2"));
  EXPECT_THAT(refuses(parse_training_strategy, "zero1"), says("strategy 'zero1'", "mean zero"));
  EXPECT_THAT(refuses(parse_bucket_rule, "legcy"), says("bucket rule 'legcy'", "mean legacy"));
  EXPECT_THAT(refuses(parse_training_precision, "tf23"), says("precision 'tf23'", "mean tf32"));
}

}  // namespace
}  // namespace linkgain
