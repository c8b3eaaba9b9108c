#include "training_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comparison.hpp"
#include "linkgain/core/training_summary.hpp"
#include "linkgain/core/units.hpp"
#include "markdown_table.hpp"
#include "outcome_sentences.hpp"
#include "wires.hpp"
#include "wording.hpp"

namespace linkgain {
namespace {

using Alignment = MarkdownTable::Alignment;

bool was_measured(const CaseResult& result) {
  return std::any_of(result.variants.begin(), result.variants.end(),
                     [](const VariantResult& variant) { return variant.time.has_value(); });
}

/// Those that communicate.
std::vector<const CaseResult*> trainings_of(const Record& record) {
  std::vector<const CaseResult*> trainings;
  for (const CaseResult& result : record.cases) {
    if (!result.definition.training || !uses_link(result.definition)) continue;
    if (was_measured(result)) trainings.push_back(&result);
  }
  return trainings;
}

std::string time_cell(const Record& record, const VariantResult& variant) {
  if (has_wrong_data(variant)) return "**WRONG DATA**";
  if (!variant.time) return variant.skipped ? "skipped" : "not measured";
  return readable_time(time_of_all_steps(record, *variant.time));
}

std::string row_name(Contrast contrast, const CaseResult& result, std::size_t variant) {
  if (contrast == Contrast::variant) return result.variants[variant].variant;
  return variant == 0 ? "Y" : "N";
}

std::string page_table(const Record& record, const CaseResult& result) {
  const Contrast contrast = contrast_of(record, result);
  MarkdownTable table(
      {{std::string(words_of(contrast).title), Alignment::left}, {"Time", Alignment::right}});
  for (std::size_t i = 0; i < result.variants.size(); ++i) {
    table.add_row({row_name(contrast, result, i), time_cell(record, result.variants[i])});
  }
  return table.text();
}

/// "0.91 of 80.2 ms"; empty where it is not known.
std::string exposed_text(const Record& record, const CaseResult& result, std::size_t variant) {
  const std::optional<Seconds> exposed = exposed_communication(record, result, variant);
  const std::optional<Seconds>& step = result.variants[variant].time;
  if (!exposed || !step) return {};
  return fmt::format("{:.2f} of {:.1f} ms", 1e3 * exposed->value, 1e3 * step->value);
}

std::string exposed_sentence(const Record& record, const CaseResult& result) {
  const Contrast contrast = contrast_of(record, result);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < result.variants.size(); ++i) {
    const std::string text = exposed_text(record, result, i);
    if (text.empty()) continue;
    const std::string with = contrast == Contrast::variant
                                 ? "with " + result.variants[i].variant
                                 : std::string(i == 0 ? "with it" : "without");
    parts.push_back(fmt::format("{}{} {}", text, parts.empty() ? " a step" : "", with));
  }
  if (parts.empty()) return {};
  return fmt::format(" Exposed communication: {}.", fmt::join(parts, ", "));
}

std::string_view readable_model(ModelSize model) {
  return model == ModelSize::gpt2 ? "GPT-2 124M" : "a tiny GPT-2";
}

/// "ddp", with what of its buckets is not usual.
std::string strategy_text(const TrainingParameters& training) {
  std::string text(name_of(training.strategy));
  if (training.buckets == BucketRule::legacy) text += ", legacy buckets";
  if (training.bucket_mib) text += fmt::format(", buckets of {} MiB", *training.bucket_mib);
  return text;
}

/// What the time is made of: by whom the steps were really run, and for how long.
std::string steps_text(const Record& record, const CaseResult& result) {
  const TrainingPlan plan = record.settings.training.value_or(TrainingPlan{});
  std::vector<std::string> runs;
  for (const VariantResult& variant : result.variants) {
    if (!variant.training || variant.training->steps == 0) continue;
    runs.push_back(
        fmt::format("{} in {}", variant.training->steps, readable_time(variant.training->sum)));
  }
  return fmt::format("Time is {} x the median step; run were {}.",
                     counted(plan.steps, "step", "steps"), fmt::join(runs, " and "));
}

std::string loss_text(const CaseResult& result) {
  const std::optional<TrainingResult>& first = result.variants.front().training;
  if (!first || !first->first_loss || !first->last_loss) return {};
  std::string text = fmt::format(" Loss {:.3f} to {:.3f}", *first->first_loss, *first->last_loss);
  std::optional<double> largest;
  for (const VariantResult& variant : result.variants) {
    if (!variant.training || !variant.training->loss_difference) continue;
    largest = std::max(largest.value_or(0.0), *variant.training->loss_difference);
  }
  if (largest == 0.0) {
    text += ", the same to the last bit in all variants";
  } else if (largest) {
    text += fmt::format(", variants differ by {:.1e} of it at most", *largest);
  }
  return text + ".";
}

std::string conditions(const Record& record, const CaseResult& result) {
  const TrainingParameters& training = *result.definition.training;
  const std::string tokens = record.settings.training && !record.settings.training->tokens.empty()
                                 ? one_line(record.settings.training->tokens)
                                 : "generated tokens";
  return fmt::format(
      "\nThe training: {}, {}, {}, {} ranks of {} x {} tokens, dropout {}, {}. {}{}\n",
      readable_model(training.model), name_of(training.precision), strategy_text(training),
      result.definition.ranks, training.samples, training.length, training.dropout, tokens,
      steps_text(record, result), loss_text(result));
}

std::string first_training(const Record& record, const CaseResult& result) {
  const Contrast contrast = contrast_of(record, result);
  std::string text = page_table(record, result);
  const std::vector<Comparison> comparisons = compare_variants(record, result);
  for (const Comparison& comparison : comparisons) {
    const bool last = &comparison == &comparisons.back();
    text += fmt::format("\n{}{}{}\n", outcome_sentence(contrast, result, comparison),
                        last ? exposed_sentence(record, result) : "",
                        convergence_sentence(record, result, comparison));
  }
  if (comparisons.empty())
    text += fmt::format("\n{}\n", exposed_sentence(record, result).substr(1));
  return text + conditions(record, result) + wires_sentence(contrast, result);
}

std::vector<MarkdownTable::Column> columns_of(const CaseResult& result) {
  std::vector<MarkdownTable::Column> columns{{"Strategy", Alignment::left},
                                             {"Precision", Alignment::left}};
  for (const VariantResult& variant : result.variants) {
    columns.push_back({variant.variant, Alignment::right});
    columns.push_back({"exposed", Alignment::right});
  }
  if (result.variants.size() > 1) {
    columns.push_back({"Less time", Alignment::right});
    columns.push_back({"Speed-up (95 % CI)", Alignment::right});
  }
  return columns;
}

void add_ratio_cells(std::vector<std::string>& cells, const Record& record,
                     const CaseResult& result) {
  const std::vector<Comparison> comparisons = compare_variants(record, result);
  if (comparisons.empty()) return;
  const Comparison& comparison = comparisons.front();
  const bool shown = comparison.ratio != nullptr && comparison.outcome != Outcome::wrong_data &&
                     comparison.outcome != Outcome::same_road;
  if (!shown) {
    cells.insert(cells.end(), {"", comparison.outcome == Outcome::same_road ? "same road" : ""});
    return;
  }
  const RatioText ratio = readable_ratio(*comparison.ratio);
  cells.push_back(readable_percent(less_time(comparison.ratio->estimate)));
  cells.push_back(ratio.low ? fmt::format("{} ({} to {})", ratio.estimate, *ratio.low, *ratio.high)
                            : ratio.estimate);
}

std::string all_trainings(const Record& record, const std::vector<const CaseResult*>& trainings) {
  MarkdownTable table(columns_of(*trainings.front()));
  for (const CaseResult* result : trainings) {
    const TrainingParameters& training = *result->definition.training;
    std::vector<std::string> cells{strategy_text(training),
                                   std::string(name_of(training.precision))};
    for (std::size_t i = 0; i < result->variants.size(); ++i) {
      const VariantResult& variant = result->variants[i];
      cells.push_back(time_cell(record, variant));
      const std::optional<Seconds> exposed = exposed_communication(record, *result, i);
      cells.push_back(
          exposed && variant.time ? fmt::format("{:.2f} ms a step", 1e3 * exposed->value) : "");
    }
    add_ratio_cells(cells, record, *result);
    table.add_row(cells);
  }
  return "\nEvery strategy and precision of this run, for as many steps:\n\n" + table.text();
}

}  // namespace

std::string training_tables(const Record& record) {
  const std::vector<const CaseResult*> trainings = trainings_of(record);
  if (trainings.empty()) return {};
  std::string text = first_training(record, *trainings.front());
  if (trainings.size() > 1) text += all_trainings(record, trainings);
  return text;
}

}  // namespace linkgain
