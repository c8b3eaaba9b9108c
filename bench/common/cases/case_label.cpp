#include "linkgain/cases/case_label.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/gpt2/training_strategy.hpp"

namespace linkgain {
namespace {

/// Tells whether messages go both ways between the two ranks of a pair.
bool goes_both_ways(const Case& definition) {
  return definition.pair->both || definition.operation == OperationKind::ping_pong ||
         definition.operation == OperationKind::latency;
}

std::string_view arrow_of(const Case& definition) {
  return goes_both_ways(definition) ? "<->" : "->";
}

std::string training_fields(const Case& definition) {
  std::string fields = leading_text(*definition.training) + trailing_text(*definition.training);
  std::replace(fields.begin(), fields.end(), '/', ' ');
  return fields;
}

/// Lists those that are not the default, but for the kernel and the pair. Beside graphs streams are
/// unusual, too.
std::vector<std::string> unusual_parameters(const Case& definition, bool is_beside_graphs = false) {
  const Case defaults;
  std::vector<std::string> words;
  const auto add = [&words](bool is_unusual, auto word) {
    if (is_unusual) words.emplace_back(word);
  };
  add(definition.type != defaults.type, name_of(definition.type));
  add(has_reduction(definition.operation) && definition.reduction != defaults.reduction,
      name_of(definition.reduction));
  add(definition.in_place, "in place");
  add(definition.launch != defaults.launch || is_beside_graphs, name_of(definition.launch));
  add(definition.hidden != defaults.hidden, fmt::format("hidden {}", definition.hidden));
  add(definition.buffers != defaults.buffers, name_of(definition.buffers));
  add(definition.root != defaults.root, fmt::format("root {}", definition.root));
  return words;
}

/// Returns "send-recv both ways at once between GPU 0 and GPU 1", "copy-push from GPU 0 to GPU 1".
std::string spoken_pair(const Case& definition, std::string_view ranks) {
  const std::string operation = spoken_operation(definition);
  if (!definition.pair) return operation;
  const bool both = goes_both_ways(definition);
  return fmt::format("{}{} {} {} {} {} {} {}", operation,
                     definition.pair->both ? " both ways at once" : "", both ? "between" : "from",
                     ranks, definition.pair->from, both ? "and" : "to", ranks, definition.pair->to);
}

/// Returns " (bfloat16, linkgain's kernel)"; empty where all is usual.
std::string spoken_parameters(const Case& definition, bool is_beside_graphs) {
  std::vector<std::string> words = unusual_parameters(definition, is_beside_graphs);
  if (definition.kernel) words.emplace_back("linkgain's kernel");
  return words.empty() ? "" : fmt::format(" ({})", fmt::join(words, ", "));
}

bool are_buckets_chosen(const TrainingParameters& training) {
  return training.buckets == BucketRule::legacy || training.bucket_mib;
}

}  // namespace

std::string training_label(const Case& definition) {
  std::string label = training_fields(definition);
  constexpr std::string_view kNone = " none";
  if (const std::size_t none = label.find(kNone); !uses_link(definition) && none != label.npos) {
    label.replace(none, kNone.size(), " without communication");
  }
  constexpr std::string_view kUsualModel = " gpt2";
  const std::size_t model = label.find(kUsualModel);
  const std::size_t end = model + kUsualModel.size();
  const bool whole = model != std::string::npos && (end == label.size() || label[end] == ' ');
  return whole ? label.erase(model, kUsualModel.size()) : label;
}

std::string curve_label(const Case& definition) {
  if (definition.metric) return metric_label(*definition.metric);
  std::string label(name_of(definition.operation));
  if (definition.training) return label + " " + training_fields(definition);
  for (const std::string& each : unusual_parameters(definition)) label += " " + each;
  if (definition.kernel) label += " kernel";
  if (definition.pair.has_value()) {
    label +=
        fmt::format(" {}{}{}", definition.pair->from, arrow_of(definition), definition.pair->to);
  }
  return label;
}

std::string case_label(const Case& definition) {
  if (definition.training || definition.metric) return curve_label(definition);
  return fmt::format("{} {}", curve_label(definition), readable_bytes(definition.size));
}

std::string unit_of(const Case& definition) {
  return !definition.metric || is_timed(*definition.metric) ? "s" : definition.metric->unit;
}

std::string readable_result(const Case& definition, Seconds time) {
  return definition.metric ? readable_value(*definition.metric, time) : readable_time(time);
}

bool is_rate(const Case& definition) {
  return definition.metric && definition.metric->higher_is_better;
}

std::string spoken_operation(const Case& definition) {
  if (is_training(definition.operation)) return "training";
  if (is_program(definition.operation)) return "program";
  std::string name(name_of(definition.operation));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string spoken_curve(const Case& definition, std::string_view ranks, bool is_beside_graphs) {
  return spoken_pair(definition, ranks) + spoken_parameters(definition, is_beside_graphs);
}

std::string spoken_case(const Case& definition, std::string_view ranks, bool is_beside_graphs) {
  if (definition.metric) return metric_label(*definition.metric);
  if (definition.training) return "the GPT-2 step in " + training_label(definition);
  return fmt::format("{} of {}{}", spoken_pair(definition, ranks), readable_bytes(definition.size),
                     spoken_parameters(definition, is_beside_graphs));
}

std::string_view option_for_launches(const Case& definition) {
  return is_program(definition.operation) ? "--rounds 8" : "--launches 8";
}

std::string command_for_launches(const Case& definition) {
  return fmt::format("linkgain {} {}", is_program(definition.operation) ? "exec" : "run",
                     option_for_launches(definition));
}

std::string readable_plan(const TransferPlan& plan) {
  const bool both = !plan.algorithm.empty() && !plan.protocol.empty();
  return fmt::format("{}{}{}", plan.algorithm, both ? " " : "", plan.protocol);
}

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

}  // namespace linkgain
