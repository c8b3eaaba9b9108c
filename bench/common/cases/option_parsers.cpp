#include "linkgain/cases/option_parsers.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <system_error>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/sweep.hpp"

namespace linkgain {
namespace {

/// A device or rank number; absent where the text is none.
std::optional<int> small_number(std::string_view text) {
  constexpr int kMost = 9999;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || number < 0 || number > kMost) return std::nullopt;
  return number;
}

/// What was asked for in the place of what was there.
TrainingSelection with_options(TrainingSelection selection, const TrainingSelection& asked) {
  if (!asked.models.empty()) selection.models = asked.models;
  if (!asked.strategies.empty()) selection.strategies = asked.strategies;
  if (!asked.precisions.empty()) selection.precisions = asked.precisions;
  if (asked.buckets) selection.buckets = asked.buckets;
  if (asked.bucket_mib) selection.bucket_mib = asked.bucket_mib;
  if (asked.samples) selection.samples = asked.samples;
  if (asked.length) selection.length = asked.length;
  if (asked.dropout) selection.dropout = asked.dropout;
  return selection;
}

/// The options that were given, in the order of the help.
std::vector<std::string_view> options_of(const TrainingSelection& asked) {
  std::vector<std::string_view> options;
  const auto add = [&](bool is_given, std::string_view option) {
    if (is_given) options.push_back(option);
  };
  add(!asked.models.empty(), "--model-size");
  add(!asked.strategies.empty(), "--strategy");
  add(!asked.precisions.empty(), "--training-precision");
  add(asked.samples.has_value(), "--batch");
  add(asked.length.has_value(), "--sequence");
  add(asked.dropout.has_value(), "--dropout");
  add(asked.buckets.has_value(), "--buckets");
  add(asked.bucket_mib.has_value(), "--bucket-mb");
  return options;
}

}  // namespace

std::vector<int> parse_gpus(std::string_view text) {
  std::vector<int> gpus;
  for (const std::string& part : split(text, ',')) {
    const std::optional<int> number = small_number(part);
    if (!number) {
      throw UsageError(fmt::format("--gpus '{}': '{}' is no GPU number", text, part),
                       "give CUDA device numbers such as 0,1");
    }
    gpus.push_back(*number);
  }
  if (gpus.empty()) throw UsageError("--gpus names no GPU", "give CUDA device numbers such as 0,1");
  return gpus;
}

Pair parse_pair(std::string_view text) {
  const std::vector<std::string> parts = split(text, '-');
  const std::optional<int> from = parts.size() == 2 ? small_number(parts[0]) : std::nullopt;
  const std::optional<int> to = parts.size() == 2 ? small_number(parts[1]) : std::nullopt;
  if (!from || !to) throw UsageError(fmt::format("--pair '{}' is not two ranks such as 0-1", text));
  return {*from, *to, false};
}

int parse_root(std::string_view text) {
  const std::optional<int> root = small_number(text);
  if (!root) throw UsageError(fmt::format("--root '{}' is no rank", text), "give ranks as 0,1");
  return *root;
}

double parse_share(std::string_view text, std::string_view option, double least, double most) {
  const bool percent = text.ends_with('%');
  std::string_view digits = text.substr(0, text.size() - (percent ? 1 : 0));
  if (percent && digits.ends_with(' ')) digits.remove_suffix(1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  const double share = percent ? value / 100.0 : value;
  if (whole && share >= least && share <= most) return share;
  throw UsageError(
      fmt::format("{} '{}' is no share of {} % to {} %", option, text, 100.0 * least, 100.0 * most),
      "give it as 5% or 0.05");
}

Tolerance parse_tolerance(std::string_view text, std::string_view option) {
  const double share = parse_share(text, option, 0.001, 0.99);
  return {-share, share};
}

SelectionOptions read_selection(const SelectionTexts& texts) {
  SelectionOptions options;
  options.operations = parse_each<OperationKind>(texts.only, parse_operation);
  if (!texts.sizes.empty()) options.sizes = parse_sizes(texts.sizes);
  options.types = parse_each<DataType>(texts.types, parse_data_type);
  options.reductions = parse_each<Reduction>(texts.reductions, parse_reduction);
  options.launch_modes = parse_each<LaunchMode>(texts.launch_modes, parse_launch_mode);
  options.patterns = parse_each<Pattern>(texts.patterns, parse_pattern);
  if (!texts.pair.empty()) options.pair = parse_pair(texts.pair);
  options.roots = parse_each<int>(texts.roots, parse_root);
  options.buffers = parse_each<Buffers>(texts.buffers, parse_buffers);
  options.in_place = texts.in_place;
  options.kernels = texts.kernels;
  TrainingSelection& training = options.training;
  training.models = parse_each<ModelSize>(texts.models, parse_model_size);
  training.strategies = parse_each<TrainingStrategy>(texts.strategies, parse_training_strategy);
  training.precisions =
      parse_each<TrainingPrecision>(texts.training_precisions, parse_training_precision);
  if (!texts.bucket_rule.empty()) training.buckets = parse_bucket_rule(texts.bucket_rule);
  training.bucket_mib = texts.bucket_mib;
  training.samples = texts.samples;
  training.length = texts.length;
  training.dropout = texts.dropout;
  return options;
}

Selection with_options(Selection selection, const SelectionOptions& options) {
  selection.asked_for = {.types = !options.types.empty(),
                         .reductions = !options.reductions.empty(),
                         .in_place = options.in_place,
                         .launches = !options.launch_modes.empty(),
                         .patterns = !options.patterns.empty(),
                         .buffers = !options.buffers.empty(),
                         .kernels = options.kernels,
                         .training = options_of(options.training)};
  if (!options.sizes.empty()) selection.sizes = options.sizes;
  if (!options.types.empty()) selection.types = options.types;
  if (!options.reductions.empty()) selection.reductions = options.reductions;
  if (!options.launch_modes.empty()) selection.launches = options.launch_modes;
  if (!options.patterns.empty()) selection.patterns = options.patterns;
  if (!options.roots.empty()) selection.roots = options.roots;
  if (!options.buffers.empty()) selection.buffers = options.buffers;
  if (options.in_place) selection.in_place = {true};
  if (options.kernels) selection.kernels = {false, true};
  selection.training = with_options(selection.training, options.training);
  // Ways that were asked for without a pair are meant for every pair.
  if (options.pair || !options.patterns.empty()) selection.pair = options.pair;
  return selection;
}

}  // namespace linkgain
