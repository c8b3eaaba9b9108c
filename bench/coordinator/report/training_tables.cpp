#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/gpt2/training_strategy.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/report/report.hpp"
#include "linkgain/summary/judgement_text.hpp"
#include "linkgain/tables/document.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "run_rows.hpp"
#include "sentences.hpp"

namespace linkgain {
namespace {

/// Shows the time of all steps, "15.90 s", or what stands in its place.
RunColumn time_column(const Settings& settings, std::string title) {
  return {{std::move(title), kRight}, [&](const RunRow& row) {
            const std::optional<Seconds>& step = row.result().time;
            return value_cell(row.summary(),
                              step ? readable_time(time_of_all_steps(settings, *step)) : "");
          }};
}

/// Tells whether exposed communication is known and to be shown: not of wrong data.
bool shows_exposed(const VariantSummary& variant) { return variant.exposed && !variant.wrong_data; }

/// Says why others were not measured, and what a step without communication takes where it alone
/// was.
void add_missing(Document& document, const RunSummary& summary) {
  for (const CaseSummary* each : summary.missing_trainings) {
    const auto& variants = each->result->variants;
    const auto skipped = std::ranges::find_if(
        variants, [](const VariantResult& variant) { return variant.skipped.has_value(); });
    const std::optional<StopReason>& stopped = each->result->stopped;
    const std::string why = skipped != variants.end() ? why_skipped(*skipped)
                            : stopped                 ? std::string(name_of(*stopped))
                                                      : std::string();
    document.paragraph(fmt::format("{} was not measured: {}", case_label(each->definition()), why));
  }
  if (!summary.trainings.empty()) return;
  for (const CaseResult& result : summary.record.cases) {
    if (!result.definition.training || uses_link(result.definition)) continue;
    const std::optional<Seconds>& step = result.variants.front().time;
    if (!step) continue;
    document.paragraph(fmt::format("{}: a step without communication takes {}.",
                                   case_label(result.definition), readable_time(*step)));
  }
}

/// Says what the time is made of: by whom the steps were really run, and for how long.
std::string steps_text(const Settings& settings, const CaseResult& result) {
  std::vector<std::string> runs;
  for (const VariantResult& variant : result.variants) {
    if (!variant.training || variant.training->steps == 0) continue;
    runs.push_back(
        fmt::format("{} in {}", variant.training->steps, readable_time(variant.training->sum)));
  }
  return fmt::format(
      "Time is {} x the geometric mean over launches of the median block of {} steps; "
      "{} were run.",
      counted(planned_steps(settings), "step", "steps"), kStepsPerBlock,
      fmt::join(runs, runs.size() > 2 ? ", " : " and "));
}

/// Says that it learns: "Loss 9.213 after the first block, 8.243 after the last."
std::string loss_text(const CaseSummary& each) {
  const std::optional<TrainingResult>& first = each.result->variants.front().training;
  if (!first || !first->first_loss || !first->last_loss) return {};
  return fmt::format(" Loss {:.3f} after the first block, {:.3f} after the last.",
                     *first->first_loss, *first->last_loss);
}

std::string conditions(const Settings& settings, const CaseSummary& each) {
  return fmt::format("{}, {}. {}{}", training_sentence(each.definition()),
                     readable_tokens(settings), steps_text(settings, *each.result),
                     loss_text(each));
}

/// Gives the training that the answer speaks of, else the first.
const CaseSummary& first_of(const RunSummary& summary) {
  const Answer answer = answer_of(summary);
  const auto spoken = std::ranges::find_if(answer.spoken, [](const AnswerRow& row) {
    return is_training(row.of->definition().operation);
  });
  return spoken != answer.spoken.end() ? *spoken->of : *summary.trainings.front();
}

void add_first(Document& document, const RunSummary& summary, const CaseSummary& each) {
  const std::string title = "Time in " + training_label(each.definition());
  document.table(variants_table(each, {time_column(summary.record.settings, title)}));
  for (const Comparison& comparison : each.comparisons) {
    document.paragraph(outcome_sentence(each, comparison));
  }
  document.paragraph(conditions(summary.record.settings, each));
}

constexpr bool kNeedsValues = true;

/// What the rows were seen to need explained.
struct Legend {
  const Settings& settings;
  bool exposed = false;
  bool exposed_without_interval = false;
  std::set<int> exposed_launches{};  ///< of the intervals
  bool exposed_may_be_zero = false;
  bool sharded = false;
  bool speed_up = false;
  bool difference = false;
  bool parted = false;
  bool not_converged = false;
  std::set<Remedy> remedies{};
};

constexpr const char* kSharded = "†";

/// Tells whether a row's exposed communication is less what sharding saves.
bool shows_sharded(const CaseSummary& each) {
  return shards_optimizer(each.definition().training->strategy) &&
         std::ranges::any_of(each.variants, shows_exposed);
}

/// Says "fp32 ddp"; with the model where it is not that of the first row.
std::string label_of(const CaseSummary& each, ModelSize usual_model, Legend& legend) {
  const TrainingParameters& training = *each.definition().training;
  std::string label = fmt::format("{} {}", name_of(training.precision), strategy_text(training));
  if (training.model != usual_model) label += fmt::format(", {}", name_of(training.model));
  if (!shows_sharded(each)) return label;
  legend.sharded = true;
  return fmt::format("{} {}", label, kSharded);
}

/// Says "1.80 ms (1.75 to 1.86)"; of what may be none the interval alone: "-0.40 to 0.90 ms ?".
std::string exposed_cell(const RunRow& row, Legend& legend) {
  const VariantSummary& variant = row.summary();
  if (!shows_exposed(variant)) return {};
  const std::optional<Estimate>& exposed = variant.exposed;
  legend.exposed = true;
  const bool has_interval = exposed->interval.has_value();
  legend.exposed_without_interval = legend.exposed_without_interval || !has_interval;
  const std::string time = fmt::format("{:.2f} ms", 1e3 * exposed->value);
  if (!has_interval) return time;
  legend.exposed_launches.insert(exposed->replicates);
  const std::string low = fmt::format("{:.2f}", 1e3 * exposed->interval->low);
  const std::string high = fmt::format("{:.2f}", 1e3 * exposed->interval->high);
  if (!exposed->may_be(0.0)) return fmt::format("{} ({} to {})", time, low, high);
  legend.exposed_may_be_zero = true;
  return fmt::format("{} to {} ms ?", low, high);
}

std::string loss_cell(const RunRow& row, Legend&) {
  const std::optional<TrainingResult>& training = row.result().training;
  return training && training->last_loss ? fmt::format("{:.3f}", *training->last_loss)
                                         : std::string{};
}

/// Says how far the variant's loss was from the first one's at most.
std::string difference_cell(const RunRow& row, Legend& legend) {
  const VariantSummary& variant = row.summary();
  const std::optional<TrainingResult>& training = variant.result->training;
  if (!training || !training->loss_difference) return {};
  legend.difference = true;
  legend.parted = legend.parted || variant.losses_parted;
  const double difference = *training->loss_difference;
  return (difference == 0.0 ? "0" : fmt::format("{:.1e}", difference)) +
         (variant.losses_parted ? " !" : "");
}

/// Says "1.15x (1.14–1.15)".
std::string speed_up(const RatioText& ratio) {
  const auto number = [](const std::string& text) { return text.substr(0, text.size() - 1); };
  return ratio.low
             ? fmt::format("{} ({}–{})", ratio.estimate, number(*ratio.low), number(*ratio.high))
             : ratio.estimate;
}

/// Shows the speed-up with its interval.
std::string speed_up_cell(const RunRow& row, Legend& legend) {
  const Comparison& comparison = row.comparison();
  if (comparison.verdict == Verdict::same_path) return "same path";
  if (!comparison.has_speed_up()) return "";
  legend.speed_up = true;
  if (!comparison.is_precise) {
    legend.not_converged = true;
    if (row.of->remedy) legend.remedies.insert(*row.of->remedy);
  }
  return speed_up(readable_ratio(*comparison.ratio)) + (comparison.is_precise ? "" : "*");
}

/// Gives trainings a row each with the variants side by side; where there are more than two, a row
/// to each training and variant.
RunColumns columns_of(const std::vector<std::string>& variants, Legend& legend) {
  const bool several = variants.size() > 2;
  const std::size_t last = variants.size() - 1;
  RunColumns columns{label_column({"Training"})};
  const auto add_variant = [&](std::size_t variant, const RunColumn& column) {
    several ? columns.push_back(column) : add_of_variant(columns, variant, {column});
  };
  const auto add = [&](std::size_t variant, const char* title, int leave_out, auto cell) {
    add_variant(variant, {{title, kRight, kNeedsValues, leave_out},
                          [&legend, cell](const RunRow& row) { return cell(row, legend); }});
  };
  if (several) {
    columns.push_back({{"Variant"}, [](const RunRow& row) { return row.result().variant; }});
  }
  for (std::size_t i = 0; i < (several ? 1 : variants.size()); ++i) {
    add_variant(i, time_column(legend.settings, several ? "Time" : variants[i]));
    add(i, "exposed (95 % CI)", 0, exposed_cell);
  }
  add(last, "Less time", 1, [](const RunRow& row, Legend&) {
    const Comparison& comparison = row.comparison();
    return comparison.has_speed_up() ? readable_percent(less_time(comparison.ratio->value)) : "";
  });
  add(last, "Speed-up (95 % CI)", 0, speed_up_cell);
  add(0, "Loss", 0, loss_cell);
  add(last, "off by", 0, difference_cell);
  return columns;
}

/// Says what `*` means, and what to ask for, as the warnings of the same run have it.
std::string convergence_note(const Legend& legend) {
  std::vector<std::string> options;
  for (const Remedy remedy : legend.remedies)
    options.push_back(fmt::format("`{}`", option_of(remedy)));
  const std::string advice = options.empty()
                                 ? "the run ended early"
                                 : fmt::format("ask for more {}{}", fmt::join(options, " or "),
                                               options.size() > 1 ? ", as the warnings say" : "");
  return fmt::format("not converged: the interval is wider than {}; {}",
                     precision_text(legend.settings), advice);
}

/// Says "exposed: a step's time less …", with what its intervals are over.
std::string exposed_legend(const Legend& legend) {
  std::string text =
      "exposed: a step's time less that of one without communication: what computing did not hide, "
      "and by how much communication slows computing down";
  if (const std::set<int>& launches = legend.exposed_launches; !launches.empty()) {
    const std::string most =
        launches.size() > 1 ? fmt::format(" to {}", *launches.rbegin()) : std::string{};
    text += fmt::format("; 95 % CI over {}{} launches", *launches.begin(), most);
  }
  if (legend.exposed_without_interval) text += "; without an interval where one launch measured it";
  return text;
}

void add_legend(Document& document, const std::vector<std::string>& variants,
                const Legend& legend) {
  const std::string& first = variants.front();
  const bool several = variants.size() > 2;
  if (legend.exposed) document.item(exposed_legend(legend));
  if (legend.speed_up) {
    document.item(
        fmt::format("Less time, speed-up: {} against {}; the quotient of the times "
                    "beside them",
                    first, several ? "the row's variant" : variants.back()));
  }
  if (legend.difference) {
    document.item(fmt::format(
        "Loss: after the last block{}; off by: how far it is from {}'s at most, after any block, "
        "as a share",
        several ? "" : ", with " + first, several ? first : variants.back()));
  }
  Footnotes marks;
  if (legend.exposed_may_be_zero) marks.mark("?", "inconclusive: the interval includes 0");
  if (legend.sharded) {
    marks.mark(kSharded,
               "its exposed is less what sharding saves, and below 0 where that is more: a rank "
               "updates its share of the parameters, without communication all of them");
  }
  if (legend.not_converged) marks.mark("*", convergence_note(legend));
  if (legend.parted) {
    marks.mark("!", fmt::format("its loss is off from {}'s by more than rounding explains", first));
  }
  document.notes(marks);
}

/// Adds one table over all trainings that were measured, of which there is one at least, and what
/// its columns and marks mean.
void add_grid(Document& document, const RunSummary& summary) {
  const CaseSummary& first = *summary.trainings.front();
  std::vector<std::string> variants;
  for (const VariantSummary& variant : first.variants) {
    variants.push_back(variant.result->variant);
  }
  Legend legend{.settings = summary.record.settings};
  std::vector<RunRow> rows;
  for (const CaseSummary* each : summary.trainings) {
    const std::string label = label_of(*each, first.definition().training->model, legend);
    for (std::size_t i = 0; i < (variants.size() > 2 ? variants.size() : 1); ++i) {
      rows.push_back({each, i, i == 0 ? label : ""});
    }
  }
  document.table(table_of(columns_of(variants, legend), rows, Narrow::from_the_right,
                          "Every strategy and precision of this run, for as many steps"));
  add_legend(document, variants, legend);
}

}  // namespace

std::string readable_tokens(const Settings& settings) {
  return settings.training && !settings.training->tokens.empty()
             ? one_line(settings.training->tokens)
             : "generated tokens";
}

Document training_section(const RunSummary& summary) {
  if (summary.trainings.empty() && summary.missing_trainings.empty()) return {};
  Document document;
  document.heading("Training");
  if (!summary.trainings.empty()) {
    add_first(document, summary, first_of(summary));
    add_grid(document, summary);
  }
  add_missing(document, summary);
  return document;
}

}  // namespace linkgain
