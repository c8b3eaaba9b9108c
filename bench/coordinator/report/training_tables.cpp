#include "training_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comparison.hpp"
#include "linkgain/analysis/training_summary.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/gpt2/training_strategy.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/report/training_words.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/table.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "outcome_sentences.hpp"
#include "training_cells.hpp"
#include "training_grid.hpp"
#include "wires.hpp"

namespace linkgain {
namespace {

using Alignment = Table::Alignment;

bool was_measured(const CaseResult& result) {
  return std::any_of(result.variants.begin(), result.variants.end(),
                     [](const VariantResult& variant) { return variant.time.has_value(); });
}

/// Those that communicate, measured ones or the others.
std::vector<const CaseResult*> trainings_of(const Record& record, bool measured) {
  std::vector<const CaseResult*> trainings;
  for (const CaseResult& result : record.cases) {
    if (!may_stand_for_run(result.definition)) continue;
    if (was_measured(result) == measured) trainings.push_back(&result);
  }
  return trainings;
}

/// Why others were not measured; and the step without communication where it alone was.
std::string missing_trainings(const Record& record) {
  std::string text;
  for (const CaseResult* result : trainings_of(record, false)) {
    const auto skipped =
        std::find_if(result->variants.begin(), result->variants.end(),
                     [](const VariantResult& variant) { return variant.skipped.has_value(); });
    const std::string why =
        skipped != result->variants.end() ? one_line(*skipped->skipped) : result->stopped;
    text += fmt::format("\n{} was not measured: {}\n", case_label(result->definition), why);
  }
  if (!trainings_of(record, true).empty()) return text;
  for (const CaseResult& result : record.cases) {
    if (!result.definition.training || uses_link(result.definition)) continue;
    const std::optional<Seconds>& step = result.variants.front().time;
    if (step) {
      text += fmt::format("\n{}: a step without communication takes {}.\n",
                          case_label(result.definition), readable_time(*step));
    }
  }
  return text;
}

std::string row_name(Contrast contrast, const CaseResult& result, std::size_t variant) {
  if (contrast == Contrast::variant) return result.variants[variant].variant;
  return variant == 0 ? "Y" : "N";
}

std::string page_table(const Record& record, const CaseResult& result) {
  const Contrast contrast = contrast_of(record, result);
  Table table(
      {{std::string(words_of(contrast).title), Alignment::left}, {"Time", Alignment::right}});
  for (std::size_t i = 0; i < result.variants.size(); ++i) {
    table.add_row({row_name(contrast, result, i), training_time_cell(record, result.variants[i])});
  }
  return table.markdown();
}

/// "0.91 (95 % CI 0.85 to 0.98) of 80.2 ms", or "not told from 0 (-0.40 to 0.90) of 80.2 ms"; empty
/// where it is not known.
std::string exposed_text(const Record& record, const CaseResult& result, std::size_t variant,
                         bool is_first) {
  const std::optional<ExposedCommunication> exposed = shown_exposed(record, result, variant);
  const std::optional<Seconds>& step = result.variants[variant].time;
  if (!exposed || !step) return {};
  const std::string time =
      exposed->may_be_zero() ? "not told from 0" : fmt::format("{:.2f}", 1e3 * exposed->time.value);
  const std::string interval =
      exposed->low && exposed->high
          ? fmt::format(" ({}{:.2f} to {:.2f})", is_first ? "95 % CI " : "",
                        1e3 * exposed->low->value, 1e3 * exposed->high->value)
          : "";
  return fmt::format("{}{} of {:.1f} ms", time, interval, 1e3 * step->value);
}

/// Whether a figure is shown as if it were exact.
bool lacks_interval(const Record& record, const CaseResult& result) {
  for (std::size_t i = 0; i < result.variants.size(); ++i) {
    const std::optional<ExposedCommunication> exposed = shown_exposed(record, result, i);
    if (exposed && !exposed->low) return true;
  }
  return false;
}

std::string exposed_sentence(const Record& record, const CaseResult& result) {
  const Contrast contrast = contrast_of(record, result);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < result.variants.size(); ++i) {
    const std::string text = exposed_text(record, result, i, parts.empty());
    if (text.empty()) continue;
    const std::string with = contrast == Contrast::variant
                                 ? "with " + result.variants[i].variant
                                 : std::string(i == 0 ? "with it" : "without");
    parts.push_back(fmt::format("{}{} {}", text, parts.empty() ? " a step" : "", with));
  }
  if (parts.empty()) return {};
  const bool is_sharded = shards_optimizer(result.definition.training->strategy);
  return fmt::format(" Exposed communication{}: {}{}.",
                     is_sharded ? ", less what sharding saves" : "", fmt::join(parts, ", "),
                     lacks_interval(record, result) ? "; too few blocks for an interval" : "");
}

/// What the time is made of: by whom the steps were really run, and for how long.
std::string steps_text(const Record& record, const CaseResult& result) {
  std::vector<std::string> runs;
  for (const VariantResult& variant : result.variants) {
    if (!variant.training || variant.training->steps == 0) continue;
    runs.push_back(
        fmt::format("{} in {}", variant.training->steps, readable_time(variant.training->sum)));
  }
  return fmt::format("Time is {} x the median of blocks of {} steps; run were {}.",
                     counted(planned_steps(record.settings), "step", "steps"), kStepsPerBlock,
                     fmt::join(runs, runs.size() > 2 ? ", " : " and "));
}

/// Behind how far the losses differ: that it is too far, where it is.
std::string parted_text(const Record& record, const CaseResult& result) {
  for (std::size_t i = 1; i < result.variants.size(); ++i) {
    if (!have_losses_parted(record, result, i)) continue;
    return fmt::format(", more than the {:.1e} that rounding explains",
                       loss_bound(*result.definition.training, result.definition.ranks));
  }
  return {};
}

std::string loss_text(const Record& record, const CaseResult& result) {
  const std::optional<TrainingResult>& first = result.variants.front().training;
  if (!first || !first->first_loss || !first->last_loss) return {};
  std::string text = fmt::format(" Loss {:.3f} after the first block, {:.3f} after the last",
                                 *first->first_loss, *first->last_loss);
  std::optional<double> largest;
  std::vector<std::string> others;
  for (const VariantResult& variant : result.variants) {
    if (!variant.training || !variant.training->loss_difference) continue;
    largest = std::max(largest.value_or(0.0), *variant.training->loss_difference);
    others.push_back(variant.variant);
  }
  if (largest == 0.0) {
    text += fmt::format("; after every block the same bits with {}", fmt::join(others, ", "));
  } else if (largest) {
    text += fmt::format("; with {} it differs by {:.1e} of it at most{}", fmt::join(others, ", "),
                        *largest, parted_text(record, result));
  }
  return text + ".";
}

/// Why a speed-up above may differ from the quotient of the times beside it.
std::string estimate_text(const std::vector<Comparison>& comparisons) {
  const bool any_speed_up =
      std::any_of(comparisons.begin(), comparisons.end(), [](const Comparison& comparison) {
        return comparison.ratio != nullptr && comparison.outcome != Outcome::wrong_data &&
               comparison.outcome != Outcome::same_road;
      });
  return any_speed_up ? " Speed-ups are estimated round by round, not from these medians." : "";
}

std::string conditions(const Record& record, const CaseResult& result,
                       const std::vector<Comparison>& comparisons) {
  return fmt::format("\n{}, {}. {}{}{}\n", training_sentence(result.definition),
                     readable_tokens(record.settings), steps_text(record, result),
                     estimate_text(comparisons), loss_text(record, result));
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
  if (const std::string exposed = exposed_sentence(record, result);
      comparisons.empty() && !exposed.empty()) {
    text += fmt::format("\n{}\n", exposed.substr(1));
  }
  return text + conditions(record, result, comparisons) + wires_sentence(contrast, result);
}

}  // namespace

std::string readable_tokens(const Settings& settings) {
  return settings.training && !settings.training->tokens.empty()
             ? one_line(settings.training->tokens)
             : "generated tokens";
}

std::string training_tables(const Record& record) {
  const std::vector<const CaseResult*> trainings = trainings_of(record, true);
  std::string text;
  if (!trainings.empty()) text = first_training(record, *trainings.front());
  if (trainings.size() > 1) {
    text += "\nEvery strategy and precision of this run, for as many steps:\n\n" +
            training_grid(record, trainings);
  }
  text += missing_trainings(record);
  return trainings.empty() && !text.empty() ? text.substr(1) : text;
}

}  // namespace linkgain
