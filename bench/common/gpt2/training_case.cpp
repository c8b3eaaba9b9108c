#include "linkgain/gpt2/training_case.hpp"

#include <stdexcept>

#include "linkgain/base/text.hpp"

namespace linkgain {
std::string_view name_of(ModelSize size) {
  switch (size) {
    case ModelSize::gpt2:
      return "gpt2";
    case ModelSize::tiny:
      return "tiny";
  }
  throw std::invalid_argument("no such model size");
}

ModelSize parse_model_size(std::string_view name) {
  return parse_name("model size", name, kModelSizes);
}

std::string_view name_of(TrainingStrategy strategy) {
  switch (strategy) {
    case TrainingStrategy::none:
      return "none";
    case TrainingStrategy::ddp:
      return "ddp";
    case TrainingStrategy::zero2:
      return "zero2";
    case TrainingStrategy::zero3:
      return "zero3";
  }
  throw std::invalid_argument("no such strategy");
}

TrainingStrategy parse_training_strategy(std::string_view name) {
  return parse_name("strategy", name, kTrainingStrategies);
}

std::string_view name_of(BucketRule rule) {
  switch (rule) {
    case BucketRule::current:
      return "current";
    case BucketRule::legacy:
      return "legacy";
  }
  throw std::invalid_argument("no such rule");
}

BucketRule parse_bucket_rule(std::string_view name) {
  return parse_name("bucket rule", name, kBucketRules);
}

std::string_view name_of(TrainingPrecision precision) {
  switch (precision) {
    case TrainingPrecision::fp32:
      return "fp32";
    case TrainingPrecision::tf32:
      return "tf32";
    case TrainingPrecision::bf16:
      return "bf16";
    case TrainingPrecision::fp64:
      return "fp64";
  }
  throw std::invalid_argument("no such precision");
}

TrainingPrecision parse_training_precision(std::string_view name) {
  return parse_name("precision", name, kTrainingPrecisions);
}

}  // namespace linkgain
