#include "training_grid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "comparison.hpp"
#include "linkgain/analysis/training_summary.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/gpt2/training_strategy.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/record/convergence.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/table.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "training_cells.hpp"

namespace linkgain {
namespace {

constexpr auto kRight = Table::Alignment::right;
constexpr bool kNeedsValues = true;

/// What the rows were seen to need explained.
struct Legend {
  bool exposed = false;
  bool exposed_without_interval = false;
  bool exposed_may_be_zero = false;
  bool sharded = false;
  bool speed_up = false;
  bool difference = false;
  bool parted = false;
  bool not_converged = false;
  std::set<Remedy> remedies;
};

constexpr const char* kSharded = "†";

/// Whether a row's exposed communication is less what sharding saves.
bool shows_sharded(const Record& record, const CaseResult& result) {
  if (!shards_optimizer(result.definition.training->strategy)) return false;
  for (std::size_t i = 0; i < result.variants.size(); ++i) {
    if (shown_exposed(record, result, i)) return true;
  }
  return false;
}

/// "fp32 ddp"; with the model where it is not that of the first row.
std::string label_of(const Record& record, const CaseResult& result, ModelSize usual_model,
                     Legend& legend) {
  const TrainingParameters& training = *result.definition.training;
  std::string label = fmt::format("{} {}", name_of(training.precision), strategy_text(training));
  if (training.model != usual_model) label += fmt::format(", {}", name_of(training.model));
  if (!shows_sharded(record, result)) return label;
  legend.sharded = true;
  return fmt::format("{} {}", label, kSharded);
}

/// "1.80 ms (1.75 to 1.86)"; of what may be none the interval alone: "-0.40 to 0.90 ms ?".
std::string exposed_cell(const Record& record, const CaseResult& result, std::size_t variant,
                         Legend& legend) {
  const std::optional<ExposedCommunication> exposed = shown_exposed(record, result, variant);
  if (!exposed) return {};
  legend.exposed = true;
  const bool has_interval = exposed->low && exposed->high;
  legend.exposed_without_interval = legend.exposed_without_interval || !has_interval;
  const std::string time = fmt::format("{:.2f} ms", 1e3 * exposed->time.value);
  if (!has_interval) return time;
  const std::string low = fmt::format("{:.2f}", 1e3 * exposed->low->value);
  const std::string high = fmt::format("{:.2f}", 1e3 * exposed->high->value);
  if (!exposed->may_be_zero()) return fmt::format("{} ({} to {})", time, low, high);
  legend.exposed_may_be_zero = true;
  return fmt::format("{} to {} ms ?", low, high);
}

std::string loss_cell(const VariantResult& variant) {
  const std::optional<TrainingResult>& training = variant.training;
  return training && training->last_loss ? fmt::format("{:.3f}", *training->last_loss)
                                         : std::string{};
}

/// How far the variant's loss was from the first one's at most.
std::string difference_cell(const Record& record, const CaseResult& result, std::size_t variant,
                            Legend& legend) {
  const std::optional<TrainingResult>& training = result.variants[variant].training;
  if (!training || !training->loss_difference) return {};
  legend.difference = true;
  const bool parted = have_losses_parted(record, result, variant);
  legend.parted = legend.parted || parted;
  const double difference = *training->loss_difference;
  return (difference == 0.0 ? "0" : fmt::format("{:.1e}", difference)) + (parted ? " !" : "");
}

/// "1.15x (1.14–1.15)".
std::string speed_up(const RatioText& ratio) {
  const auto number = [](const std::string& text) { return text.substr(0, text.size() - 1); };
  return ratio.low
             ? fmt::format("{} ({}–{})", ratio.estimate, number(*ratio.low), number(*ratio.high))
             : ratio.estimate;
}

/// Less time, and speed-up with its interval.
std::vector<std::string> ratio_cells(const CaseResult& result, const Comparison& comparison,
                                     Legend& legend) {
  if (comparison.outcome == Outcome::same_road) return {"", "same road"};
  if (comparison.ratio == nullptr || comparison.outcome == Outcome::wrong_data) return {"", ""};
  legend.speed_up = true;
  if (!result.converged) {
    legend.not_converged = true;
    if (const std::optional<Remedy> remedy = remedy_for(result)) legend.remedies.insert(*remedy);
  }
  return {readable_percent(less_time(comparison.ratio->estimate)),
          speed_up(readable_ratio(*comparison.ratio)) + (result.converged ? "" : "*")};
}

std::vector<Table::Column> columns_of(const std::vector<std::string>& variants) {
  std::vector<Table::Column> columns{{"Training"}};
  if (variants.size() > 2) {
    columns.insert(columns.end(), {{"Variant"}, {"Time", kRight}});
    columns.push_back({"exposed (95 % CI)", kRight, kNeedsValues});
  } else {
    for (const std::string& variant : variants) {
      columns.push_back({variant, kRight});
      columns.push_back({"exposed (95 % CI)", kRight, kNeedsValues});
    }
  }
  columns.push_back({"Less time", kRight, kNeedsValues});
  columns.push_back({"Speed-up (95 % CI)", kRight, kNeedsValues});
  columns.push_back({"Loss", kRight, kNeedsValues});
  columns.push_back({"off by", kRight, kNeedsValues});
  return columns;
}

void append(std::vector<std::string>& cells, const std::vector<std::string>& more) {
  cells.insert(cells.end(), more.begin(), more.end());
}

/// One row for at most two variants.
void add_row(Table& table, const Record& record, const CaseResult& result, const std::string& label,
             Legend& legend) {
  std::vector<std::string> cells{label};
  for (std::size_t i = 0; i < result.variants.size(); ++i) {
    append(cells, {training_time_cell(record, result.variants[i]),
                   exposed_cell(record, result, i, legend)});
  }
  const std::vector<Comparison> comparisons = compare_variants(record, result);
  append(cells, comparisons.empty() ? std::vector<std::string>{"", ""}
                                    : ratio_cells(result, comparisons.front(), legend));
  append(cells, {loss_cell(result.variants.front()),
                 difference_cell(record, result, result.variants.size() - 1, legend)});
  table.add_row(cells);
}

/// A row for each of several variants.
void add_rows(Table& table, const Record& record, const CaseResult& result,
              const std::string& label, Legend& legend) {
  const std::vector<Comparison> comparisons = compare_variants(record, result);
  for (std::size_t i = 0; i < result.variants.size(); ++i) {
    const VariantResult& variant = result.variants[i];
    std::vector<std::string> cells{i == 0 ? label : "", variant.variant,
                                   training_time_cell(record, variant),
                                   exposed_cell(record, result, i, legend)};
    append(cells, i == 0 ? std::vector<std::string>{"", ""}
                         : ratio_cells(result, comparisons[i - 1], legend));
    append(cells, {loss_cell(variant), difference_cell(record, result, i, legend)});
    table.add_row(cells);
  }
}

/// What `*` means, and what to ask for, as the warnings of the same run have it.
std::string convergence_note(const Record& record, const std::set<Remedy>& remedies) {
  std::vector<std::string> options;
  for (const Remedy remedy : remedies) options.push_back(fmt::format("`{}`", option_of(remedy)));
  const std::string advice = options.empty()
                                 ? "the run ended early"
                                 : fmt::format("ask for more {}{}", fmt::join(options, " or "),
                                               options.size() > 1 ? ", as the warnings say" : "");
  return fmt::format(
      "not converged: no interval within {} of the ratio, or neighbouring rounds are correlated; "
      "{}",
      percent_of_digits(record.settings.precision), advice);
}

std::string legend_text(const Record& record, const std::vector<std::string>& variants,
                        const Legend& legend) {
  const std::string& first = variants.front();
  const std::string other = variants.size() > 2 ? "the row's variant" : variants.back();
  std::string text;
  if (legend.exposed) {
    text +=
        "- exposed: a step's time less that of one without communication: what computing did not "
        "hide, and by how much communication slows computing down\n";
    if (legend.exposed_without_interval) {
      text.insert(text.size() - 1, "; without an interval where blocks are too few for one");
    }
  }
  if (legend.speed_up) {
    text += fmt::format(
        "- Less time, speed-up: {} against {}; estimated round by round, not from the medians "
        "beside them\n",
        first, other);
  }
  if (legend.difference) {
    text += fmt::format(
        "- Loss: after the last block{}; off by: how far it is from {}'s at most, after any block, "
        "as a share\n",
        variants.size() > 2 ? "" : ", with " + first,
        variants.size() > 2 ? first : variants.back());
  }
  Footnotes marks;
  if (legend.exposed_may_be_zero) marks.mark("?", "not told from 0, which the interval includes");
  if (legend.sharded) {
    marks.mark(kSharded,
               "its exposed is less what sharding saves, and below 0 where that is more: a rank "
               "updates its share of the parameters, without communication all of them");
  }
  if (legend.not_converged) marks.mark("*", convergence_note(record, legend.remedies));
  if (legend.parted) {
    marks.mark("!", fmt::format("its loss is off from {}'s by more than rounding explains", first));
  }
  text += marks.markdown();
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string training_grid(const Record& record, const std::vector<const CaseResult*>& trainings) {
  std::vector<std::string> variants;
  for (const VariantResult& variant : trainings.front()->variants) {
    variants.push_back(variant.variant);
  }
  Table table(columns_of(variants));
  Legend legend;
  const ModelSize usual_model = trainings.front()->definition.training->model;
  for (const CaseResult* result : trainings) {
    const std::string label = label_of(record, *result, usual_model, legend);
    (variants.size() > 2 ? add_rows : add_row)(table, record, *result, label, legend);
  }
  return table.markdown() + legend_text(record, variants, legend);
}

}  // namespace linkgain
