#include "linkgain/report/training_words.hpp"

#include <fmt/format.h>

#include "linkgain/base/units.hpp"
#include "linkgain/gpt2/training_strategy.hpp"
#include "linkgain/tables/markdown_table.hpp"

namespace linkgain {
namespace {

bool are_buckets_chosen(const TrainingParameters& training) {
  return training.buckets == BucketRule::legacy || training.bucket_mib;
}

}  // namespace

std::string_view readable_model(ModelSize model) {
  return model == ModelSize::gpt2 ? "GPT-2 124M" : "a tiny GPT-2";
}

std::string strategy_text(const TrainingParameters& training) {
  std::string text(name_of(training.strategy));
  if (training.buckets == BucketRule::legacy) text += ", legacy buckets";
  if (training.bucket_mib) text += fmt::format(", buckets of {} MiB", *training.bucket_mib);
  if (are_buckets_chosen(training)) text += fmt::format(" ({})", *bucket_count(training));
  return text;
}

std::string training_sentence(const Case& definition) {
  const TrainingParameters& training = *definition.training;
  std::string strategy = strategy_text(training);
  if (const std::optional<int> usual = bucket_count(training);
      usual && !are_buckets_chosen(training)) {
    strategy += fmt::format(" ({})", counted(*usual, "bucket", "buckets"));
  }
  return fmt::format("The training: {}, {}, {}, {} ranks of {} x {} tokens, dropout {}",
                     readable_model(training.model), name_of(training.precision), strategy,
                     definition.ranks, training.samples, training.length, training.dropout);
}

std::string readable_tokens(const Settings& settings) {
  return settings.training && !settings.training->tokens.empty()
             ? one_line(settings.training->tokens)
             : "generated tokens";
}

}  // namespace linkgain
