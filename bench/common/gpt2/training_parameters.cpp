#include "linkgain/gpt2/training_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

constexpr int kMostSamples = 4096;

/// PyTorch's bucket_cap_mb takes fractions. Below this a bucket is hardly more than a tensor, of
/// the tiny model too.
constexpr double kLeastBucketMib = 0.01;
constexpr double kMostBucketMib = 4096.0;

/// What a training takes whatever its batch: room for kernels' partial sums (3 MiB for gpt2), and
/// what lies between aligned parts.
constexpr std::int64_t kBytesOfAnyBatch = std::int64_t{4} << 20;

/// Returns a whole number of `least` to `most`.
int read_count(std::string_view field, std::string_view text, int least, int most) {
  const auto value = whole_number<int>(text);
  if (value && *value >= least && *value <= most) return *value;
  throw UsageError(fmt::format("field '{}': a number of {} to {}", field, least, most));
}

bool is_bucket_size(double mib) { return mib >= kLeastBucketMib && mib <= kMostBucketMib; }

double read_bucket_size(std::string_view field, std::string_view text) {
  const std::optional<double> mib = whole_number<double>(text);
  if (mib && is_bucket_size(*mib)) return *mib;
  throw UsageError(fmt::format("field '{}': {} to {} MiB", field, kLeastBucketMib, kMostBucketMib));
}

double read_probability(std::string_view field, std::string_view text) {
  const std::optional<double> value = whole_number<double>(text);
  if (value && *value >= 0.0 && *value < 1.0) return *value;
  throw UsageError(fmt::format("field '{}': a probability from 0 on, below 1", field));
}

std::vector<TrainingStrategy> strategies_of(const TrainingSelection& selection) {
  std::vector<TrainingStrategy> all = selection.strategies;
  if (all.empty()) all.push_back(TrainingStrategy::ddp);
  std::erase(all, TrainingStrategy::none);
  all.push_back(TrainingStrategy::none);
  return all;
}

TrainingParameters parameters_of(const TrainingSelection& selection, ModelSize model,
                                 TrainingStrategy strategy) {
  TrainingParameters training;
  training.model = model;
  training.strategy = strategy;
  training.samples = selection.samples.value_or(kUsualSamples);
  training.length = selection.length.value_or(longest_sequence(model));
  training.dropout = selection.dropout.value_or(kUsualDropout);
  if (!has_buckets(strategy)) return training;
  training.buckets = selection.buckets.value_or(BucketRule::current);
  training.bucket_mib = selection.bucket_mib;
  return training;
}

/// Tokens of a step at which bound_of() was seen: of two ranks as the guide has them.
constexpr double kTokensOfBounds = 8192.0;

double bound_of(TrainingPrecision precision) {
  switch (precision) {
    case TrainingPrecision::fp32:
    case TrainingPrecision::tf32:
      return 1e-5;
    case TrainingPrecision::bf16:
      return 1e-4;
    case TrainingPrecision::fp64:
      return 1e-9;
  }
  throw std::invalid_argument("no such precision");
}

}  // namespace

bool has_buckets(TrainingStrategy strategy) {
  return strategy == TrainingStrategy::ddp || strategy == TrainingStrategy::zero2;
}

int longest_sequence(ModelSize model) { return gpt2_config(model).positions; }

std::int64_t parameter_count(ModelSize model) {
  const Gpt2Config config = gpt2_config(model);
  const std::int64_t c = config.channels;
  const std::int64_t embeddings = (std::int64_t{config.vocabulary} + config.positions) * c;
  // A block: two norms, the projections c x 3c, c x c, c x 4c and 4c x c, and their biases.
  return embeddings + config.layers * (12 * c * c + 13 * c) + 2 * c;
}

std::int64_t gradient_element_bytes(TrainingPrecision precision) {
  return precision == TrainingPrecision::fp64 ? 8 : 4;
}

Bytes gradient_bytes(const TrainingParameters& training) {
  return {parameter_count(training.model) * gradient_element_bytes(training.precision)};
}

double passes_over_parameters(TrainingStrategy strategy) {
  switch (strategy) {
    case TrainingStrategy::none:
      return 0.0;
    case TrainingStrategy::ddp:
    case TrainingStrategy::zero2:
      return 2.0;
    case TrainingStrategy::zero3:
      return 3.0;
  }
  throw std::invalid_argument("no such strategy");
}

double training_payload(const TrainingParameters& training, int ranks) {
  const auto number = static_cast<double>(gradient_element_bytes(training.precision));
  const double size = number * static_cast<double>(parameter_count(training.model));
  const double last_norm = number * 2.0 * gpt2_config(training.model).channels;
  const double kept = training.strategy == TrainingStrategy::zero3 ? last_norm : 0.0;
  return (ranks - 1) * (passes_over_parameters(training.strategy) * size - kept);
}

std::int64_t training_memory(const TrainingParameters& training) {
  const Gpt2Config config = gpt2_config(training.model);
  const std::int64_t number = gradient_element_bytes(training.precision);
  const bool is_bf16 = training.precision == TrainingPrecision::bf16;
  const bool on_cpu = training.precision == TrainingPrecision::fp64;
  // Parameters, gradients and two moments, and with bf16 a copy of the parameters in it.
  const std::int64_t state = parameter_count(training.model) * (4 * number + (is_bf16 ? 2 : 0));
  // A block's norms' and projections' outputs, with what is as long in every precision (means, bits
  // of dropout); logits, on a CPU with their gradient; and what is used in passing.
  const std::int64_t activation = is_bf16 ? 2 : number;
  const std::int64_t of_block = (is_bf16 ? 20 : 18) * config.channels * activation;
  const std::int64_t of_logits = (on_cpu ? 2 : 1) * padded_vocabulary(config) * activation;
  const std::int64_t of_token =
      config.layers * of_block + of_logits + 24 * config.channels * number;
  const std::int64_t tokens = std::int64_t{training.samples} * training.length;
  return state + tokens * of_token + kBytesOfAnyBatch;
}

std::vector<TrainingParameters> combinations(const TrainingSelection& selection) {
  const std::vector<TrainingStrategy> strategies = strategies_of(selection);
  const bool are_chosen = selection.buckets || selection.bucket_mib;
  if (are_chosen && std::ranges::none_of(strategies, has_buckets)) {
    std::vector<std::string_view> options;
    if (selection.buckets) options.emplace_back("--buckets");
    if (selection.bucket_mib) options.emplace_back("--bucket-mb");
    throw UsageError(fmt::format("{} the strategies ddp and zero2", go_with(options)),
                     fmt::format("leave {} out: zero3 reduces a block's gradients at once",
                                 options.size() > 1 ? "them" : "it"));
  }
  std::vector<TrainingParameters> all;
  for (const ModelSize model : selection.models) {
    for (const TrainingPrecision precision : selection.precisions) {
      for (const TrainingStrategy strategy : strategies) {
        all.push_back(parameters_of(selection, model, strategy));
        all.back().precision = precision;
        validate(all.back());
      }
    }
  }
  return all;
}

std::string leading_text(const TrainingParameters& training) {
  return fmt::format("{}/{}", name_of(training.precision), name_of(training.model));
}

std::string trailing_text(const TrainingParameters& training) {
  const TrainingParameters usual;
  std::string text;
  if (training.strategy != usual.strategy) text += fmt::format("/{}", name_of(training.strategy));
  if (training.buckets != usual.buckets)
    text += fmt::format("/buckets={}", name_of(training.buckets));
  if (training.bucket_mib) text += fmt::format("/bucket-mb={}", *training.bucket_mib);
  if (training.samples != usual.samples) text += fmt::format("/batch={}", training.samples);
  if (training.length != longest_sequence(training.model)) {
    text += fmt::format("/sequence={}", training.length);
  }
  if (training.dropout != usual.dropout) text += fmt::format("/dropout={}", training.dropout);
  return text;
}

bool read_field(TrainingParameters& training, std::string_view field) {
  const std::size_t equals = field.find('=');
  const std::string_view key = field.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view{} : field.substr(equals + 1);
  if (key == "buckets") {
    training.buckets = from_name<BucketRule>(value);
  } else if (key == "bucket-mb") {
    training.bucket_mib = read_bucket_size(field, value);
  } else if (key == "batch") {
    training.samples = read_count(field, value, 1, kMostSamples);
  } else if (key == "sequence") {
    training.length = read_count(field, value, 1, longest_sequence(training.model));
  } else if (key == "dropout") {
    training.dropout = read_probability(field, value);
  } else {
    for (const TrainingStrategy strategy : kValues<TrainingStrategy>) {
      if (field != name_of(strategy)) continue;
      training.strategy = strategy;
      return true;
    }
    return false;
  }
  return true;
}

void validate(const TrainingParameters& training) {
  const auto require = [](bool holds, const std::string& text) {
    if (!holds) throw UsageError(text);
  };
  require(training.samples >= 1 && training.samples <= kMostSamples,
          fmt::format("batch={}: 1 to {} sequences", training.samples, kMostSamples));
  const int longest = longest_sequence(training.model);
  require(training.length >= 1 && training.length <= longest,
          fmt::format("sequence={}: {} has sequences of 1 to {} tokens", training.length,
                      name_of(training.model), longest));
  require(training.dropout >= 0.0 && training.dropout < 1.0,
          fmt::format("dropout={}: a probability from 0 on, below 1", training.dropout));
  require(!training.bucket_mib || is_bucket_size(*training.bucket_mib),
          fmt::format("bucket-mb={}: {} to {} MiB", training.bucket_mib.value_or(0.0),
                      kLeastBucketMib, kMostBucketMib));
  const bool chosen = training.bucket_mib || training.buckets != BucketRule::current;
  require(!chosen || has_buckets(training.strategy),
          fmt::format("field '{}': buckets can be chosen for ddp and zero2 only",
                      name_of(training.strategy)));
}

double loss_bound(const TrainingParameters& training, int ranks) {
  const double tokens = static_cast<double>(ranks) * training.samples * training.length;
  return bound_of(training.precision) * std::sqrt(std::max(1.0, kTokensOfBounds / tokens));
}

}  // namespace linkgain
