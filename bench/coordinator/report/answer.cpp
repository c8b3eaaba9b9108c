#include "linkgain/report/answer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "linkgain/analysis/program_traffic.hpp"
#include "linkgain/analysis/training_summary.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "run_rows.hpp"
#include "sentences.hpp"

namespace linkgain {
namespace {

/// In the order of the rows; others follow as they were measured.
constexpr std::array kQuestions{OperationKind::all_reduce, OperationKind::send_recv,
                                OperationKind::copy_push, OperationKind::copy_pull,
                                OperationKind::latency};

/// Finds the variant; every case has all of them in one order.
std::size_t place_of(const CaseSummary& each, const std::string& variant) {
  const auto& variants = each.result->variants;
  return static_cast<std::size_t>(std::ranges::find(variants, variant, &VariantResult::variant) -
                                  variants.begin());
}

/// Shows bandwidth of what is large enough for one, else time; there is one.
std::string answer_value(const Case& definition, const VariantResult& variant) {
  constexpr std::int64_t kLeastForBandwidth = 1 << 20;
  const bool large = definition.size.value >= kLeastForBandwidth;
  if (variant.busbw && large && !is_training(definition.operation)) {
    return readable_bandwidth(*variant.busbw);
  }
  return variant.time ? readable_time(*variant.time) : "";
}

/// Says "all-reduce of 1 GiB", or the label of one that has more to it: "all_reduce bf16 1 GiB".
std::string spoken_case(const Case& definition) {
  if (is_training(definition.operation)) {
    constexpr std::string_view kStep = "GPT-2 step ";
    return fmt::format("the GPT-2 training ({})", answer_label(definition).substr(kStep.size()));
  }
  const std::string size = readable_bytes(definition.size);
  if (is_latency(definition.operation)) return fmt::format("the latency of {}", size);
  Case form = definition;
  form.launch = LaunchMode::stream;
  if (form.pair && !form.pair->both && form.ranks == 2) form.pair.reset();
  const bool plain = case_label(form) == fmt::format("{} {}", name_of(definition.operation), size);
  return plain ? fmt::format("{} of {}", spoken_operation(definition), size)
               : answer_label(definition);
}

/// Says "NVLink makes all-reduce of 1 GiB 12.6 times faster (324.3 against 25.7 GB/s; 95 % CI 12.4x
/// to 12.9x over 6 launches)."
std::string speed_up_sentence(const CaseSummary& each, const Comparison& comparison) {
  const bool named = each.contrast == Contrast::variant;
  const std::string subject =
      named ? comparison.first->variant : std::string(words_of(each.contrast).title);
  const Case& definition = each.definition();
  const std::string what = spoken_case(definition);
  const RatioText text = readable_ratio(*comparison.ratio);
  const std::string interval = text.low && text.high
                                   ? fmt::format("95 % CI {} to {} over {} launches", *text.low,
                                                 *text.high, comparison.ratio->replicates)
                                   : "no confidence interval";
  const std::string figures =
      fmt::format("({} against {}; {})", answer_value(definition, *comparison.first),
                  answer_value(definition, *comparison.other), interval);
  const std::string than = named ? " than " + comparison.other->variant : "";
  if (comparison.verdict == Verdict::inconclusive) {
    const bool is_name = named || each.contrast == Contrast::nvlink;
    return fmt::format("Inconclusive: whether {} changes {} takes more launches to tell: {} {}.",
                       is_name ? subject : words_of(each.contrast).subject, what, text.estimate,
                       figures);
  }
  if (comparison.verdict == Verdict::same) {
    return fmt::format("{} makes no significant difference to {}: {} {}.", subject, what,
                       text.estimate, figures);
  }
  const double ratio = comparison.ratio->value;
  const bool latency = is_latency(definition.operation);
  const auto [more, less] = latency ? std::pair("lower", "higher") : std::pair("faster", "slower");
  constexpr double kTimes = 2.0;
  const std::string change =
      ratio >= kTimes
          ? fmt::format("{} times {}", text.estimate.substr(0, text.estimate.find('x')), more)
      : ratio >= 1.0
          ? fmt::format("{} {}",
                        readable_percent(latency ? 1.0 - 1.0 / ratio : ratio - 1.0, Whole::no),
                        more)
          : fmt::format("{} {}", readable_percent(1.0 / ratio - 1.0, Whole::no), less);
  return fmt::format("{} makes {} {}{} {}.", subject, what, change, than, figures);
}

std::string main_sentence(const CaseSummary& each, const Comparison& comparison) {
  if (comparison.has_speed_up()) return speed_up_sentence(each, comparison);
  if (comparison.verdict == Verdict::same_path) {
    return fmt::format("{} and {} took the same path, {}: this run cannot compare paths.",
                       variant_title(each, 0),
                       variant_title(each, comparison.other - comparison.first),
                       readable_path(comparison.first->path));
  }
  return fmt::format("No conclusion: {} has no right results of both {} and {}.",
                     answer_label(each.definition()), comparison.first->variant,
                     comparison.other->variant);
}

/// Measures how far the comparison lies from no difference, on the log scale; {0, 0} where none is
/// shown.
Interval change_of(const Comparison& comparison) {
  if (!is_change(comparison.verdict) || !comparison.has_interval()) return {};
  const bool faster = comparison.verdict == Verdict::faster;
  const Interval& ratio = *comparison.ratio->interval;
  return faster ? Interval{std::log(ratio.low), std::log(ratio.high)}
                : Interval{-std::log(ratio.high), -std::log(ratio.low)};
}

/// Leaves out steps that only say what another training's communication takes, and our own kernels,
/// which are no answer to what a path is worth to NCCL or MPI.
bool may_be_spoken_of(const Case& definition) {
  return !definition.kernel &&
         (!is_training(definition.operation) || may_stand_for_run(definition));
}

/// Says what is wrong in the case, in the first variant with wrong data.
std::string wrong_data(const CaseSummary& each) {
  const auto variant = std::ranges::find_if(
      each.result->variants, [](const VariantResult& one) { return has_wrong_data(one); });
  return fmt::format("{} with {}: {}.", answer_label(each.definition()), variant->variant,
                     describe_wrong(each.definition(), *variant->verification));
}

/// Chooses the rows of a run, and names what has none.
class RowChoice {
 public:
  RowChoice(const RunSummary& summary, bool CaseSummary::*has, std::size_t most)
      : summary_(summary), has_(has), most_(most) {
    for (const CaseSummary* training : summary.trainings) {
      if (training->*has) trainings_.push_back(training);
    }
    reserved_ = std::min<std::size_t>(trainings_.size(), 1);
    for (const OperationKind operation : kQuestions) add_first_of(operation);
    reserved_ = std::min(trainings_.size(), most - rows_.size());
    for (const OperationKind operation : kOperations) {
      if (std::ranges::find(kQuestions, operation) == kQuestions.end()) add_first_of(operation);
    }
    for (const Curve& curve : summary.headline) add(curve);
  }

  Answer take() {
    Answer answer{.rows = std::move(rows_)};
    for (const Curve& curve : summary_.headline) {
      const CaseSummary* const each = summary_.main_case(curve, has_);
      if (each == nullptr || std::ranges::count(answer.rows, each) > 0) continue;
      answer.left_out.push_back(curve_label(curve.definition()));
    }
    for (std::size_t i = 0; i < trainings_.size(); ++i) {
      if (i < reserved_) {
        answer.rows.push_back(trainings_[i]);
      } else {
        answer.left_out.push_back(answer_label(trainings_[i]->definition()));
      }
    }
    if (summary_.left_out_of_headline > 0) {
      answer.left_out.push_back(counted(static_cast<std::int64_t>(summary_.left_out_of_headline),
                                        "other curve", "other curves"));
    }
    return answer;
  }

 private:
  bool add(const Curve& curve) {
    const CaseSummary* const each = summary_.main_case(curve, has_);
    if (each == nullptr) return false;
    const bool has_room = rows_.size() + reserved_ < most_;
    if (has_room && std::ranges::count(rows_, each) == 0) rows_.push_back(each);
    return true;
  }

  /// Adds the first curve of the operation that has a case.
  void add_first_of(OperationKind operation) {
    for (const Curve& curve : summary_.headline) {
      if (curve.definition().operation == operation && add(curve)) return;
    }
  }

  const RunSummary& summary_;
  bool CaseSummary::*has_;
  std::size_t most_;
  std::vector<const CaseSummary*> rows_;
  std::vector<const CaseSummary*> trainings_;
  std::size_t reserved_ = 0;  ///< rows of trainings, the last ones
};

/// Chooses what the sentence is about.
void choose_main(const RunSummary& summary, Answer& answer) {
  answer.main = answer.rows.front();
  if (!answer.main->comparisons.empty()) answer.comparison = &answer.main->comparisons.front();
  if (std::ranges::any_of(summary.cases, &CaseSummary::has_wrong_data)) return;
  std::vector<const CaseSummary*> candidates = answer.rows;
  for (const CaseSummary& each : summary.cases) candidates.push_back(&each);
  std::erase_if(candidates,
                [](const CaseSummary* each) { return !may_be_spoken_of(each->definition()); });
  double most = 0.0;
  for (const CaseSummary* each : candidates) {
    for (const Comparison& one : each->comparisons) most = std::max(most, change_of(one).low);
  }
  for (const CaseSummary* each : candidates) {
    for (const Comparison& comparison : each->comparisons) {
      if (most == 0.0 || change_of(comparison).high < most) continue;
      answer.main = each;
      answer.comparison = &comparison;
      return;
    }
  }
}

/// Chooses as many variants of the main case as there is room for, the one that is spoken of among
/// them, and names those that a table lacks: the rows show that one alone beside the first.
void choose_variants(Answer& answer, std::size_t most) {
  const std::vector<VariantResult>& variants = answer.main->result->variants;
  const bool has_other_rows = std::ranges::any_of(
      answer.rows, [&](const CaseSummary* each) { return each != answer.main; });
  std::size_t room = most - 1;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const bool is_spoken_of =
        i == 0 || (answer.comparison != nullptr && answer.comparison->other == &variants[i]);
    if (is_spoken_of || room > 1) answer.variants.push_back(i);
    if (!is_spoken_of && (has_other_rows || room <= 1)) {
      answer.left_out.push_back("variant " + variants[i].variant);
    }
    if (!is_spoken_of && room > 1) --room;
  }
}

/// Chooses what a program's sentence is about: what was asked for first, else the wall time.
const CaseSummary* main_metric(const RunSummary& summary) {
  const CaseSummary* main = nullptr;
  for (const CaseSummary& each : summary.cases) {
    const std::string& name = each.definition().metric->name;
    if (name == ProgramMetric::kStartUp) continue;
    const bool asked = name != ProgramMetric::kTime;
    if (main == nullptr || asked) main = &each;
    if (asked) break;
  }
  return main;
}

/// Shows all variants of the metrics that some run gave.
Answer answer_of_program(const RunSummary& summary, std::size_t most_rows) {
  Answer answer;
  for (const CaseSummary& each : summary.cases) {
    if (!each.is_measured) continue;
    if (answer.rows.size() < most_rows) {
      answer.rows.push_back(&each);
    } else {
      answer.left_out.push_back(each.definition().metric->name);
    }
  }
  if (answer.rows.empty()) return answer;
  answer.main = main_metric(summary);
  if (!answer.main->comparisons.empty()) answer.comparison = &answer.main->comparisons.front();
  for (std::size_t i = 0; i < answer.main->variants.size(); ++i) answer.variants.push_back(i);
  return answer;
}

std::string program_sentence(const Answer& answer) {
  if (answer.main == nullptr) return "No comparison: no run counts.";
  if (answer.comparison == nullptr) return "No comparison: one variant ran.";
  std::vector<std::string> sentences;
  for (const Comparison& each : answer.main->comparisons) {
    sentences.push_back(outcome_sentence(*answer.main, each).plain());
  }
  return fmt::format("{}", fmt::join(sentences, " "));
}

std::vector<RunRow> rows_of(const Answer& answer) {
  std::vector<RunRow> rows;
  for (const CaseSummary* each : answer.rows) {
    rows.push_back({each, 0, answer_label(each->definition())});
  }
  return rows;
}

}  // namespace

Answer answer_of(const RunSummary& summary, bool CaseSummary::*has, std::size_t most_rows) {
  if (summary.is_of_program()) return answer_of_program(summary, most_rows);
  Answer answer = RowChoice(summary, has, most_rows).take();
  if (answer.rows.empty()) return answer;
  choose_main(summary, answer);
  constexpr std::size_t kFewestVariants = 2;
  choose_variants(answer, std::max(kFewestVariants, most_rows));
  return answer;
}

std::string left_out_text(const Answer& answer, std::size_t most) {
  if (answer.left_out.empty()) return {};
  std::string text = "In the report, too: " + answer.left_out.front();
  for (std::size_t i = 1; i < answer.left_out.size(); ++i) {
    const std::string more = fmt::format(" and {} more", answer.left_out.size() - i);
    const std::string next = ", " + answer.left_out[i];
    if (display_width(text + next + more) > most) return text + more + ".";
    text += next;
  }
  return text + ".";
}

std::string answer_label(const Case& definition) {
  std::string label = case_label(definition);
  if (!definition.training) return label;
  label = "GPT-2 step" + label.substr(name_of(definition.operation).size());
  constexpr std::string_view kUsualModel = " gpt2";
  const std::size_t model = label.find(kUsualModel);
  const std::size_t end = model + kUsualModel.size();
  const bool whole = model != std::string::npos && (end == label.size() || label[end] == ' ');
  return whole ? label.erase(model, kUsualModel.size()) : label;
}

std::string variant_title(const CaseSummary& each, std::size_t variant) {
  const std::vector<VariantResult>& variants = each.result->variants;
  if (variants.size() == 2 && variants[0].variant == "p2p" && variants[1].variant == "host") {
    return variant == 0 ? "P2P on" : "P2P off";
  }
  return variants[variant].variant;
}

Table variants_table(const Answer& answer) {
  const CaseSummary& each = *answer.main;
  RunColumns columns{value_column(answer_label(each.definition()))};
  if (each.variants.size() > 2) {
    columns.push_back(speed_up_column("Speed-up of " + row_name(each, 0), 2));
    columns.push_back(interval_column(1));
  }
  return variants_table(each, answer.variants, columns);
}

Table answer_table(const Answer& answer) {
  const std::size_t other = place_of(*answer.main, answer.other_variant());
  const auto value = [](const RunRow& row) {
    return value_cell(row.summary(), answer_value(row.definition(), row.result()));
  };
  RunColumns columns{label_column({.title = "Operation", .too_long = Table::TooLong::cut})};
  const auto title = [&](std::size_t variant) { return variant_title(*answer.main, variant); };
  add_of_variant(columns, 0, {{{title(0), kRight, false, 3}, value}});
  add_of_variant(columns, other, {{{title(other), kRight, false, 2}, value}});
  add_of_variant(columns, other, {speed_up_column("Speed-up"), interval_column(1)});
  return table_of(columns, rows_of(answer), Narrow::as_declared);
}

namespace {

/// Shows no bandwidth of a latency, whose bytes over time mean nothing.
std::string bandwidth_cell(const RunRow& row) {
  const VariantResult& result = row.result();
  const bool shown = result.time && result.busbw && !row.summary().wrong_data;
  return shown && !is_latency(row.definition().operation) ? readable_bandwidth(*result.busbw) : "";
}

/// Shows for each row time and bandwidth of a run's only variant.
Table one_variant_table(const Answer& answer) {
  const RunColumn label = label_column({.title = "Operation", .too_long = Table::TooLong::cut});
  return table_of({label,
                   value_column(answer.main->result->variants.front().variant),
                   {{"busbw", kRight, true, 1}, bandwidth_cell}},
                  rows_of(answer), Narrow::as_declared);
}

}  // namespace

Table card_table(const Answer& answer) {
  if (answer.main->definition().metric) return metrics_table({answer.main});
  return variants_table(
      *answer.main, answer.variants,
      {value_column(answer_label(answer.main->definition())),
       {{"busbw", kRight, true}, bandwidth_cell},
       {{"Path"}, [](const RunRow& row) { return readable_path(row.result().path); }},
       {{"NVLink traffic", kRight, true}, [](const RunRow& row) {
          const std::optional<double>& share = row.summary().nvlink_share;
          return share ? rounded_percent(*share, 1) + " of expected" : "";
        }}});
}

namespace {

/// Says "with P2P on", "in variant tcp".
std::string words_for(const CaseSummary& each, std::size_t variant) {
  const std::string title = variant_title(each, variant);
  const bool is_name = title == each.result->variants[variant].variant;
  return fmt::format("{} {}", is_name ? "in variant" : "with", title);
}

}  // namespace

std::string path_sentence(const CaseSummary& each) {
  std::set<Path> kinds;
  std::vector<std::string> paths;
  std::vector<std::string> shares;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < each.variants.size(); ++i) {
    const VariantSummary& variant = each.variants[i];
    if (!variant.result->time) continue;
    kinds.insert(variant.result->path);
    paths.push_back(fmt::format("{} {}", readable_path(variant.result->path), words_for(each, i)));
    if (!variant.nvlink_share) continue;
    least = std::min(least, *variant.nvlink_share);
    shares.push_back(fmt::format("{}{} {}", rounded_percent(*variant.nvlink_share, 1),
                                 shares.empty() ? " of the expected bytes" : "",
                                 words_for(each, i)));
  }
  const bool all_have_shares = !shares.empty() && shares.size() == paths.size();
  if (kinds.size() == 1 && paths.size() > 2) {
    std::string text =
        fmt::format("{} in all {} variants.", readable_path(*kinds.begin()), paths.size());
    if (all_have_shares) {
      text += fmt::format(" NVLink carried {} of the expected bytes in each, or more.",
                          rounded_percent(least, 1));
    }
    return text;
  }
  std::string text = fmt::format("{}.", fmt::join(paths, ", "));
  if (all_have_shares) text += fmt::format(" NVLink carried {}.", fmt::join(shares, ", "));
  return text;
}

std::string answer_alarm(const RunSummary& summary) {
  const auto wrong = std::ranges::count_if(summary.cases, &CaseSummary::has_wrong_data);
  if (wrong > 0) {
    return fmt::format("WRONG DATA in {} of {}", wrong,
                       counted(std::ssize(summary.cases), "case", "cases"));
  }
  return has_warning(summary.record, ExitCode::wrong_path) ? "WRONG PATH" : "";
}

std::string answer_sentence(const RunSummary& summary, const Answer& answer) {
  const std::string alarm = answer_alarm(summary);
  const auto wrong = std::ranges::find_if(summary.cases, &CaseSummary::has_wrong_data);
  if (wrong != summary.cases.end()) return fmt::format("{}. {}", alarm, wrong_data(*wrong));
  const std::string conclusion = summary.is_of_program() ? program_sentence(answer)
                                 : summary.soak          ? soak_sentence(*summary.soak)
                                 : answer.comparison != nullptr
                                     ? main_sentence(*answer.main, *answer.comparison)
                                     : "No conclusion: nothing was measured with two variants.";
  const std::string bound = nvlink_bound_sentence(summary);
  return (alarm.empty() ? "" : alarm + ", see the warning. ") + conclusion +
         (bound.empty() ? "" : " " + bound);
}

Table metrics_table(const std::vector<const CaseSummary*>& metrics) {
  const CaseSummary& first = *metrics.front();
  const bool several = metrics.size() > 1;
  const std::string& name = first.definition().metric->name;
  const bool by_name = first.contrast == Contrast::variant && first.variants.size() > 1;
  RunColumns columns;
  if (several) columns.push_back(label_column({"Metric"}));
  columns.push_back({{std::string(words_of(first.contrast).title)},
                     [](const RunRow& row) { return row_name(*row.of, row.variant); }});
  columns.push_back(value_column(several ? "Value" : name == ProgramMetric::kTime ? "Time" : name));
  columns.push_back({{"by NVLink", kRight, true, 4}, [&](const RunRow& row) {
                       const std::optional<double>& bytes = row.summary().nvlink_bytes;
                       return bytes && row.of == &first ? readable_traffic(*bytes) : "";
                     }});
  columns.push_back({{"Runs", kRight, false, 1}, [](const RunRow& row) {
                       const VariantSummary& variant = row.summary();
                       return variant.ended.lost() > 0
                                  ? fmt::format("{} of {}", variant.launches, variant.ended.all)
                                  : fmt::to_string(variant.launches);
                     }});
  // The first one's against the row's: with names alone one would take it for the row's own.
  columns.push_back(speed_up_column(by_name ? "Speed-up of " + row_name(first, 0) : "Speed-up", 3));
  columns.push_back(interval_column(2));
  columns.front().column.too_long = Table::TooLong::cut;
  std::vector<RunRow> rows;
  for (const CaseSummary* each : metrics) {
    for (std::size_t i = 0; i < each->variants.size(); ++i) {
      rows.push_back({each, i, i == 0 ? each->definition().metric->name : ""});
    }
  }
  return table_of(columns, rows, Narrow::as_declared);
}

std::vector<Table> answer_tables(const RunSummary& summary, const Answer& answer) {
  if (answer.main == nullptr) return {};
  if (summary.is_of_program()) return {metrics_table(answer.rows)};
  if (answer.comparison == nullptr) return {one_variant_table(answer)};
  return {variants_table(answer), answer_table(answer)};
}

Document answer_document(const RunSummary& summary) {
  const Answer answer = answer_of(summary);
  Document document;
  if (summary.is_of_program() && answer.main != nullptr) {
    document.table(metrics_table({answer.main}));
    document.paragraph(strong(answer_sentence(summary, answer)));
    return document;
  }
  document.paragraph(strong(answer_sentence(summary, answer)));
  if (answer.main == nullptr) return document;
  document.table(variants_table(answer));
  document.table(answer_table(answer));
  return document;
}

}  // namespace linkgain
