#include "linkgain/cases/case_label.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "linkgain/base/units.hpp"
#include "linkgain/gpt2/training_strategy.hpp"

namespace linkgain {
namespace {

/// Returns how messages go between the two ranks of a pair.
std::string_view arrow_of(const Case& definition) {
  const bool both_ways = definition.operation == OperationKind::ping_pong ||
                         definition.operation == OperationKind::latency;
  const bool both = definition.pair->both || both_ways;
  return both ? "<->" : "->";
}

bool are_buckets_chosen(const TrainingParameters& training) {
  return training.buckets == BucketRule::legacy || training.bucket_mib;
}

}  // namespace

std::string curve_label(const Case& definition) {
  const Case defaults;
  if (definition.metric) return definition.metric->name;
  std::string label(name_of(definition.operation));
  if (definition.training) {
    std::string fields = leading_text(*definition.training) + trailing_text(*definition.training);
    std::replace(fields.begin(), fields.end(), '/', ' ');
    return label + " " + fields;
  }
  if (definition.type != defaults.type) {
    label += fmt::format(" {}", name_of(definition.type));
  }
  if (has_reduction(definition.operation) && definition.reduction != defaults.reduction) {
    label += fmt::format(" {}", name_of(definition.reduction));
  }
  if (definition.in_place) {
    label += " in place";
  }
  if (definition.launch != defaults.launch) {
    label += fmt::format(" {}", name_of(definition.launch));
  }
  if (definition.buffers != defaults.buffers) {
    label += fmt::format(" {}", name_of(definition.buffers));
  }
  if (definition.root != defaults.root) {
    label += fmt::format(" root {}", definition.root);
  }
  if (definition.kernel) {
    label += " kernel";
  }
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
